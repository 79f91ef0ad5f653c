// Aggregation over R ranks (processes, each with workers of its own). Mean: each rank first sums its own updates as far as they form whole subtrees
// of the summation tree (aggregation/math/mean.h). Mean and every other column-wise rule: each rank takes a range of the parameters, receives that
// range of all sums, applies the rule, and sends the result to all. A rule that needs whole updates gets all of them on every rank.
//
//   rank 0   slots 0 … 3  ─▶ sum ─┬─▶ range 0 of all sums ─▶ rule ─┬─▶ whole aggregate
//                                 ╳                                ╳
//   rank 1   slots 4 … 7  ─▶ sum ─┴─▶ range 1 of all sums ─▶ rule ─┴─▶ whole aggregate
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/param_buffer.h"
#include "sim/ranks/ranks.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace fedhive::sim {

/// An aggregator with the result of `rule` over the updates of all ranks.
///
/// Shapes   updates: K vectors of P floats. Only those of this rank's slots have values; all have the other fields. The aggregate is in the
///          updates' memory space; transfers go through host memory, where column-wise rules run.
/// Order    the bits of the rule over all updates in one process.
/// Memory   S sums of [P] of this rank's own, the ranges [P / R] of all others, the aggregate [P]. S is 1 if the rank's run of
///          the cohort is one subtree, and at most twice the logarithm of its length. A rule that is not column-wise: all
///          updates of the others.
/// Process  all ranks call finish() with the same updates except for values. Throws as the rule, and as Ranks::exchange.
/// Cost     sends 4 P (S + 1) (R - 1) / R bytes a rank; S is the number of its updates if the rule is no mean; 4 P S (R - 1) if
///          it is not column-wise.
class RankedAggregator final : public aggregation::Aggregator {
public:
    /// The rank that trained the update's slot.
    using Owner = std::function<std::uint32_t(const aggregation::Update& update)>;
    /// The aggregator that sums a part of this rank's updates: `sum` itself, or an equal one that the workers share.
    using Local = std::function<aggregation::Aggregator&(aggregation::Aggregator& sum, std::uint64_t updates)>;
    using HowLong = std::function<Patience()>;

    /// `ranks` and `rule` must outlive this.
    RankedAggregator(Ranks& ranks, aggregation::Aggregator& rule, Owner owner, Local local, HowLong patience);

    const aggregation::Aggregator& rule() const { return rule_; }
    aggregation::ColumnRule column_rule() const override { return rule_.column_rule(); }
    double column_number() const override { return rule_.column_number(); }
    void zero_init(std::size_t num_floats, aggregation::MemorySpace space) override;
    void aggregate(const aggregation::Update& update) override { updates_.push_back(update); }
    aggregation::Aggregate finish() override;

private:
    /// A partial sum, or a single update.
    struct Part {
        aggregation::Update update;  // only this rank's own parts have values
        std::uint32_t rank = 0;
    };
    std::vector<Part> parts();
    Part part_of(std::span<const aggregation::Update> updates, std::uint32_t rank);
    aggregation::ConstParamSpan sum_of(std::span<const aggregation::Update> updates);
    aggregation::ConstParamSpan copied(aggregation::ConstParamSpan values);
    void bring_to_device(std::vector<Part>& parts);
    void bring_ranges_together(std::vector<Part>& parts);
    void hand_out_results();
    std::size_t begin_of(std::uint32_t rank) const;
    std::size_t range_of(std::uint32_t rank) const { return whole() ? num_floats_ : begin_of(rank + 1) - begin_of(rank); }
    /// Whether every rank takes all parameters.
    bool whole() const { return column_rule() == aggregation::ColumnRule::None; }

    Ranks& ranks_;
    aggregation::Aggregator& rule_;
    Owner owner_;
    Local local_;
    HowLong patience_;
    std::size_t num_floats_ = 0;
    aggregation::MemorySpace space_ = aggregation::MemorySpace::Host;
    std::vector<aggregation::Update> updates_;
    std::unique_ptr<aggregation::Aggregator> sum_ = aggregation::make_aggregator(aggregation::ColumnRule::Sum);
    std::vector<aggregation::ParamBuffer> sums_;  // grows to the largest number needed so far
    std::size_t sums_in_use_ = 0;
    aggregation::ParamBuffer received_;  // this rank's range of the others' parts
    aggregation::ParamBuffer result_;
    aggregation::ParamBuffer on_device_;  // CUDA: the result, or the others' updates
};

}  // namespace fedhive::sim
