#include "clients/visit/local_step.h"

#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::ParamBuffer;

namespace {

void scale_row(TrainingStep& step, std::size_t row, double factor) {
    step.for_each_piece([&](const GradientPiece& piece) {
        const aggregation::ParamSpan its = piece.gradients.row(row);
        aggregation::scale(its, its, factor);
    });
}

}  // namespace

LocalStep::LocalStep(TrainingStep& engine, double clip_norm) : WrappedStep(engine), limit_(clip_norm) {}

void LocalStep::begin(const ClientStart& start) {
    whole_ = start.whole_gradients;
    for (const auto& rule : rules_) rule->begin(start);
    inner().begin(start);
}

void LocalStep::compute_gradients(std::span<const RowBatch> batches) {
    inner().compute_gradients(batches);
    for (const auto& rule : rules_)
        if (rule->acts()) rule->change(inner(), batches);
    if (limits()) limit_.change(inner(), batches);
}

void LocalStep::apply_gradients() {
    inner().apply_gradients();
    for (const auto& rule : rules_)
        if (rule->acts()) rule->applied(inner());
}

void LocalStep::step_rows(std::span<const RowBatch> batches) {
    acting_.clear();
    for (const auto& rule : rules_)
        if (rule->acts()) acting_.push_back(rule.get());
    if (limits() || !std::ranges::all_of(acting_, [](const GradientRule* rule) { return rule->acts_on_elements(); }))
        return TrainingStep::step_rows(batches);
    if (acting_.empty()) return inner().step_rows(batches);
    for (GradientRule* rule : acting_) rule->begin_step();
    inner().step_changed(batches, [&](const GradientPiece& piece) {
        for (GradientRule* rule : acting_) rule->change_piece(piece);
    });
    for (GradientRule* rule : acting_) rule->applied(inner());
}

/// The row's gradient as one vector: the engine's own if it has one row, else a copy.
aggregation::ParamSpan GradientLimit::in_one_piece(TrainingStep& step, std::size_t row) {
    if (OneRow* const only = step.one_row()) return only->gradient();
    if (one_piece_.span().size == 0) one_piece_ = ParamBuffer(step.parameters().size, step.parameters().space);
    step.for_each_piece([&](const GradientPiece& piece) {
        aggregation::copy(one_piece_.span().part(piece.first, piece.gradients.width), piece.gradients.row(row));
    });
    return one_piece_;
}

void GradientLimit::change(TrainingStep& step, std::span<const RowBatch> batches) {
    for (std::size_t row = 0; row < batches.size(); ++row) {
        if (batches[row].examples.empty()) continue;
        const aggregation::ParamSpan gradient = in_one_piece(step, row);
        if (zeros_.span().size == 0) zeros_ = ParamBuffer(gradient.size, gradient.space);
        const double norm = aggregation::write_update(gradient, gradient, zeros_).norm;
        if (norm > most_) scale_row(step, row, most_ / norm);
    }
}

}  // namespace fedhive::clients
