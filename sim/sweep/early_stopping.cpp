#include "sim/sweep/early_stopping.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace fedhive::sim {

namespace {

/// One that was never evaluated is worse than any other.
double last_of(const Accuracies& run) { return run.empty() ? -std::numeric_limits<double>::infinity() : run.back(); }

double best_of(const Accuracies& run) {
    return run.empty() ? -std::numeric_limits<double>::infinity() : *std::max_element(run.begin(), run.end());
}

double mean_of(const Accuracies& run) {
    return run.empty() ? 0.0 : std::accumulate(run.begin(), run.end(), 0.0) / static_cast<double>(run.size());
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

std::vector<std::string> stopped_by_rank(std::int64_t factor, std::int64_t rung, const std::vector<Accuracies>& runs) {
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return last_of(runs[a]) > last_of(runs[b]); });
    const auto divisor = static_cast<std::size_t>(factor);
    std::vector<std::string> reasons(runs.size());
    for (std::size_t rank = (runs.size() + divisor - 1) / divisor; rank < runs.size(); ++rank)
        reasons[order[rank]] = fmt::format("rank {} of {} after round {}", rank + 1, runs.size(), rung);
    return reasons;
}

std::vector<std::string> stopped_by_median(std::int64_t rung, const std::vector<Accuracies>& runs) {
    std::vector<std::string> reasons(runs.size());
    if (runs.empty()) return reasons;
    std::vector<double> means;
    std::transform(runs.begin(), runs.end(), std::back_inserter(means), mean_of);
    const double median = median_of(means);
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (best_of(runs[i]) < median)
            reasons[i] =
                fmt::format("best accuracy {:.4f} below the median {:.4f} after round {}", best_of(runs[i]), median, rung);
    return reasons;
}

}  // namespace

std::optional<std::int64_t> next_rung(const EarlyStoppingConfig& config, std::int64_t decided, std::int64_t most_rounds) {
    if (config.rule == "none") return std::nullopt;
    FEDHIVE_CHECK(config.first_round >= 1 && config.factor >= 2, "rungs do not grow from {} by {}", config.first_round,
                  config.factor);
    std::int64_t rung = config.first_round;
    while (rung <= decided && rung < most_rounds) rung *= config.factor;
    return rung < most_rounds ? std::optional(rung) : std::nullopt;
}

std::vector<std::string> stopped_at(const EarlyStoppingConfig& config, std::int64_t rung, const std::vector<Accuracies>& runs) {
    return config.rule == "halving" ? stopped_by_rank(config.factor, rung, runs) : stopped_by_median(rung, runs);
}

}  // namespace fedhive::sim
