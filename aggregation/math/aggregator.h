// A rule that turns the updates of a round into one: zero_init, aggregate in cohort order, finish.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// What one slot brings to the barrier.
struct Update {
    ConstParamSpan values;     // [P]: the client's update, or sum of f32(w_k * update_k) where a slot holds several clients
    std::size_t position = 0;  // of its first client in the cohort's tree; strictly increasing over aggregate() calls
    double scale = 1.0;        // what values are still to be multiplied with: w_k, or 1 for a slot that holds a sum
    double weight = 1.0;       // sum of w_k over the slot's clients
    std::size_t clients = 1;
};

/// The aggregate with its count, since some server steps need |S|/N (SCAFFOLD).
struct Aggregate {
    ConstParamSpan values;  // [P], owned by the aggregator, valid until its next zero_init
    double weight = 0.0;    // sum of the weights
    std::size_t clients = 0;
};

/// Rules whose every element depends on that element of the updates alone: ranges of parameters can be aggregated one by one, in different
/// processes, with the bits of one pass over all.
enum class ColumnRule : std::uint32_t { None, Mean, Median, Sum };

/// Process  coordinator, after the barrier. Updates are views: their slots may not be written before finish() has returned.
class Aggregator {
public:
    Aggregator() = default;
    Aggregator(const Aggregator&) = delete;
    Aggregator& operator=(const Aggregator&) = delete;
    virtual ~Aggregator() = default;

    /// None: the rule needs whole updates.
    virtual ColumnRule column_rule() const = 0;

    /// With fewer updates than this there is to be no step.
    virtual std::size_t least_updates() const { return 1; }

    virtual void zero_init(std::size_t num_floats, MemorySpace space) = 0;
    virtual void aggregate(const Update& update) = 0;

    /// Throws Fault when nothing was aggregated or all weights are zero.
    virtual Aggregate finish() = 0;
};

/// The rule of that number. Throws Fault for None, or what is none.
std::unique_ptr<Aggregator> make_aggregator(ColumnRule rule);

/// A rule by its name, and what it asks of those who use it.
struct AggregatorSpec {
    std::string name;
    std::string summary;          // what it does, and its source: half a line
    bool replaceable = false;     // plain averaging: a mode may put its own in its place
    bool single_updates = false;  // it looks at every client's own update, so that a slot may hold one client only
    bool weighs = true;           // an update counts by its weight
    std::vector<KeySpec> keys{};
    /// `values`: of all its keys.
    std::unique_ptr<Aggregator> (*build)(const Values& values) = nullptr;
};

/// All rules that a config can name, in the order of REFERENCE.md.
const std::vector<AggregatorSpec>& aggregator_catalog();

/// The name must exist.
const AggregatorSpec& aggregator_spec(const std::string& name);

}  // namespace fedhive::aggregation
