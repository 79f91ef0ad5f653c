// One machine of a sweep: starts runs there, each in a process of its own, looks after them and says how they fare. What to start is the
// scheduler's business; where a sweep is spread over ranks (hosts.h), each of them has a host, and the first one also the scheduler.
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

/// How urgently runs are to end.
enum class Haste : std::uint32_t {
    None,
    Interrupt,  // each writes a checkpoint first
    Kill
};

/// What a run's process came to, and what it has left.
struct RunEnd {
    bool signalled = false;
    int exit_status = 0;  // where it was not signalled
    double cpu_s = 0.0;
    RunRemains remains{};
    std::string reason{};  // where it did not end as planned: "killed by SIGKILL", or the last that the run said
};

/// Of one run, as it was when last looked at.
struct RunNews {
    std::size_t run = 0;
    std::uint64_t host_bytes = 0;
    std::uint64_t peak_bytes = 0;
    bool settled = false;  // it has done a round: it takes all that it will take
    std::optional<RunEnd> end{};
};

struct HostNews {
    std::int64_t cores = 1;
    std::uint64_t host_bytes = 0;                 // available
    std::optional<std::uint64_t> device_bytes{};  // free; empty: not known
    std::int32_t interrupt = 0;                   // the first signal that asked this process to end
    Haste haste = Haste::None;                    // Kill: there was a second one
    std::vector<RunNews> runs{};                  // those with a process, and those that have ended since the last time
};

struct HostOptions {
    std::filesystem::path executable = "/proc/self/exe";
    FreeDeviceMemory free_device_memory = nvml_free_memory();
};

class Host {
public:
    /// To be made after clients::block_interrupts(), by the thread that stays: with it end the runs.
    explicit Host(HostOptions options = {});

    /// Throws Fault where no process can be started.
    void start(std::size_t run, const RunOrder& order);

    /// Its runs are asked to end, or killed; less than was asked before changes nothing.
    void end_runs(Haste haste);

    /// Takes signals as well: the first interrupts the runs here at once, the second kills them.
    HostNews look();

    /// Until a run ends here or a signal comes.
    void wait(int milliseconds) const;

private:
    struct AtWork {
        std::size_t run;
        std::filesystem::path folder;
        std::filesystem::path log;
        std::uint64_t log_begin;     // bytes of its log that are older than the process
        std::int64_t rounds_before;  // in its table
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
    Haste haste_ = Haste::None;  // of the runs
    std::list<AtWork> at_work_;
};

}  // namespace fedhive::sim
