// Aggregation by the workers, which are idle while the server aggregates: each takes ranges of the parameters. Each element is summed in the order of a
// single pass, so neither the ranges nor the number of workers change a bit.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fedhive::sim {

/// The least number of bytes that workers share; the coordinator computes a smaller sum before workers are awake.
inline constexpr std::uint64_t kSharedBytes = std::uint64_t{4} << 20;

/// Floats that one task takes of each slot: large enough to hide the cost of a claim, small enough that the last task is soon done.
inline constexpr std::uint64_t kRangeFloats = std::uint64_t{1} << 15;

/// Number of tasks of an aggregate; 0 if the arena has no aggregate.
std::uint64_t num_ranges(const aggregation::ArenaGeometry& arena);

/// An aggregator with the result of `rule`, computed by the workers.
class SharedAggregator final : public aggregation::Aggregator {
public:
    /// Fills the arena's aggregate with the result of `rule` for these updates.
    using Work = std::function<void(const aggregation::Aggregator& rule, std::span<const aggregation::Update> updates)>;

    /// `rule` and `arena` must outlive this; the rule has a column_rule.
    SharedAggregator(aggregation::Aggregator& rule, const aggregation::Arena& arena, Work work)
        : rule_(rule), arena_(arena), work_(std::move(work)) {}

    aggregation::ColumnRule column_rule() const override { return rule_.column_rule(); }
    double column_number() const override { return rule_.column_number(); }
    void zero_init(std::size_t num_floats, aggregation::MemorySpace space) override;
    void aggregate(const aggregation::Update& update) override;
    aggregation::Aggregate finish() override;

private:
    aggregation::Aggregator& rule_;  // gets the updates without values, checks them, and adds weights and numbers of clients
    const aggregation::Arena& arena_;
    Work work_;
    std::vector<aggregation::Update> updates_;
};

}  // namespace fedhive::sim
