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

/// Of sorted values, linear between two of them: the definition 7 of Hyndman and Fan 1996, NumPy's default.
double percentile(std::span<const double> sorted, int percent) {
    const double place = static_cast<double>(percent) / 100.0 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Of n sorted values x_1 to x_n with mean m: sum over i of (2 i - n - 1) x_i, over n^2 m.
double gini(std::span<const double> sorted, double mean) {
    if (mean == 0.0) return 0.0;
    const auto count = static_cast<double>(sorted.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < sorted.size(); ++i) sum += (2.0 * static_cast<double>(i + 1) - count - 1.0) * sorted[i];
    return sum / (count * count * mean);
}

}  // namespace

Fairness fairness_of(std::span<const ClientQuality> clients) {
    FEDHIVE_CHECK(!clients.empty(), "there is no client to look at");
    Fairness fairness;
    fairness.clients = clients.size();
    const auto count = static_cast<double>(clients.size());
    std::vector<double> accuracies;
    for (const ClientQuality& client : clients) {
        const auto examples = static_cast<double>(client.examples);
        accuracies.push_back(client.accuracy);
        fairness.examples += client.examples;
        fairness.mean_by_examples += examples * client.accuracy;
        fairness.loss_by_examples += examples * client.loss;
        fairness.loss_mean += client.loss;
    }
    fairness.loss_mean /= count;
    fairness.mean_by_examples /= static_cast<double>(fairness.examples);
    fairness.loss_by_examples /= static_cast<double>(fairness.examples);
    std::sort(accuracies.begin(), accuracies.end());
    fairness.mean = mean_of(accuracies);
    double squares = 0.0;
    for (const double accuracy : accuracies) squares += (accuracy - fairness.mean) * (accuracy - fairness.mean);
    fairness.std = std::sqrt(squares / count);
    for (std::size_t i = 0; i < kFairnessPercentiles.size(); ++i)
        fairness.percentiles[i] = percentile(accuracies, kFairnessPercentiles[i]);
    const std::size_t tenth = (accuracies.size() + 9) / 10;
    fairness.worst_10 = mean_of(std::span(accuracies).first(tenth));
    fairness.best_10 = mean_of(std::span(accuracies).last(tenth));
    fairness.gini = gini(accuracies, fairness.mean);
    return fairness;
}

}  // namespace fedhive::sim
