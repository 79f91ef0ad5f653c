#include "sim/sweep/early_stopping.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace fedhive::sim {

namespace {

/// Value of a run that was never evaluated: worse than any other.
double worst_of(const clients::Metric& metric) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return metric.higher_is_better ? -kInfinity : kInfinity;
}

double last_of(const Qualities& run, const clients::Metric& metric) { return run.empty() ? worst_of(metric) : run.back(); }

double best_of(const Qualities& run, const clients::Metric& metric) {
    if (run.empty()) return worst_of(metric);
    return metric.higher_is_better ? *std::max_element(run.begin(), run.end()) : *std::min_element(run.begin(), run.end());
}

/// Mean of the values; without any, the worst possible value: 0 for an accuracy.
double mean_of(const Qualities& run, const clients::Metric& metric) {
    if (run.empty()) return metric.higher_is_better ? 0.0 : worst_of(metric);
    return std::accumulate(run.begin(), run.end(), 0.0) / static_cast<double>(run.size());
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

std::vector<std::string> stopped_by_rank(std::int64_t factor, std::int64_t rung, const std::vector<Qualities>& runs,
                                         const clients::Metric& metric) {
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return metric.is_better(last_of(runs[a], metric), last_of(runs[b], metric));
    });
    const auto divisor = static_cast<std::size_t>(factor);
    std::vector<std::string> reasons(runs.size());
    for (std::size_t rank = divide_up(runs.size(), divisor); rank < runs.size(); ++rank)
        reasons[order[rank]] = fmt::format("rank {} of {} after round {}", rank + 1, runs.size(), rung);
    return reasons;
}

std::vector<std::string> stopped_by_median(std::int64_t rung, const std::vector<Qualities>& runs,
                                           const clients::Metric& metric) {
    std::vector<std::string> reasons(runs.size());
    if (runs.empty()) return reasons;
    std::vector<double> means;
    std::transform(runs.begin(), runs.end(), std::back_inserter(means),
                   [&](const Qualities& run) { return mean_of(run, metric); });
    const double median = median_of(means);
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (const double best = best_of(runs[i], metric); metric.is_better(median, best))
            reasons[i] = fmt::format("best {} {:.4f} {} the median {:.4f} after round {}", metric.title, best,
                                     metric.higher_is_better ? "below" : "above", median, rung);
    return reasons;
}

}  // namespace

std::optional<std::int64_t> next_rung(const EarlyStoppingConfig& config, std::int64_t decided, std::int64_t most_rounds) {
    if (config.rule == StoppingRule::None) return std::nullopt;
    FEDHIVE_CHECK(config.first_round >= 1 && config.factor >= 2, "rungs do not grow from {} by {}", config.first_round,
                  config.factor);
    std::int64_t rung = config.first_round;
    while (rung <= decided && rung < most_rounds) rung *= config.factor;
    return rung < most_rounds ? std::optional(rung) : std::nullopt;
}

std::vector<std::string> stopped_at(const EarlyStoppingConfig& config, std::int64_t rung, const std::vector<Qualities>& runs,
                                    const clients::Metric& metric) {
    return config.rule == StoppingRule::Halving ? stopped_by_rank(config.factor, rung, runs, metric)
                                                : stopped_by_median(rung, runs, metric);
}

}  // namespace fedhive::sim
