#include "clients/visit/row_others.h"

namespace fedhive::clients {

using aggregation::formulas::OtherAnswers;
using aggregation::formulas::RowAnswers;

RowOthers::RowOthers(aggregation::formulas::RowLoss& rows, const std::vector<OtherAnswers>& also_at) {
    for (const OtherAnswers& other : also_at) {
        const bool features = rows.reads(other.name + ".z");
        if (!features && !rows.reads(other.name + ".logits")) continue;
        rows.add_other(other.name, list_.size());
        list_.push_back({.at = other.at, .answers = {.wants_features = features}});
    }
}

std::span<const RowAnswers> RowOthers::answers(Evaluation& evaluation, const ModelAt& model_at, const ExamplesView& from,
                                               std::span<const std::uint32_t> examples) {
    given_.clear();
    for (Other& other : list_) {
        evaluation.begin(model_at(other.at));
        evaluation.answer(from, examples, other.answers);
        given_.push_back({other.answers.logits.data(), other.answers.wants_features ? other.answers.features.data() : nullptr});
    }
    return given_;
}

}  // namespace fedhive::clients
