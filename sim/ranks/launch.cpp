#include "sim/ranks/launch.h"

#include "aggregation/base/error.h"
#include "sim/ranks/bytes.h"

#include <fmt/ranges.h>

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace fedhive::sim {

namespace {

constexpr const char* kLibrary = "libfedhive_mpi.so";

std::string variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    return value == nullptr ? "" : value;
}

std::optional<std::uint32_t> number_in(const char* name) {
    const std::string text = variable(name);
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return static_cast<std::uint32_t>(std::stoul(text));
}

std::filesystem::path find_library() {
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::filesystem::path beside = folder / kLibrary;
    return std::filesystem::exists(beside) ? beside : folder.parent_path() / "lib" / kLibrary;
}

Transport& load_transport(const Launch& launch) {
    const std::filesystem::path library = find_library();
    const std::string started = fmt::format("this is one of {} processes that {} started",
                                            launch.ranks ? std::to_string(*launch.ranks) : "several processes", launch.by);
    if (!std::filesystem::exists(library))
        throw ConfigError(
            fmt::format("{}, but this fedhive was built without MPI, so each would be a separate run; install MPI (Debian: "
                        "libopenmpi-dev) and build again (scripts/run does that), or start one process",
                        started));
    // RTLD_GLOBAL: what MPI itself loads looks up MPI's symbols.
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* entry = loaded == nullptr ? nullptr : dlsym(loaded, kTransportSymbol);
    if (entry == nullptr)
        throw ConfigError(fmt::format("{}, but {} cannot be loaded: {}; build fedhive again on a machine with this MPI",
                                      started, library.string(), dlerror()));
    return reinterpret_cast<TransportEntry>(entry)();
}

/// How many ranks of this host share a resource, this one included, and how many of them come before it.
struct Sharing {
    std::uint32_t before = 0;
    std::uint32_t all = 0;
};

Sharing who_share(Ranks& ranks, const std::string& mine) {
    Sharing sharing;
    const std::vector<std::string> all = ranks.all_gather(mine, {});
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks.hosts()[rank] != ranks.hosts()[ranks.rank()] || all[rank] != mine) continue;
        ++sharing.all;
        if (rank < ranks.rank()) ++sharing.before;
    }
    return sharing;
}

/// Divides the processors among the ranks of a host that may all use the same ones. Changes nothing if each rank is bound to
/// its own processors, or if there are fewer processors than ranks.
void share_processors(Ranks& ranks) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    BytesWriter mine;
    mine.put(set);
    const Sharing sharing = who_share(ranks, mine.take());
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&set));
    if (sharing.all < 2 || count < sharing.all) return;
    std::uint32_t index = 0;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        const bool is_mine =
            index >= count * sharing.before / sharing.all && index < count * (sharing.before + 1) / sharing.all;
        if (!is_mine) CPU_CLR(cpu, &set);
        ++index;
    }
    sched_setaffinity(0, sizeof set, &set);
}

constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

/// Restricts this process to its GPU; workers inherit the environment.
void share_devices(Ranks& ranks, const DeviceNames& devices) {
    std::string seen = variable(kVisibleDevices);
    if (std::getenv(kVisibleDevices) == nullptr)
        seen = fmt::format("{}", fmt::join(devices(), ","));  // NOLINT(concurrency-mt-unsafe)
    std::vector<std::string> names;
    std::istringstream list(seen);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
    const Sharing sharing = who_share(ranks, seen);
    const std::string mine = device_for(names, sharing.before, sharing.all);
    if (!mine.empty()) setenv(kVisibleDevices, mine.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no thread of ours runs yet
}

}  // namespace

std::optional<Launch> find_launch() {
    std::optional<Launch> launch;
    if (const auto ranks = number_in("OMPI_COMM_WORLD_SIZE"))
        launch = {"mpirun", ranks, 0};
    else if (const auto slurm = number_in("SLURM_STEP_NUM_TASKS"); slurm && !variable("SLURM_PROCID").empty())
        launch = {"srun", slurm, 0};
    else if (const auto pmi = number_in("PMI_SIZE"))
        launch = {"mpirun", pmi, 0};
    else if (!variable("PMIX_RANK").empty())
        launch = {"PMIx", std::nullopt, 0};
    else if (const auto torch = number_in("WORLD_SIZE"); torch && number_in("RANK") && !variable("MASTER_ADDR").empty())
        launch = {"torchrun", torch, 0};
    if (launch && launch->ranks && *launch->ranks <= 1) return std::nullopt;
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"})
        if (const auto rank = number_in(name); launch && rank) {
            launch->rank = *rank;
            break;
        }
    return launch;
}

std::string device_for(const std::vector<std::string>& devices, std::uint32_t before, std::uint32_t sharing) {
    return devices.size() < 2 || sharing < 2 ? "" : devices[before % devices.size()];
}

Ranks& join_ranks(const std::string& command, const DeviceNames& devices) {
    const std::optional<Launch> launch = find_launch();
    if (!launch) return Ranks::alone();
    if (launch->by == "torchrun")
        throw ConfigError(fmt::format("start ranks with MPI, not with torchrun: mpirun -n {} {}", *launch->ranks, command));
    Transport& transport = load_transport(*launch);
    if (transport.num_ranks() == 1) {
        if (!launch->ranks) return Ranks::alone();
        throw ConfigError(
            fmt::format("{} has started {} processes, but MPI sees only one; start them with this MPI's own launcher: mpirun "
                        "-n {}, srun --mpi=pmix (or pmi2) -n {}",
                        launch->by, *launch->ranks, *launch->ranks, *launch->ranks));
    }
    static Ranks ranks(transport);
    share_processors(ranks);
    share_devices(ranks, devices);
    return ranks;
}

std::vector<std::pair<std::string, std::string>> alone_environment() {
    std::vector<std::pair<std::string, std::string>> environment;
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE", "PMIX_RANK", "WORLD_SIZE"})
        if (!variable(name).empty()) environment.emplace_back(name, "");
    return environment;
}

}  // namespace fedhive::sim
