// The synchronisation discipline as a value: how many clients are in flight, how many arrivals the barrier waits for, what they bring, what
// their age does to it. What a round, a version and a client mean in each mode is told in docs/modes.md. Nobody asks which mode it is.
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

/// Whose workers must be at work at the same time, as ranks that wait for each other.
enum class Group {
    None,   // each works for itself
    Slot,   // those of a slot
    Round,  // all
};

/// Where what a client brings lies when it arrives.
enum class Bring {
    Update,     // in its slot
    OneUpdate,  // in slot 0, one and the same for all of them; slot 1 holds what goes with it
    Nothing,    // it was written into the global model itself, and cannot be taken back
};

/// The examples that a client goes through in a pass.
enum class Pass {
    Own,    // its shard
    Share,  // as many as every other one, dealt anew each time
    All,    // all there are
};

/// What a client's task comes to.
struct Trip {
    std::uint64_t examples = 0;
    std::uint64_t steps = 0;
    std::uint64_t model_bytes = 0;       // of its parameters, down
    std::uint64_t update_bytes = 0;      // of a client's own update, up: as many unless it is compressed
    std::uint64_t activation_bytes = 0;  // of an example, at the cut of a split model
    std::uint64_t in_flight = 1;
};

/// Bytes that went to the clients, and came from them or passed between them.
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
    std::size_t in_flight = 1;  // clients asked to train at a time
    std::size_t quorum = 1;     // arrivals that end the wait
    bool late_join = false;     // who arrives is replaced at once, who comes after the quorum joins a later round …
                                // … or: who comes after the quorum is left behind
    bool drain = false;         // the last rounds send nobody who could not arrive any more
    bool by_steps =
        false;  // a client's every step arrives by itself, and it goes on from the next model: a round has many turns
    std::vector<clients::TaskKind> tasks{clients::TaskKind::Train};  // of a slot, each for a worker of its own
    Group group = Group::None;
    Bring bring = Bring::Update;
    Pass pass = Pass::Own;
    clients::Payload payload = clients::Payload::Update;
    Traffic (*traffic)(const Trip& trip) = model_and_update;
    Staleness staleness;
    std::optional<std::uint64_t> max_staleness;  // nobody is overtaken by more server steps than this
    clients::AllReduce all_reduce = clients::AllReduce::Tree;
    std::optional<std::uint32_t> velocity_index;  // the global region of the replicas' momentum, which no model ever takes

    /// Workers write the global model itself; there is nothing to aggregate.
    bool in_place() const { return bring == Bring::Nothing; }
    /// Who comes after the quorum stays on the way, so that the workers have never nothing to do.
    bool overlaps() const { return late_join || by_steps; }
    /// Not only between rounds.
    bool model_changes_in_round() const { return by_steps || in_place(); }
    /// A client goes from one model to its update by itself, whatever the others do.
    bool trains_alone() const { return group == Group::None && !model_changes_in_round(); }
    /// The updates lie in slots of their own, and workers have time to sum them.
    bool workers_may_sum() const { return bring == Bring::Update && !overlaps(); }
    /// Workers that must be at work at the same time.
    std::size_t group_size() const;
    /// Clients that keep a slot at the same time: where who arrives is replaced, what it brought stays there until the round ends.
    std::size_t clients_in_slots() const { return in_flight + (late_join ? quorum - 1 : 0); }

    /// Updates that a server step takes where nobody fails, of so many clients that are sent at a time.
    std::uint64_t num_together(std::size_t sent) const { return late_join ? quorum : std::min(quorum, sent); }

    /// How many may be sent now, with `on_their_way` on their way, `rounds_left`, this one included, and so many arrivals in it so far.
    std::size_t room(std::size_t on_their_way, std::int64_t rounds_left, std::size_t arrived) const;

    /// Global regions of the arena: the models that clients in flight may have started from, the published one, the next one.
    std::uint64_t num_globals() const;
};

}  // namespace fedhive::sim
