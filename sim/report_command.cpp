#include "sim/report_command.h"

#include "aggregation/base/error.h"

#include <unistd.h>

#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// build/release/fedhive stands two folders below the checkout; an installed program has none above it.
fs::path find_script() {
    const fs::path program = fs::read_symlink("/proc/self/exe");
    for (fs::path folder = program.parent_path(); folder != folder.root_path(); folder = folder.parent_path())
        if (fs::exists(folder / "scripts" / "report") && fs::exists(folder / "sim")) return folder / "scripts" / "report";
    throw ConfigError(
        fmt::format("report: there is no scripts/report in a folder above {}; call that of the checkout: scripts/report DIR",
                    program.string()));
}

}  // namespace

void report_command(const std::vector<std::string>& arguments) {
    const std::string script = find_script().string();
    std::vector<std::string> all{script};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(all.size() + 1);
    for (std::string& argument : all) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(script.c_str(), pointers.data());
    throw ConfigError(fmt::format("{}: cannot be started: {}", script, std::strerror(errno)));
}

}  // namespace fedhive::sim
