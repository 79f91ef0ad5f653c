// When checkpoints are written, and which ones stay.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/run/reporter.h"
#include "sim/run/run_folder.h"

#include <list>
#include <optional>

namespace fedhive::sim {

/// What decides last bits of `run` in this process.
BitsEnvironment environment_of(const Experiment& run);

/// A checkpoint's bytes, and what of them lay on a GPU.
struct CheckpointOfRun {
    std::list<aggregation::HostView> on_host;
    StatePieces pieces;  // look at `on_host`, and at the run
};

/// What `run` is now. Memory: in host memory no second time what lies there.
CheckpointOfRun checkpoint_of(const Experiment& run, const Progress& progress, const TablePositions& tables);

class Checkpointer {
public:
    /// All references must outlive it. `folder`: null in a rank that writes nothing. `newest` is the round of the checkpoint that the run was resumed from.
    Checkpointer(Experiment& run, RunFolder* folder, const Reporter& reporter, std::optional<std::int64_t> newest);

    /// Once the round is reported and `server.round` counts it: writes a checkpoint where one is due. Throws Fault; the checkpoint before
    /// is still there then.
    void round_ended(const ServerState& server);

    /// At the end of a run, or of what it came to: writes one unless the newest is of this round. Before round 1 there is nothing to keep.
    void write_if_older();

private:
    bool due(std::int64_t round) const;
    void write_if_agreed(bool wanted);
    void write();
    void remove_others() const;

    Experiment& run_;
    RunFolder* folder_;
    const Reporter& reporter_;
    std::optional<std::int64_t> newest_;
    std::int64_t written_ns_ = 0;  // when the last write of this process ended; 0: there was none
    std::int64_t cost_ns_ = 0;     // what it took
};

}  // namespace fedhive::sim
