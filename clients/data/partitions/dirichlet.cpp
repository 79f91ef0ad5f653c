#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/partitions/shares.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace fedhive::clients {

namespace {

constexpr std::uint32_t kRepair = 1;  // the stream, beside kDeal

using Shards = std::vector<std::vector<std::uint32_t>>;

/// Clients below the minimum take random examples, one at a time, from the client that is largest at that moment (ties: lower
/// id). Terminates: while one client is below the minimum, another is above it.
void raise_to_minimum(Shards& shards, std::size_t min_examples, std::uint64_t seed) {
    Stream stream(seed, Purpose::Partition, kRepair);
    const auto smaller = [&](std::uint32_t a, std::uint32_t b) {
        return shards[a].size() != shards[b].size() ? shards[a].size() < shards[b].size() : a > b;
    };
    // The queue holds only donors, and a donor's size changes only while it is out of the queue. Its top is above the minimum.
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(smaller)> donors(smaller);
    for (std::uint32_t client = 0; client < shards.size(); ++client)
        if (shards[client].size() > min_examples) donors.push(client);
    for (auto& taker : shards) {
        while (taker.size() < min_examples) {
            const std::uint32_t largest = donors.top();
            donors.pop();
            auto& donor = shards[largest];
            const auto taken = donor.begin() + static_cast<std::ptrdiff_t>(stream.below(donor.size()));
            taker.push_back(*taken);
            *taken = donor.back();
            donor.pop_back();
            donors.push(largest);
        }
    }
}

}  // namespace

Partition partition_dirichlet(std::span<const std::int32_t> labels, std::int64_t num_classes, std::size_t clients, double alpha,
                              std::size_t min_examples, std::uint64_t seed) {
    check_enough_examples(labels.size(), clients, min_examples);
    if (!(alpha > 0.0) || !std::isfinite(alpha)) throw ConfigError(fmt::format("alpha {} is not above 0 and finite", alpha));
    std::vector<std::vector<std::uint32_t>> by_label(static_cast<std::size_t>(num_classes));
    for (std::size_t i = 0; i < labels.size(); ++i)
        by_label.at(static_cast<std::size_t>(labels[i])).push_back(static_cast<std::uint32_t>(i));

    Shards shards(clients);
    for (std::size_t label = 0; label < by_label.size(); ++label) {
        Stream stream(seed, Purpose::Partition, kDeal, static_cast<std::uint32_t>(label));
        auto& examples = by_label[label];
        const auto counts = largest_remainder(dirichlet_draw(clients, alpha, stream), examples.size());
        shuffle(std::span(examples), stream);
        auto next = examples.begin();
        for (std::size_t client = 0; client < clients; ++client) {
            const auto end = next + static_cast<std::ptrdiff_t>(counts[client]);
            shards[client].insert(shards[client].end(), next, end);
            next = end;
        }
    }
    raise_to_minimum(shards, min_examples, seed);
    return joined(shards);
}

PartitionScheme dirichlet() {
    return {
        .name = "dirichlet",
        .summary = "skewed labels and sizes (arXiv:1909.06335)",
        .keys = {{.name = "alpha",
                  .default_value = 0.5,
                  .range = between(0.001, 1e6),
                  .doc =
                      "Concentration of the label proportions, dimensionless, typically 0.1 (skewed) to 100 (nearly iid) (α)."},
                 min_examples_key()},
        .by_label = true,
        .deal = [](const Deal& deal, const Values& values) {
            return partition_dirichlet(deal.labels, deal.num_classes, deal.clients, values.number("alpha"),
                                       static_cast<std::size_t>(values.integer("min_examples")), deal.seed);
        }};
}

}  // namespace fedhive::clients
