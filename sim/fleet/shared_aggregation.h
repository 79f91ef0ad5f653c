// Aggregation by the workers, who have nothing else to do while the round's updates are turned into one: each takes ranges of the parameters.
// Every element is summed in the order that one pass over all of them has, so neither ranges nor workers change a bit.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fedhive::sim {

/// A sum of fewer bytes than these is done before the workers are awake.
inline constexpr std::uint64_t kSharedBytes = std::uint64_t{4} << 20;

/// Floats of one task: of a slot, so much that a claim costs nothing beside it, and so little that the last one at work is not waited for.
inline constexpr std::uint64_t kRangeFloats = std::uint64_t{1} << 15;

/// Tasks of an aggregate; 0 where the arena has none.
std::uint64_t num_ranges(const aggregation::ArenaGeometry& arena);

/// Looks from the round loop like the rule itself.
class SharedAggregator final : public aggregation::Aggregator {
public:
    /// Fills the arena's aggregate with that rule's result for these updates.
    using Work = std::function<void(aggregation::ColumnRule rule, std::span<const aggregation::Update> updates)>;

    /// Both must outlive this; the rule has a column_rule.
    SharedAggregator(aggregation::Aggregator& rule, const aggregation::Arena& arena, Work work)
        : rule_(rule), arena_(arena), work_(std::move(work)) {}

    aggregation::ColumnRule column_rule() const override { return rule_.column_rule(); }
    void zero_init(std::size_t num_floats, aggregation::MemorySpace space) override;
    void aggregate(const aggregation::Update& update) override;
    aggregation::Aggregate finish() override;

private:
    aggregation::Aggregator& rule_;  // over no parameter at all: checks the updates, and adds up weights and clients
    const aggregation::Arena& arena_;
    Work work_;
    std::vector<aggregation::Update> updates_;
};

}  // namespace fedhive::sim
