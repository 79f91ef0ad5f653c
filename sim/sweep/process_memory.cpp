#include "sim/sweep/process_memory.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// A line such as "Pss:   1234 kB", in bytes.
std::optional<std::uint64_t> read_kilobytes(const std::string& file, const std::string& key) {
    std::ifstream stream(file);
    for (std::string word; stream >> word;) {
        std::uint64_t value = 0;
        if (word == key && stream >> value) return value * 1024;
    }
    return std::nullopt;
}

std::uint64_t memory_of(pid_t pid) {
    const auto shared = read_kilobytes(fmt::format("/proc/{}/smaps_rollup", pid), "Pss:");
    return shared ? *shared : read_kilobytes(fmt::format("/proc/{}/status", pid), "VmRSS:").value_or(0);
}

void add_tree(pid_t root, std::vector<pid_t>& tree) {
    std::error_code gone;
    const fs::path tasks = fmt::format("/proc/{}/task", root);
    if (!fs::exists(tasks, gone)) return;
    tree.push_back(root);
    std::vector<pid_t> children;
    for (fs::directory_iterator task(tasks, gone), end; !gone && task != end; task.increment(gone)) {
        std::ifstream list(task->path() / "children");
        for (pid_t pid = 0; list >> pid;) children.push_back(pid);
    }
    for (const pid_t child : children) add_tree(child, tree);
}

}  // namespace

std::vector<pid_t> process_tree(pid_t root) {
    std::vector<pid_t> tree;
    add_tree(root, tree);
    return tree;
}

std::uint64_t tree_memory(pid_t root) {
    std::uint64_t bytes = 0;
    for (const pid_t pid : process_tree(root)) bytes += memory_of(pid);
    return bytes;
}

}  // namespace fedhive::sim
