#include "clients/visit/loss_visit.h"

namespace fedhive::clients {

void begin_loss(OutputLoss& loss, const FormulaVisit& visit, const VisitFacts& facts, const ExamplesView& examples,
                std::span<const std::uint32_t> shard) {
    loss.set("round", static_cast<double>(facts.round));
    loss.set("n", static_cast<double>(facts.num_examples));
    loss.set("lr", facts.lr);
    if (loss.reads("counts")) loss.set_counts(counts_by_class(examples, shard, loss.classes()));
    visit.tables().each_read([&](std::string_view name, std::span<const float> values) { loss.set_by_class(name, values); });
    for (OutputLoss::Other& other : loss.others()) other.model = visit.values_of(other.at);
    loss.start();
}

}  // namespace fedhive::clients
