// Paths that tests use, relative to the test program, so that a build copied to another machine works.
#pragma once

#include <filesystem>
#include <string>

namespace fedhive::testing {

/// A file beside the test program: all programs and modules of a build are in one folder.
inline std::filesystem::path beside_tests(const std::string& name) {
    static const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return folder / name;
}

/// The program under test.
inline std::string fedhive_program() { return beside_tests(FEDHIVE_PROGRAM).string(); }

/// The nearest folder above the test program that contains configs/; the source folder if the build is elsewhere.
inline std::filesystem::path source_folder() {
    static const std::filesystem::path found = [] {
        std::filesystem::path folder = beside_tests("").parent_path();
        while (folder != folder.root_path() && !std::filesystem::exists(folder / "configs" / "REFERENCE.md"))
            folder = folder.parent_path();
        return folder == folder.root_path() ? std::filesystem::path(FEDHIVE_SOURCE_DIR) : folder;
    }();
    return found;
}

}  // namespace fedhive::testing
