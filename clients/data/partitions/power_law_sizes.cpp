// Sizes proportional to rank^-exponent; ranks are drawn.
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/shares.h"

#include <cmath>
#include <numeric>
#include <span>

namespace fedhive::clients {

PartitionScheme power_law_sizes() {
    return {.name = "power_law_sizes",
            .summary = "sizes proportional to rank^-exponent, equal label proportions",
            .keys = {{.name = "exponent",
                      .default_value = 1.0,
                      .range = between(0, 10),
                      .doc = "With 1 the largest of N clients has N times as many examples as the smallest; 0 is equal sizes."},
                     min_examples_key()},
            .deal = [](const Deal& deal, const Values& values) {
                check_enough_examples(deal.examples, deal.clients);
                std::vector<double> weights(deal.clients);
                std::iota(weights.begin(), weights.end(), 1.0);
                Stream stream(deal.seed, Purpose::Partition, kSizes);
                shuffle(std::span(weights), stream);  // now the ranks, in random order
                for (double& weight : weights) weight = std::pow(weight, -values.number("exponent"));
                return deal_by_weights(deal, std::move(weights), static_cast<std::size_t>(values.integer("min_examples")));
            }};
}

}  // namespace fedhive::clients
