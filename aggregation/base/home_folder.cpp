#include "aggregation/base/home_folder.h"

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

}  // namespace fedhive
