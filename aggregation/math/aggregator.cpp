#include "aggregation/math/aggregator.h"

#include "aggregation/base/error.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"

namespace fedhive::aggregation {

std::unique_ptr<Aggregator> make_aggregator(ColumnRule rule) {
    switch (rule) {
        case ColumnRule::Mean:
            return make_mean();
        case ColumnRule::Median:
            return make_median();
        case ColumnRule::Sum:
            return make_sum();
        case ColumnRule::None:
            break;
    }
    throw Fault(fmt::format("no rule works on ranges by the number {}", static_cast<std::uint32_t>(rule)));
}

// Each is defined in the file of its name.
AggregatorSpec mean();
AggregatorSpec median();
AggregatorSpec krum();

const std::vector<AggregatorSpec>& aggregator_catalog() {
    static const std::vector<AggregatorSpec> catalog = {mean(), median(), krum()};
    return catalog;
}

const AggregatorSpec& aggregator_spec(const std::string& name) { return entry_of(aggregator_catalog(), name, "aggregator"); }

}  // namespace fedhive::aggregation
