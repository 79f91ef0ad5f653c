#include "clients/worker/supervised_step.h"

#include <algorithm>
#include <utility>

namespace fedhive::clients {

SupervisedStep::SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process)
    : WrappedStep(step), supervision_(self, std::move(stopping), own_process) {}

void SupervisedStep::expect(const InjectedFault& fault) { expect({&fault, 1}, 0, {}); }

void SupervisedStep::expect(std::span<const InjectedFault> faults, std::size_t blamed_row, RowListener at_row) {
    faults_.assign(faults.begin(), faults.end());
    blamed_row_ = blamed_row;
    at_row_ = std::move(at_row);
}

void SupervisedStep::begin(const ClientStart& start) {
    supervision_.beat();
    inner().begin(start);
}

void SupervisedStep::compute_gradients(std::span<const RowBatch> batches) {
    inner().compute_gradients(batches);
    supervision_.beat();
    for (std::size_t row = 0; row < faults_.size(); ++row) {
        if (faults_[row].kind == FaultKind::None || faults_[row].at_update != 0) continue;
        if (at_row_) at_row_(row);
        fire(row);
        if (at_row_) at_row_(blamed_row_);
    }
    supervision_.throw_if_stopping();
}

/// As one, unless something is to happen between the halves.
void SupervisedStep::step_rows(std::span<const RowBatch> batches) {
    if (std::ranges::any_of(faults_, [](const InjectedFault& fault) { return fault.kind != FaultKind::None; }))
        return TrainingStep::step_rows(batches);
    inner().step_rows(batches);
    supervision_.beat();
    supervision_.throw_if_stopping();
}

void SupervisedStep::update_written(std::size_t row) {
    supervision_.beat();
    if (row < faults_.size() && faults_[row].at_update != 0) fire(row);
}

/// At the row's gradient, of which a NaN becomes one of its parameters. Asking for it may bring it into one piece, which no step without a fault
/// should pay for.
void SupervisedStep::fire(std::size_t row) {
    const InjectedFault fault = std::exchange(faults_[row], {});
    if (fault.kind == FaultKind::None) return;
    bool fired = false;
    inner().for_each_piece([&](const GradientPiece& piece) {
        if (!std::exchange(fired, true)) supervision_.fire(fault, piece.gradients.row(row));
    });
}

}  // namespace fedhive::clients
