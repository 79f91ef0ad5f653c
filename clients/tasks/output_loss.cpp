#include "clients/tasks/output_loss.h"

#include "aggregation/formulas/simplified.h"

#include <utility>

namespace fedhive::clients {

using aggregation::formulas::Formulas;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::OtherAnswers;
using aggregation::formulas::Place;

namespace {

Formulas with_keys(const MethodFormulas& method) {
    return aggregation::formulas::simplified(method.parsed(Place::Loss), method.keys);
}

bool reads_of(const Formulas& formulas, const OtherAnswers& other) {
    return formulas.reads(other.name + ".logits") || formulas.reads(other.name + ".z");
}

}  // namespace

LossNeeds loss_needs(const MethodFormulas& method) {
    LossNeeds needs;
    for (const Place place : {Place::Measure, Place::Answer}) {
        if (!method.has(place)) continue;
        const Formulas formulas = method.parsed(place);
        needs.answers = true;
        needs.features = needs.features || formulas.reads("z");
        for (const OtherAnswers& other : method.also_at) needs.features = needs.features || formulas.reads(other.name + ".z");
    }
    for (const aggregation::formulas::MethodMemory& memory : method.memories)
        if (memory.shape == aggregation::MemoryShape::ClassesByFeatures) needs.features = true;
    if (!method.has(Place::Loss)) return needs;
    const Formulas formulas = with_keys(method);
    needs.formula = !is_cross_entropy(formulas);
    needs.features = needs.features || formulas.reads("z");
    for (const OtherAnswers& other : method.also_at) {
        needs.features = needs.features || formulas.reads(other.name + ".z");
        needs.others = needs.others || reads_of(formulas, other);
    }
    return needs;
}

OutputLoss::OutputLoss(Formulas formulas, aggregation::formulas::RowSizes sizes, const std::vector<OtherAnswers>& also_at)
    : sizes_(sizes), rows_(std::move(formulas), sizes) {
    for (const OtherAnswers& other : also_at) {
        const bool logits = rows_.reads(other.name + ".logits"), features = rows_.reads(other.name + ".z");
        if (!logits && !features) continue;
        rows_.add_other(other.name, others_.size());
        others_.push_back({.at = other.at, .logits = logits, .features = features});
    }
}

std::unique_ptr<OutputLoss> OutputLoss::of(const MethodFormulas& method, std::size_t classes, std::size_t features) {
    if (!method.has(Place::Loss)) return nullptr;
    Formulas formulas = with_keys(method);
    if (is_cross_entropy(formulas)) return nullptr;
    return std::unique_ptr<OutputLoss>(new OutputLoss(std::move(formulas), {classes, features}, method.also_at));
}

}  // namespace fedhive::clients
