#include "sim/round/fairness.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::sim {

namespace {

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Percentile of sorted values, linear between neighbours: definition 7 of Hyndman and Fan 1996, NumPy's default.
double percentile(std::span<const double> sorted, int percent) {
    const double place = static_cast<double>(percent) / 100.0 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// gini = Σ_i (2 i - n - 1) x_i / (n² m) for sorted x_1 … x_n with mean m; 0 if m is 0.
double gini(std::span<const double> sorted, double mean) {
    if (mean == 0.0) return 0.0;
    const auto count = static_cast<double>(sorted.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < sorted.size(); ++i) sum += (2.0 * static_cast<double>(i + 1) - count - 1.0) * sorted[i];
    return sum / (count * count * mean);
}

}  // namespace

Fairness fairness_of(std::span<const ClientQuality> clients, bool higher_is_better) {
    FEDHIVE_CHECK(!clients.empty(), "there is no client to look at");
    Fairness fairness;
    fairness.clients = clients.size();
    const auto count = static_cast<double>(clients.size());
    std::vector<double> values;
    double counted = 0.0;
    for (const ClientQuality& client : clients) {
        values.push_back(client.quality);
        fairness.examples += client.examples;
        counted += client.counted;
        fairness.mean_by_examples += client.counted * client.quality;
        fairness.loss_by_examples += client.counted * client.loss;
        fairness.loss_mean += client.loss;
    }
    fairness.loss_mean /= count;
    fairness.mean_by_examples /= counted;
    fairness.loss_by_examples /= counted;
    std::sort(values.begin(), values.end());
    fairness.mean = mean_of(values);
    double squares = 0.0;
    for (const double value : values) squares += (value - fairness.mean) * (value - fairness.mean);
    fairness.std = std::sqrt(squares / count);
    for (std::size_t i = 0; i < kFairnessPercentiles.size(); ++i)
        fairness.percentiles[i] = percentile(values, kFairnessPercentiles[i]);
    for (std::size_t i = 0; i < kFairnessDeciles.size(); ++i) fairness.deciles[i] = percentile(values, kFairnessDeciles[i]);
    const std::size_t tenth = (values.size() + 9) / 10;
    const double lowest = mean_of(std::span(values).first(tenth)), highest = mean_of(std::span(values).last(tenth));
    fairness.worst_10 = higher_is_better ? lowest : highest;
    fairness.best_10 = higher_is_better ? highest : lowest;
    fairness.gini = gini(values, fairness.mean);
    return fairness;
}

}  // namespace fedhive::sim
