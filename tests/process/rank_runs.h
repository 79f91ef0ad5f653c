// One run in several coordinators, by this machine's mpirun.
#pragma once

#include "tests/process/run_process.h"
#include "tests/support/skip.h"

#include <cstdlib>
#include <sstream>

namespace fedhive::testing {

/// Path of mpirun; empty if there is none.
inline std::string mpirun() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (std::filesystem::exists(folder + "/mpirun")) return folder + "/mpirun";
    return "";
}

/// Lets Open MPI (old and new launcher) start more ranks than processors, and as root. Leak detection is off: Open MPI does not
/// free all of its memory, and its unloaded libraries cannot be named in a suppression.
inline const std::vector<std::pair<std::string, std::string>>& rank_environment() {
    static const std::vector<std::pair<std::string, std::string>> environment{
        {"ASAN_OPTIONS", "detect_leaks=0"},
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}};
    return environment;
}

/// Reason why tests with ranks cannot run; empty if they can.
inline std::string why_no_ranks() {
    if (!std::filesystem::exists(beside_tests("libfedhive_mpi.so"))) return "built without MPI";
    if (mpirun().empty()) return "there is no mpirun";
    static const bool starts = [] {
        std::string command;
        for (const auto& [name, value] : rank_environment()) command += name + "=" + value + " ";
        return std::system((command + mpirun() + " -n 2 true >/dev/null 2>&1 </dev/null").c_str()) == 0;
    }();
    return starts ? "" : "mpirun cannot start two processes here";
}

/// First line of a case with ranks: skips it if ranks cannot run. With FEDHIVE_NEEDS_MPI (set by .ci/run after scripts/setup
/// has installed Open MPI) it fails instead.
#define FEDHIVE_NEEDS_RANKS()                                       \
    if (const std::string why = why_no_ranks(); !why.empty()) {     \
        if (std::getenv("FEDHIVE_NEEDS_MPI") != nullptr) FAIL(why); \
        FEDHIVE_SKIP(why);                                          \
    }                                                               \
    static_assert(true)

class RankedRun : public FedhiveRun {
public:
    RankedRun() = default;
    RankedRun(int ranks, const std::string& config, const Options& more = {}) {
        std::ofstream(folder() / "test.yaml") << config;
        start_ranks(ranks, Options{"run", (folder() / "test.yaml").string(), "--out", out().string()} + more);
    }

    void start_ranks(int ranks, const Options& arguments) {
        start(Options{"-n", std::to_string(ranks), fedhive_program()} + arguments, rank_environment(), mpirun());
    }

    /// Starts two ranks with different arguments; `through`: a command that starts the second one.
    void start_two(const Options& first, const Options& second, const Options& through = {}) {
        const Options one{"-n", "1"};
        start(one + Options{fedhive_program()} + first + Options{":"} + one + through + Options{fedhive_program()} + second,
              rank_environment(), mpirun());
    }

    bool said(const std::string& text) const { return output().find(text) != std::string::npos; }
    std::size_t times_said(const std::string& text) const {
        const std::string all = output();
        std::size_t times = 0;
        for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; at += text.size()) ++times;
        return times;
    }

    /// Process id of that rank, which must exist: a signal to process 0 would hit the tests. MPICH's launcher has an
    /// intermediate process.
    pid_t coordinator(int rank) const {
        std::vector<pid_t> below = children_of(pid());
        for (std::size_t i = 0, own = below.size(); i < below.size(); ++i) {
            const std::string environment = read_text(fmt::format("/proc/{}/environ", below[i]));
            for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
                if (environment.find(fmt::format("{}={}", name, rank) + '\0') != std::string::npos) return below[i];
            if (i < own)
                for (const pid_t child : children_of(below[i])) below.push_back(child);
        }
        FAIL("rank " << rank << " is not there\n" << output());
        return 0;
    }
};

}  // namespace fedhive::testing
