// Sizes proportional to exp(sigma * N(0, 1)).
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/shares.h"

#include <cmath>

namespace fedhive::clients {

PartitionScheme lognormal_sizes() {
    return {.name = "lognormal_sizes",
            .summary = "log-normal sizes, equal label proportions",
            .keys = {{.name = "sigma",
                      .default_value = 1.0,
                      .range = between(0, 10),
                      .doc = "Standard deviation of the sizes' logarithm, typically 0.3–2; 0 is equal sizes (σ)."},
                     min_examples_key()},
            .deal = [](const Deal& deal, const Values& values) {
                check_enough_examples(deal.examples, deal.clients);
                Stream stream(deal.seed, Purpose::Partition, kSizes);
                std::vector<double> weights(deal.clients);
                for (double& weight : weights) weight = std::exp(values.number("sigma") * stream.normal());
                return deal_by_weights(deal, std::move(weights), static_cast<std::size_t>(values.integer("min_examples")));
            }};
}

}  // namespace fedhive::clients
