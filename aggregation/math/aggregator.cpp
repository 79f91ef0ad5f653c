#include "aggregation/math/aggregator.h"

#include "aggregation/base/error.h"
#include "aggregation/math/deviation.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/sign_rules.h"
#include "aggregation/math/trimmed_mean.h"

namespace fedhive::aggregation {

std::unique_ptr<Aggregator> make_aggregator(ColumnRule rule, double number) {
    switch (rule) {
        case ColumnRule::Mean:
            return make_mean();
        case ColumnRule::Median:
            return make_median();
        case ColumnRule::Sum:
            return make_sum();
        case ColumnRule::TrimmedMean:
            return make_trimmed_mean(number);
        case ColumnRule::MeanAroundMedian:
            return make_mean_around_median(number);
        case ColumnRule::SignMajority:
            return make_sign_majority();
        case ColumnRule::RobustRate:
            return make_robust_rate(number);
        case ColumnRule::Deviation:
            return make_deviation();
        case ColumnRule::None:
            break;
    }
    throw Fault(fmt::format("no rule works on ranges by the number {}", static_cast<std::uint32_t>(rule)));
}

}  // namespace fedhive::aggregation
