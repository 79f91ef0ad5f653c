#include "sim/app/script_command.h"

#include "aggregation/base/error.h"
#include "aggregation/base/home_folder.h"

#include <unistd.h>

#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// Empty if the program's home has no such script.
fs::path find_script(const std::string& script) {
    const fs::path home = home_folder();
    return !home.empty() && fs::exists(home / script) ? home / script : fs::path();
}

}  // namespace

void script_command(const std::string& path, const std::vector<std::string>& arguments) {
    const std::string script = find_script(path).string();
    if (script.empty())
        throw ConfigError(fmt::format("{}: no {} in a folder above {}; call the script in the checkout",
                                      fs::path(path).filename().string(), path, fs::read_symlink("/proc/self/exe").string()));
    std::vector<std::string> all{script};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(all.size() + 1);
    for (std::string& argument : all) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(script.c_str(), pointers.data());
    throw ConfigError(fmt::format("{}: cannot be started: {}", script, std::strerror(errno)));
}

bool has_script(const std::string& path) { return !find_script(path).empty(); }

}  // namespace fedhive::sim
