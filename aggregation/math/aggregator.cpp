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
        case ColumnRule::None:
            break;
    }
    throw Fault(fmt::format("no rule works on ranges by the number {}", static_cast<std::uint32_t>(rule)));
}

}  // namespace fedhive::aggregation
