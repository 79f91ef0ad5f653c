#include "sim/ranks/launch.h"

#include "aggregation/base/error.h"
#include "sim/ranks/bytes.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
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
    const std::string started = fmt::format("this is one of {} that {} started",
                                            launch.ranks ? std::to_string(*launch.ranks) : "several processes", launch.by);
    if (!std::filesystem::exists(library))
        throw ConfigError(
            fmt::format("{}, and this fedhive was built without MPI, so that each would be a run of its own; install "
                        "it (Debian: libopenmpi-dev), build again (scripts/run does), or start one process",
                        started));
    // What MPI loads in turn looks for MPI's own names.
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* entry = loaded == nullptr ? nullptr : dlsym(loaded, kTransportSymbol);
    if (entry == nullptr)
        throw ConfigError(fmt::format("{}, and {} cannot be loaded: {}; build fedhive again on a machine with this MPI",
                                      started, library.string(), dlerror()));
    return reinterpret_cast<TransportEntry>(entry)();
}

/// Of the processors that ranks of one host are all allowed, each takes a part; where each is bound to its own, or there are fewer than ranks,
/// nothing changes.
void share_processors(Ranks& ranks) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    BytesWriter mine;
    mine.put(set);
    std::uint32_t before = 0;
    std::uint32_t sharing = 0;
    const std::vector<std::string> all = ranks.all_gather(mine.take(), {});
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        const auto theirs = BytesReader(all[rank]).get<cpu_set_t>();
        if (ranks.hosts()[rank] != ranks.hosts()[ranks.rank()] || !CPU_EQUAL(&theirs, &set)) continue;
        ++sharing;
        if (rank < ranks.rank()) ++before;
    }
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&set));
    if (sharing < 2 || count < sharing) return;
    std::uint32_t index = 0;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        const bool is_mine = index >= count * before / sharing && index < count * (before + 1) / sharing;
        if (!is_mine) CPU_CLR(cpu, &set);
        ++index;
    }
    sched_setaffinity(0, sizeof set, &set);
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

Ranks& join_ranks(const std::string& command) {
    const std::optional<Launch> launch = find_launch();
    if (!launch) return Ranks::alone();
    if (launch->by == "torchrun")
        throw ConfigError(fmt::format("ranks are started by MPI, not by torchrun: mpirun -n {} {}", *launch->ranks, command));
    Transport& transport = load_transport(*launch);
    if (transport.num_ranks() == 1) {
        if (!launch->ranks) return Ranks::alone();
        throw ConfigError(fmt::format(
            "{} has started {} processes, and MPI knows of one; start them by what belongs to this MPI: mpirun -n {}, "
            "srun --mpi=pmix (or pmi2) -n {}",
            launch->by, *launch->ranks, *launch->ranks, *launch->ranks));
    }
    static Ranks ranks(transport);
    share_processors(ranks);
    return ranks;
}

bool refuse_ranks(const std::string& what) {
    const std::optional<Launch> launch = find_launch();
    if (launch && launch->rank == 0)
        throw ConfigError(fmt::format("{} is one process, which starts all others itself; {} has started {}; start it without",
                                      what, launch->by, launch->ranks ? std::to_string(*launch->ranks) : "several"));
    return launch.has_value();
}

}  // namespace fedhive::sim
