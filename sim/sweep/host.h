// One machine of a sweep: starts runs, each in its own process, monitors them and reports. The scheduler decides what to start.
// A sweep over ranks (hosts.h) has one host per rank; rank 0 also has the scheduler.
#pragma once

#include "clients/protocol/process.h"
#include "sim/machine/nvml.h"
#include "sim/sweep/interrupt_signals.h"
#include "sim/sweep/sweep_folder.h"

#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// How urgently runs shall end.
enum class Haste : std::uint32_t {
    None,
    Interrupt,  // each run writes a checkpoint first
    Kill
};

/// The end of a run's process, and what it has left.
struct RunEnd {
    bool signalled = false;
    int exit_status = 0;  // if not signalled
    double cpu_s = 0.0;
    RunRemains remains{};
    std::string reason{};  // if it did not end as planned: "killed by SIGKILL", or the run's last message
};

/// The state of one run at the last look.
struct RunNews {
    std::size_t run = 0;
    std::uint64_t host_bytes = 0;
    std::uint64_t peak_bytes = 0;
    bool settled = false;  // has finished a round: will use no more memory
    std::optional<RunEnd> end{};
};

struct HostNews {
    std::int64_t cores = 1;
    std::uint64_t host_bytes = 0;                 // available
    std::optional<std::uint64_t> device_bytes{};  // free; empty: unknown
    std::int32_t interrupt = 0;                   // the first signal that asked this process to end
    Haste haste = Haste::None;                    // Kill: a second signal came
    std::vector<RunNews> runs{};                  // running, or ended since the last look
};

struct HostOptions {
    std::filesystem::path executable = "/proc/self/exe";
    FreeDeviceMemory free_device_memory = nvml_free_memory();
};

class Host {
public:
    /// Call clients::block_interrupts() before, and construct it in a thread that lives as long: the runs end with that thread.
    explicit Host(HostOptions options = {});

    /// Throws Fault if the process cannot be started.
    void start(std::size_t run, const RunOrder& order);

    /// Asks the runs to end, or kills them; a weaker request after a stronger one changes nothing.
    void end_runs(Haste haste);

    /// Also takes signals: the first interrupts this host's runs at once, the second kills them.
    HostNews look();

    /// Returns when a run ends here, a signal comes, or the time is over.
    void wait(int milliseconds) const;

private:
    struct AtWork {
        std::size_t run;
        std::filesystem::path folder;
        std::filesystem::path log;
        std::uint64_t log_begin;     // size of its log before the process started
        std::int64_t rounds_before;  // rounds in its table then
        clients::ChildProcess process;
        std::int64_t start_ns = 0;
        std::int64_t looked_ns = 0;
        RunNews news{};
    };

    void take_signals();
    void tell(const AtWork& at_work) const;
    void look_at(AtWork& at_work);

    HostOptions options_;
    std::int64_t cores_;
    InterruptSignals signals_;
    std::int32_t interrupt_ = 0;
    Haste asked_ = Haste::None;  // by signals to this process
    Haste haste_ = Haste::None;  // sent to the runs
    std::list<AtWork> at_work_;
};

}  // namespace fedhive::sim
