#include "aggregation/base/home_folder.h"
#include "clients/trainers/libtorch_info.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace fedhive::clients {

namespace fs = std::filesystem;

namespace {

#ifdef FEDHIVE_TORCH_VERSION
constexpr const char* kBuiltFor = FEDHIVE_TORCH_VERSION;
#else
constexpr const char* kBuiltFor = "none";
#endif
constexpr const char* kLibrary = "libfedhive_libtorch.so";

/// "2.11" of "2.11.0".
std::string minor_of(const std::string& version) { return version.substr(0, version.find('.', version.find('.') + 1)); }

/// "2.11.0" of a PyTorch whose version.py says __version__ = '2.11.0+cpu'; empty if it says none.
std::string version_in(const fs::path& torch) {
    std::ifstream file(torch / "version.py");
    for (std::string line; std::getline(file, line);) {
        const std::size_t begin = line.find_first_of("'\"");
        if (!line.starts_with("__version__ ") || begin == std::string::npos) continue;
        return line.substr(begin + 1, line.find_first_not_of("0123456789.", begin + 1) - begin - 1);
    }
    return "";
}

fs::path torch_of_python(const fs::path& package) {
    if (const char* given = std::getenv("FEDHIVE_TORCH"); given != nullptr && *given != '\0') return given;
    fs::path beside = package.parent_path() / "torch";
    return fs::exists(beside / "lib/libtorch_cpu.so") ? beside : fs::path();
}

/// Of a program that is installed as a Python package.
LibtorchPlace place_in(const fs::path& package) {
    LibtorchPlace place{.engine = package / "lib" / kLibrary, .folder = torch_of_python(package)};
    const std::string wanted = minor_of(kBuiltFor);
    if (wanted == "none" || !fs::exists(place.engine)) {
        place.problem = "this fedhive was built without LibTorch; install LibTorch with scripts/setup and build again";
    } else if (place.folder.empty()) {
        place.problem = fmt::format("PyTorch is not installed beside fedhive: pip install 'torch=={}.*'", wanted);
    } else if (const std::string found = version_in(place.folder); minor_of(found) != wanted) {
        place.problem = fmt::format("found PyTorch {} in {}, but this fedhive was built for {}: pip install 'torch=={}.*'",
                                    found.empty() ? "without a version" : found, place.folder.string(), wanted, wanted);
    } else {
        place.version = found;
    }
    return place;
}

}  // namespace

LibtorchPlace libtorch_place() {
    if (const fs::path package = package_folder(); !package.empty()) return place_in(package);
    const fs::path beside = program_folder() / kLibrary;
    return {.engine = fs::exists(beside) ? beside : program_folder().parent_path() / "lib" / kLibrary, .version = kBuiltFor};
}

}  // namespace fedhive::clients
