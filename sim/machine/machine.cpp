#include "sim/machine/machine.h"

#include "aggregation/memory/shared_segment.h"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace fedhive::sim {

namespace {

int affinity_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// Cores that one cgroup of version 2 allows; a large number without a quota.
double quota_of(const std::filesystem::path& group) {
    std::ifstream file(group / "cpu.max");
    std::string quota;
    double period = 0.0;
    return file >> quota >> period && quota != "max" && period > 0.0 ? std::stod(quota) / period : 1e9;
}

/// The tightest CPU quota from this process's cgroup up to the root, in cores (version 2; version 1 at its root only).
double cgroup_cores() {
    const std::filesystem::path root = "/sys/fs/cgroup";
    double cores = quota_of(root);
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (line.rfind("0::/", 0) != 0) continue;
        for (std::filesystem::path group = line.substr(4); !group.empty(); group = group.parent_path())
            cores = std::min(cores, quota_of(root / group));
    }
    double quota = 0.0;
    double period = 0.0;
    std::ifstream quota_file(root / "cpu/cpu.cfs_quota_us");
    std::ifstream period_file(root / "cpu/cpu.cfs_period_us");
    if (quota_file >> quota && period_file >> period && quota > 0.0 && period > 0.0) cores = std::min(cores, quota / period);
    return cores;
}

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

}  // namespace

Machine this_machine() {
    Machine machine;
    machine.cores = std::max(1, static_cast<int>(std::min<double>(affinity_cores(), std::floor(cgroup_cores() + 0.01))));
    machine.available_memory = aggregation::available_memory_bytes();
    machine.memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    machine.cpu = cpu_name();
    return machine;
}

std::uint64_t num_oom_kills() {
    std::ifstream file("/proc/vmstat");
    std::string name;
    for (std::uint64_t value = 0; file >> name >> value;)
        if (name == "oom_kill") return value;
    return 0;
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace fedhive::sim
