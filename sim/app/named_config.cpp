#include "sim/app/named_config.h"

#include "aggregation/base/home_folder.h"

#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

std::string named_config(const std::string& given) {
    std::error_code ignored;
    if (given.empty() || (fs::exists(given, ignored) && !fs::is_directory(given, ignored))) return given;
    const fs::path home = home_folder();
    if (home.empty() || fs::path(given).is_absolute() || given.find("..") != std::string::npos) return given;
    const fs::path file = home / "configs" / (given + ".yaml");
    return fs::is_regular_file(file, ignored) ? file.string() : given;
}

}  // namespace fedhive::sim
