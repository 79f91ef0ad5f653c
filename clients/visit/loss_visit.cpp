#include "clients/visit/loss_visit.h"

namespace fedhive::clients {

void begin_loss(OutputLoss& loss, const FormulaVisit& visit, const VisitFacts& facts, const ExamplesView& examples,
                std::span<const std::uint32_t> shard) {
    loss.set("round", static_cast<double>(facts.round));
    loss.set("n", static_cast<double>(facts.num_examples));
    loss.set("lr", facts.lr);
    if (loss.reads("counts")) {
        std::vector<float> counts(loss.classes(), 0.0F);
        for (const std::uint32_t example : shard)
            if (const std::int32_t label = examples.labels[example]; label != kIgnored)
                counts[static_cast<std::size_t>(label)] += 1.0F;
        loss.set_counts(counts);
    }
    for (OutputLoss::Other& other : loss.others()) other.model = visit.values_of(other.at);
    loss.start();
}

}  // namespace fedhive::clients
