#include "aggregation/base/home_folder.h"

#include <cstdlib>

namespace fedhive {

namespace fs = std::filesystem;

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path home_folder() {
    for (fs::path folder = program_folder(); folder != folder.root_path(); folder = folder.parent_path())
        if (fs::exists(folder / "configs/REFERENCE.md")) return folder;
    return {};
}

fs::path package_folder() {
    fs::path folder = program_folder().parent_path();
    return fs::exists(folder / "__init__.py") ? folder : fs::path();
}

fs::path cache_folder() {
    const auto absolute = [](const char* name) -> fs::path {
        const char* value = std::getenv(name);
        return value != nullptr && value[0] == '/' ? value : "";
    };
    if (const fs::path given = absolute("XDG_CACHE_HOME"); !given.empty()) return given / "fedhive";
    const fs::path home = absolute("HOME");
    return home.empty() ? home : home / ".cache" / "fedhive";
}

}  // namespace fedhive
