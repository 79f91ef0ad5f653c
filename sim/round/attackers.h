// Colluding attackers at the barrier: who they are, and what replaces their updates before the server weighs and combines them.
#pragma once

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/keys.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/memories.h"
#include "sim/round/flight.h"
#include "sim/round/weighing.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace fedhive::sim {

/// The aggregate of these rows, whose values are spans of the arena's slots; valid until the next call.
using Combine = std::function<aggregation::Aggregate(aggregation::Aggregator& rule, std::span<const aggregation::Update> rows)>;

/// Who attacks: round(share * num_clients) clients, drawn from seeds.sampling as for the attacks of upload chains.
struct AttackerDraw {
    std::uint64_t sampling_seed = 1;
    std::uint64_t num_clients = 1;
};

class Attackers {
public:
    /// `arena` outlives this. extra_slot: a slot that no client has, for the attack's extra row; unused by attacks without one.
    Attackers(const Chosen& attack, const AttackerDraw& draw, const aggregation::Arena& arena, std::size_t extra_slot,
              const aggregation::Memories& memories);

    /// The attack has an extra row, hence a slot of its own.
    bool has_extra_row() const { return extra_ != aggregation::ExtraRow::None; }

    /// Replaces the model's part of each attacker's update, in its slot if this rank trained it, and its update_norm. What a
    /// strategy sends after the update stays, as does all of a round without attackers or without honest updates.
    ///
    /// Shapes   one client a slot.
    /// Process  the coordinator, between the barrier and the weighing; with several ranks, all of them.
    /// Order    of the honest updates in the cohort: same bits for any number of workers and ranks.
    void replace_updates(Arrivals& arrived, const TakeProducts& products, const Combine& combine) const;

    /// Allocates what replace_updates() needs, for updates of that size.
    void reserve(std::size_t num_floats, aggregation::MemorySpace space) const;

private:
    bool attacks(std::uint32_t client_id) const;
    aggregation::Update extra_row(std::span<const aggregation::Update> honest, const Combine& combine) const;
    void send(aggregation::ConstParamSpan crafted, Arrivals& arrived, std::span<const std::size_t> attackers) const;

    const aggregation::AttackSpec& spec_;
    Values values_;
    aggregation::ExtraRow extra_;
    AttackerDraw draw_;
    const aggregation::Arena& arena_;
    std::size_t extra_slot_;
    aggregation::Memories memories_;
    std::unique_ptr<aggregation::Aggregator> sum_, deviation_, signs_;  // the last two: where the extra row is of that kind
};

}  // namespace fedhive::sim
