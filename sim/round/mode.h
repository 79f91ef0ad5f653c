// The synchronisation discipline as a value: how many clients are in flight, how many arrivals the barrier waits for, what they bring, what
// their age does to it. What a round, a version and a client mean in each mode is told in docs/modes.md.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/arena.h"
#include "clients/protocol/task.h"
#include "sim/config/config.h"
#include "sim/round/slot_plan.h"
#include "sim/strategies/strategy.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fedhive::sim {

/// s(tau): what an update counts that started tau server steps ago; s(0) = 1.
/// Source   Xie et al. 2019 (arXiv:1903.03934), section 5.2: constant, hinge, polynomial; FedBuff (Nguyen et al. 2022, arXiv:2106.06639) takes
///          1 / sqrt(1 + tau), which is polynomial with a = 0.5.
struct Staleness {
    enum class Function { Constant, Hinge, Polynomial } function = Function::Constant;
    double a = 0.5;  // hinge: slope beyond b; polynomial: exponent
    double b = 4.0;  // hinge: steps without a discount

    double discount(std::uint64_t tau) const;
};

struct Mode {
    std::size_t in_flight = 1;  // clients asked to train at a time
    std::size_t quorum = 1;     // arrivals that end the wait
    bool late_join = false;     // who arrives is replaced at once, who comes after the quorum joins a later round …
                                // … or: who comes after the quorum is left behind
    bool drain = false;         // the last rounds send nobody who could not arrive any more
    clients::TaskKind task = clients::TaskKind::Train;  // what a client on its way is doing
    clients::Payload payload = clients::Payload::Update;
    Staleness staleness;
    std::optional<std::uint64_t> max_staleness;  // nobody is overtaken by more server steps than this
    bool velocity_shared = false;                // the replicas' momentum has a global region of its own

    /// A client's every step arrives by itself, and it goes on from the next model: a round has many turns.
    bool by_steps() const { return task == clients::TaskKind::Gradient; }
    /// Workers write the global model itself; there is nothing to aggregate.
    bool in_place() const { return task == clients::TaskKind::InPlace; }
    /// All slots belong to one group of ranks, which only works while all of them do.
    bool one_group() const { return task == clients::TaskKind::Replica; }
    /// A slot's client is trained by two workers.
    bool in_halves() const { return task == clients::TaskKind::LowerHalf; }
    /// Tasks of a slot.
    std::size_t num_halves() const { return in_halves() ? 2 : 1; }
    /// Workers that must be at work at the same time.
    std::size_t group_size() const { return one_group() ? in_flight : in_halves() ? 2 : 1; }
    /// Where who arrives is replaced, what it brought keeps its slot until the round ends. At least two for replicas: slot 1 brings the momentum.
    std::uint64_t num_slots(const SlotPlan& slots) const;

    /// How many may be sent now, with `on_their_way` on their way, `rounds_left`, this one included, and so many arrivals in it so far.
    std::size_t room(std::size_t on_their_way, std::int64_t rounds_left, std::size_t arrived) const;

    /// Global regions of the arena: the models that clients in flight may have started from, the published one, the next one.
    std::uint64_t num_globals() const;
    static constexpr std::uint32_t kVelocityRegion = 2;
};

Mode make_mode(const RunConfig& run);

/// The optimiser of the config: of each client, or of the server where that steps by gradients.
aggregation::SgdOptions sgd_options(const OptimizerConfig& optimizer);

/// The strategy of the config, with the server's part taken over by a mode that has its own.
Strategy make_mode_strategy(const RunConfig& run, const aggregation::Arena& arena);

}  // namespace fedhive::sim
