// The fuzz targets without libFuzzer: replay TARGET NAME… runs the target on files and on the files of folders. The last name
// printed is the input that failed.
#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto target = fedhive::fuzz::targets().find(arguments.empty() ? "" : arguments.front());
    if (target == fedhive::fuzz::targets().end()) {
        std::fprintf(stderr, "usage: replay TARGET NAME…, where TARGET is one of\n");
        for (const auto& [name, function] : fedhive::fuzz::targets()) std::fprintf(stderr, "  %s\n", name.c_str());
        return 2;
    }
    std::vector<fs::path> files;
    for (const fs::path name : std::vector<std::string>(arguments.begin() + 1, arguments.end())) {
        if (fs::is_regular_file(name)) files.push_back(name);
        std::error_code missing;  // a target without regressions has no folder for them
        for (const auto& entry : fs::directory_iterator(name, missing)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);
        std::ifstream stream(file, std::ios::binary);
        const std::vector<char> content{std::istreambuf_iterator<char>(stream), {}};
        fedhive::fuzz::expect(!stream.bad() && stream.is_open(), "a file that can be read");
        target->second(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
    }
    std::printf("%zu inputs\n", files.size());
    return files.empty() ? 1 : 0;
}
