// A mode as a value: how many clients are in flight, how many arrivals the barrier waits for, what they deliver, how staleness
// discounts it. docs/modes.md says what a round, a version and a client mean in each mode. No code asks for a mode by name.
#pragma once

#include "clients/protocol/collectives.h"
#include "clients/protocol/task.h"
#include "sim/modes/staleness.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// Which workers must be at work at the same time, as ranks that wait for each other.
enum class WorkerGroup {
    None,   // none: each works alone
    Slot,   // those of a slot
    Round,  // all of a round
};

/// Where a client's result is when it arrives.
enum class Bring {
    Update,     // in its slot
    OneUpdate,  // in slot 0, the same for all clients; slot 1 holds what goes with it
    Nothing,    // in the global model, written in place; it cannot be undone
};

/// The examples of one pass of a client.
enum class PassExamples {
    Own,    // its shard
    Share,  // an equal share of all examples, dealt anew for each pass
    All,    // all examples
};

/// The quantities of a client's task.
struct Trip {
    std::uint64_t examples = 0;
    std::uint64_t steps = 0;
    std::uint64_t model_bytes = 0;       // the parameters, down
    std::uint64_t update_bytes = 0;      // a client's update, up; equal to model_bytes unless compressed
    std::uint64_t activation_bytes = 0;  // per example, at the cut of a split model
    std::uint64_t in_flight = 1;
};

/// Bytes to the clients, and bytes from them or between them.
struct Traffic {
    std::uint64_t down = 0;
    std::uint64_t up = 0;
    Traffic& operator+=(const Traffic& more) {
        down += more.down;
        up += more.up;
        return *this;
    }
};

/// One model down, one update or gradient up.
inline Traffic model_and_update(const Trip& trip) { return {trip.model_bytes, trip.update_bytes}; }

struct Mode {
    std::size_t in_flight = 1;  // clients in training at a time
    std::size_t quorum = 1;     // arrivals that end the wait
    bool late_join = false;     // true: an arrived client is replaced at once, and later arrivals join a later round; false:
                                // later arrivals are left behind
    bool drain = false;         // in the last rounds, sends no client that could no longer arrive
    bool by_steps = false;  // each local step arrives by itself, and the client goes on from the next model: many turns a round
    std::vector<clients::TaskKind> tasks{clients::TaskKind::Train};  // one slot's tasks, each for a worker of its own
    WorkerGroup group = WorkerGroup::None;
    Bring bring = Bring::Update;
    PassExamples pass = PassExamples::Own;
    clients::Payload payload = clients::Payload::Update;
    Traffic (*traffic)(const Trip& trip) = model_and_update;
    Staleness staleness;
    std::optional<std::uint64_t> max_staleness;  // no client is overtaken by more server steps than this
    clients::AllReduce all_reduce = clients::AllReduce::Tree;
    std::optional<std::uint32_t> velocity_index;  // global region of the replicas' momentum, never used for a model

    /// Workers write into the global model itself; nothing is aggregated.
    bool in_place() const { return bring == Bring::Nothing; }
    /// Clients that come after the quorum stay in flight, so that the workers are never idle.
    bool overlaps() const { return late_join || by_steps; }
    /// The model changes during a round, not only between rounds.
    bool model_changes_in_round() const { return by_steps || in_place(); }
    /// A client computes its update from one model, independent of all others.
    bool trains_alone() const { return group == WorkerGroup::None && !model_changes_in_round(); }
    /// Each update has its own slot, and workers have time to sum them.
    bool workers_may_sum() const { return bring == Bring::Update && !overlaps(); }
    /// Number of workers that must be at work at the same time.
    std::size_t group_size() const;
    /// Clients that hold a slot at the same time: with late_join, an arrived client's slot stays in use until the round ends.
    std::size_t clients_in_slots() const { return in_flight + (late_join ? quorum - 1 : 0); }

    /// Number of updates in a server step without failures, if `sent` clients are sent at a time.
    std::uint64_t num_together(std::size_t sent) const { return late_join ? quorum : std::min(quorum, sent); }

    /// How many clients may be sent now, with `on_their_way` in flight, `rounds_left` rounds left (this one included), and
    /// `arrived` arrivals in this round.
    std::size_t room(std::size_t on_their_way, std::int64_t rounds_left, std::size_t arrived) const;

    /// Number of the arena's global regions: the models from which clients in flight may have started, the published one, the
    /// next one.
    std::uint64_t num_globals() const;
};

}  // namespace fedhive::sim
