#include "clients/data/partitions/shares.h"

#include "aggregation/base/error.h"
#include "clients/data/partitions/dealing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace fedhive::clients {

namespace {

/// Logarithm of a Gamma(alpha, 1) draw. For small alpha the draw would underflow to 0; its logarithm does not.
/// Source: Marsaglia and Tsang 2000, doi:10.1145/358407.358414, with their boost from alpha + 1 for alpha < 1.
double log_gamma_draw(double alpha, Stream& stream) {
    if (alpha < 1.0) {
        const double boosted = log_gamma_draw(alpha + 1.0, stream);
        // The bound keeps the quotient finite for any alpha > 0.
        return boosted + std::log(1.0 - stream.uniform()) / std::max(alpha, 1e-300);
    }
    const double d = alpha - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
        const double x = stream.normal();
        const double root = 1.0 + c * x;
        if (root <= 0.0) continue;
        const double log_v = 3.0 * std::log(root);
        if (std::log(1.0 - stream.uniform()) < 0.5 * x * x + d * (1.0 - root * root * root + log_v)) return std::log(d) + log_v;
    }
}

/// Clients below the minimum take examples, one at a time, from the client that is largest at that moment (ties: lower client).
/// Terminates: while one client is below the minimum, another is above it.
void raise_sizes(std::vector<std::size_t>& sizes, std::size_t min_examples) {
    const auto smaller = [&](std::size_t a, std::size_t b) { return sizes[a] != sizes[b] ? sizes[a] < sizes[b] : a > b; };
    // The queue holds only donors, and a donor's size changes only while it is out of the queue.
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(smaller)> donors(smaller);
    for (std::size_t client = 0; client < sizes.size(); ++client)
        if (sizes[client] > min_examples) donors.push(client);
    for (std::size_t& size : sizes) {
        for (; size < min_examples; ++size) {
            const std::size_t largest = donors.top();
            donors.pop();
            --sizes[largest];
            donors.push(largest);
        }
    }
}

}  // namespace

std::vector<double> dirichlet_draw(std::size_t clients, double alpha, Stream& stream) {
    std::vector<double> proportions(clients);
    for (double& value : proportions) value = log_gamma_draw(alpha, stream);
    const double largest = *std::max_element(proportions.begin(), proportions.end());
    double sum = 0.0;
    for (double& value : proportions) sum += value = std::exp(value - largest);
    for (double& value : proportions) value /= sum;
    return proportions;
}

std::vector<std::size_t> largest_remainder(std::span<const double> shares, std::size_t total) {
    std::vector<std::size_t> counts(shares.size());
    std::vector<double> remainders(shares.size());
    std::size_t left = total;
    for (std::size_t client = 0; client < counts.size(); ++client) {
        const double exact = shares[client] * static_cast<double>(total);
        counts[client] = std::min(static_cast<std::size_t>(exact), left);
        remainders[client] = exact - std::floor(exact);
        left -= counts[client];
    }
    std::vector<std::uint32_t> order = all_indices(counts.size());
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return remainders[a] > remainders[b]; });
    for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++counts[order[i]];
    return counts;
}

Partition deal_by_weights(const Deal& deal, std::vector<double> weights, std::size_t min_examples) {
    const std::size_t examples = deal.examples;
    check_enough_examples(examples, deal.clients);
    check_enough_examples(examples, deal.clients, min_examples);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    std::vector<std::size_t> sizes = largest_remainder(weights, examples);
    raise_sizes(sizes, min_examples);

    Partition partition{all_indices(examples), std::vector<std::uint64_t>(deal.clients + 1)};
    Stream stream(deal.seed, Purpose::Partition, kDeal);
    shuffle(std::span(partition.indices), stream);
    std::partial_sum(sizes.begin(), sizes.end(), partition.offsets.begin() + 1);
    return partition;
}

}  // namespace fedhive::clients
