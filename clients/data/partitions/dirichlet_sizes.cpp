// Quantity skew of Q. Li et al. 2022, "Federated Learning on Non-IID Data Silos: An Experimental Study" (arXiv:2102.02079):
// q ~ Dir(beta); client j gets the share q_j of all examples.
//
// Differs   clients below min_examples are filled up from the largest ones; the sizes are not drawn again.
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/shares.h"

namespace fedhive::clients {

PartitionScheme dirichlet_sizes() {
    return {.name = "dirichlet_sizes",
            .summary = "sizes drawn from a Dirichlet distribution, equal label proportions (arXiv:2102.02079)",
            .keys = {{.name = "alpha",
                      .default_value = 0.5,
                      .range = between(0.001, 1e6),
                      .doc = "Concentration of the sizes, dimensionless, typically 0.1 (skewed) to 100 (nearly equal) (β)."},
                     min_examples_key()},
            .deal = [](const Deal& deal, const Values& values) {
                check_enough_examples(deal.examples, deal.clients);
                Stream stream(deal.seed, Purpose::Partition, kSizes);
                return deal_by_weights(deal, dirichlet_draw(deal.clients, values.number("alpha"), stream),
                                       static_cast<std::size_t>(values.integer("min_examples")));
            }};
}

}  // namespace fedhive::clients
