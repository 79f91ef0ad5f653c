#include "sim/plan/evaluated_clients.h"

#include "aggregation/base/random.h"
#include "clients/data/ignored.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

std::vector<std::uint32_t> evaluated_clients(const LoadedConfig& loaded, const clients::SharedDataset& dataset) {
    const ClientsEvaluationConfig& config = loaded.run.evaluation.clients;
    std::vector<std::uint32_t> clients;
    if (!config.every) return clients;
    const auto counted = clients::CountedTargets::of(dataset.train());
    std::uint32_t with_none_counted = 0;
    for (std::uint32_t client = 0; client < dataset.map().num_clients; ++client) {
        if (dataset.held_out(client).empty()) continue;
        if (counted.examples_in(dataset.held_out(client)) > 0.0)
            clients.push_back(client);
        else
            ++with_none_counted;
    }
    if (clients.empty())
        throw loaded.source->error("evaluation.clients.every",
                                   with_none_counted > 0
                                       ? fmt::format("all held-out targets of the {} clients are {}, which marks ignored "
                                                     "targets; use fewer clients or a larger data.partition.holdout",
                                                     with_none_counted, clients::kIgnored)
                                       : "no client holds out an example, because each client has only one, which is used for "
                                         "training; use fewer clients or more data");
    if (!config.sample || static_cast<std::size_t>(*config.sample) >= clients.size()) return clients;
    Stream stream(loaded.run.all_seeds().sampling, Purpose::EvaluatedClients);
    shuffle(std::span(clients), stream);
    clients.resize(static_cast<std::size_t>(*config.sample));
    std::sort(clients.begin(), clients.end());
    return clients;
}

}  // namespace fedhive::sim
