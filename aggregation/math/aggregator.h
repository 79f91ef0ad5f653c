// The interface of rules that combine the K updates of a round, vectors of P floats, into one aggregate. Calls in order: zero_init(),
// then aggregate() for each slot in cohort order, then finish(). A slot is the arena's vector for an update, or for a sum of updates. A
// column is one parameter's values in all updates.
#pragma once

#include "aggregation/math/groups.h"
#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fedhive::aggregation {

/// One slot's content, when the round's wait for updates has ended.
struct Update {
    ConstParamSpan values;     // [P]: the client's update, or sum of f32(w_k * update_k) where a slot holds several clients
    std::size_t position = 0;  // its first client's place in the cohort, 0, 1, …; strictly increasing over aggregate() calls
    double scale = 1.0;        // factor that the rule applies to values: w_k, or 1 for a slot that holds a sum
    double weight = 1.0;       // sum of w_k over the slot's clients
    std::size_t clients = 1;
    std::size_t slot = 0;  // index of the arena's slot that `values` are in
};

/// The aggregate, and the number of its clients: SCAFFOLD's server step needs their share |S|/N of all clients.
struct Aggregate {
    ConstParamSpan values;  // [P], owned by the aggregator, valid until its next zero_init
    double weight = 0.0;    // sum of the weights
    std::size_t clients = 0;
    std::uint64_t round = 0;                    // from 0, as the server counts
    std::span<const ConstParamSpan> further{};  // sums with other weights, [P] each (Coefficients in cohort/weight_rule.h)
};

/// Rules by column: element i of the aggregate depends on element i of the updates only. So different processes can aggregate ranges of
/// parameters, with the same bits as in one pass. Each rule has a file of its name (mean.h, median.h, …).
enum class ColumnRule : std::uint32_t {
    None,
    Mean,
    Median,
    Sum,
    TrimmedMean,
    MeanAroundMedian,
    SignMajority,
    RobustRate,
    Deviation,
};

/// The aggregate is a sum of the updates with coefficients.
constexpr bool is_linear(ColumnRule rule) { return rule == ColumnRule::Mean || rule == ColumnRule::Sum; }

/// Process  coordinator, after the barrier. Updates are views: no slot may be written until finish() has returned.
class Aggregator {
public:
    Aggregator() = default;
    Aggregator(const Aggregator&) = delete;
    Aggregator& operator=(const Aggregator&) = delete;
    virtual ~Aggregator() = default;

    /// What the rule does to each column; None: it is no rule by column.
    virtual ColumnRule column_rule() const = 0;

    /// The number in the rule of column_rule(): a share, a count or a threshold; 0 for rules that have none.
    virtual double column_number() const { return 0.0; }

    /// The groups of updates whose means the rule combines; null: it combines the updates themselves.
    virtual const Groups* groups() const { return nullptr; }

    virtual void zero_init(std::size_t num_floats, MemorySpace space) = 0;
    virtual void aggregate(const Update& update) = 0;

    /// Returns the aggregate. Throws Fault when nothing was aggregated or all weights are zero.
    virtual Aggregate finish() = 0;
};

/// Makes the aggregator of a rule by column from its column_number(). Throws Fault for None or an unknown value.
std::unique_ptr<Aggregator> make_aggregator(ColumnRule rule, double number = 0.0);

}  // namespace fedhive::aggregation
