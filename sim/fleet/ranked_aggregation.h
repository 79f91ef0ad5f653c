// Aggregation over ranks. Of a mean each rank sums what it has trained as far as that is whole subtrees; then, as of any rule that works column by
// column, each rank takes a range of the parameters, gets that range of all sums, applies the rule to it, and hands the result to all. A rule that
// looks at whole updates gets all of them on every rank.
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

/// Looks from the round loop like the rule itself.
///
/// Shapes   updates: K x [P], those of this rank's own slots; of the others everything but their values is looked at. The aggregate lies where they
///          do; what crosses goes through host memory, and there columns are aggregated.
/// Order    as the rule's over all updates in one process: same bits.
/// Memory   S sums of [P] of this rank's own, the ranges [P / R] of all others, the aggregate [P]. S is 1 where a rank's run of the cohort is one
///          subtree, and at most twice the logarithm of its length. All updates of the others where the rule goes by no columns.
/// Process  all ranks call finish() with the same updates but for values. Throws as the rule, and as Ranks::exchange.
/// Cost     sends 4 P (S + 1) (R - 1) / R bytes a rank; S is the number of its clients where the rule is no mean; 4 P S (R - 1) where it goes by
///          no columns.
class RankedAggregator final : public aggregation::Aggregator {
public:
    /// The rank in whose slot an update lies.
    using Owner = std::function<std::uint32_t(const aggregation::Update& update)>;
    /// The sum of a part of this rank's updates: the rule given, or one that the workers share.
    using Local = std::function<aggregation::Aggregator&(aggregation::Aggregator& sum, std::uint64_t updates)>;
    using HowLong = std::function<Patience()>;

    /// All must outlive this.
    RankedAggregator(Ranks& ranks, aggregation::Aggregator& rule, Owner owner, Local local, HowLong patience);

    const aggregation::Aggregator& rule() const { return rule_; }
    aggregation::ColumnRule column_rule() const override { return rule_.column_rule(); }
    void zero_init(std::size_t num_floats, aggregation::MemorySpace space) override;
    void aggregate(const aggregation::Update& update) override { updates_.push_back(update); }
    aggregation::Aggregate finish() override;

private:
    /// A sum, or an update that is one by itself.
    struct Part {
        aggregation::Update update;  // values: of this rank's own
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
    /// Every rank's range is all there is.
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
    std::vector<aggregation::ParamBuffer> sums_;  // as many as were ever needed
    std::size_t sums_in_use_ = 0;
    aggregation::ParamBuffer received_;  // of the others' parts, this rank's range
    aggregation::ParamBuffer result_;
    aggregation::ParamBuffer on_device_;  // CUDA: the result, or the others' updates
};

}  // namespace fedhive::sim
