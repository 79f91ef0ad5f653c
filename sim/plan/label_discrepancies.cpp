#include "sim/plan/label_discrepancies.h"

#include "clients/data/partition.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numeric>

namespace fedhive::sim {

namespace {

double discrepancy(const std::vector<std::uint64_t>& counts) {
    const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (total == 0) return 0.0;
    double squared = 0.0;
    for (const std::uint64_t count : counts) {
        const double off = static_cast<double>(count) / static_cast<double>(total) - 1.0 / static_cast<double>(counts.size());
        squared += off * off;
    }
    return std::sqrt(squared);
}

}  // namespace

std::vector<double> label_discrepancies(const LoadedConfig& loaded, const clients::SharedDataset& dataset) {
    const clients::DatasetMap& map = dataset.map();
    const std::string& rule = loaded.run.strategy.parts.aggregator.name;
    if (map.target.kind != clients::TargetKind::Class)
        throw loaded.source->error("strategy.name",
                                   fmt::format("aggregator '{}' weighs clients by their class labels, but a target here is {}; "
                                               "choose another strategy, or data with one class for each example",
                                               rule, clients::text_of(map.target.kind)));
    std::vector<double> discrepancies;
    for (std::size_t client = 0; client < map.num_clients; ++client)
        discrepancies.push_back(discrepancy(clients::label_counts(dataset.shard(client), dataset.train(), map.num_classes)));
    return discrepancies;
}

}  // namespace fedhive::sim
