// Fairness: the model's quality on each client's held-out examples, and statistics over clients.
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
    double quality = 0.0;        // the task's main metric; an accuracy as a fraction
    double counted = 0.0;        // examples minus the share of ignored targets; above 0
};

/// Results of the evaluated clients, ascending by id: of the global model, and, if configured, of each client's own.
struct ClientsTest {
    std::vector<ClientQuality> global;
    std::vector<ClientQuality> personalized;
};

/// kFairnessDeciles are the deciles that kFairnessPercentiles lacks; they have columns of their own.
inline constexpr std::array<int, 5> kFairnessPercentiles{10, 25, 50, 75, 90};
inline constexpr std::array<int, 6> kFairnessDeciles{20, 30, 40, 60, 70, 80};

/// Statistics of the main metric (accuracies as fractions). Clients have equal weights, except in the *_by_examples fields.
struct Fairness {
    std::uint64_t clients = 0;
    std::uint64_t examples = 0;
    double mean = 0.0;
    double std = 0.0;  // population standard deviation (divides by the number of clients)
    std::array<double, kFairnessPercentiles.size()> percentiles{};  // linear between two clients
    double worst_10 = 0.0;                                          // mean of the ceil(clients / 10) with the worst values
    double best_10 = 0.0;                                           // mean of as many with the best
    double gini = 0.0;              // mean difference of two clients / (2 mean); 0 if all are equal or the mean is 0
    double mean_by_examples = 0.0;  // clients weighted by `counted`, as in loss_by_examples
    double loss_mean = 0.0;
    double loss_by_examples = 0.0;
    std::array<double, kFairnessDeciles.size()> deciles{};  // as the percentiles
};

/// Shapes   at least one client.
/// Order    sums go over the clients in the given order, or by rising values: the same clients give the same bits.
/// Source   Li et al. 2020, "Fair Resource Allocation in Federated Learning" (arXiv:1905.10497): mean, variance, worst and best
///          10 %. Gini 1912 for his coefficient.
/// Differs  the standard deviation, which has the metric's unit, instead of the variance.
Fairness fairness_of(std::span<const ClientQuality> clients, bool higher_is_better = true);

}  // namespace fedhive::sim
