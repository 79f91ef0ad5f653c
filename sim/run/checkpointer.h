// Checkpoints: when they are written, and which are kept.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/run/reporter.h"
#include "sim/run/run_folder.h"

#include <list>
#include <optional>

namespace fedhive::sim {

/// What the last bits of `run` depend on in this process.
BitsEnvironment environment_of(const Experiment& run);

/// A checkpoint's bytes, with host copies of what is on a GPU.
struct CheckpointOfRun {
    std::list<aggregation::HostView> on_host;
    StatePieces pieces;  // views of `on_host` and of the run
};

/// The checkpoint of `run` in its present state. Memory: nothing that is in host memory is copied.
CheckpointOfRun checkpoint_of(const Experiment& run, const Progress& progress, const TablePositions& tables);

class Checkpointer {
public:
    /// All references must outlive this. `folder`: null in a rank that writes nothing. `newest`: the round of the checkpoint
    /// from which the run was resumed.
    Checkpointer(Experiment& run, RunFolder* folder, const Reporter& reporter, std::optional<std::int64_t> newest);

    /// Call when the round is reported and counted in `server.round`. Writes a checkpoint if one is due. Throws Fault; the
    /// previous checkpoint still exists then.
    void round_ended(const ServerState& server);

    /// Writes a checkpoint at the end of the run, or where it stops, unless the newest is of this round. Does nothing before
    /// round 1.
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
    std::int64_t cost_ns_ = 0;     // duration of that write
};

}  // namespace fedhive::sim
