// How evenly a model serves the clients: its quality on what each of them has held out, and what these numbers come to.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::sim {

/// One model on the held-out examples of one client.
struct ClientQuality {
    std::uint32_t client_id = 0;
    std::uint64_t examples = 0;  // at least one
    double loss = 0.0;           // mean per example
    double quality = 0.0;        // by the task's main metric: an accuracy as a fraction
    double counted = 0.0;        // examples, less what their ignored targets come to; above 0
};

/// Of the clients that are evaluated, ascending: the global model, and, where that is asked for, each client's own.
struct ClientsTest {
    std::vector<ClientQuality> global;
    std::vector<ClientQuality> personalized;
};

/// The second list has the deciles that the first one lacks, in columns of their own.
inline constexpr std::array<int, 5> kFairnessPercentiles{10, 25, 50, 75, 90};
inline constexpr std::array<int, 6> kFairnessDeciles{20, 30, 40, 60, 70, 80};

/// Of accuracies, as fractions, or of another main metric. Clients count alike, whatever they hold; but where it says so, examples do.
struct Fairness {
    std::uint64_t clients = 0;
    std::uint64_t examples = 0;
    double mean = 0.0;
    double std = 0.0;  // of these clients, which are all there are: their squares are divided by their number
    std::array<double, kFairnessPercentiles.size()> percentiles{};  // between two clients in proportion
    double worst_10 = 0.0;                                          // mean of the ceil(clients / 10) with the worst values
    double best_10 = 0.0;                                           // and of as many with the best
    double gini = 0.0;              // mean difference of two clients over twice the mean: 0 all alike; 0 where the mean is 0
    double mean_by_examples = 0.0;  // by counted ones, as the next but one
    double loss_mean = 0.0;
    double loss_by_examples = 0.0;
    std::array<double, kFairnessDeciles.size()> deciles{};  // as the percentiles
};

/// Shapes   at least one client.
/// Order    sums go over the clients as they are given, or by rising values: the same clients give the same bits.
/// Source   Li et al. 2020, "Fair Resource Allocation in Federated Learning" (arXiv:1905.10497): mean, variance, worst and best 10 %.
///          Gini 1912 for his coefficient.
/// Differs  the standard deviation, which has the metric's unit, and not its square.
Fairness fairness_of(std::span<const ClientQuality> clients, bool higher_is_better = true);

}  // namespace fedhive::sim
