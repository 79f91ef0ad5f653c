#include "clients/training/supervised_batched_step.h"

#include <utility>

namespace fedhive::clients {

void SupervisedBatchedStep::expect(std::vector<InjectedFault> faults, std::size_t blamed_row, RowListener at_row) {
    faults_ = std::move(faults);
    blamed_row_ = blamed_row;
    at_row_ = std::move(at_row);
}

void SupervisedBatchedStep::begin(const BatchedStart& start) {
    supervision_.beat();
    step_.begin(start);
}

void SupervisedBatchedStep::compute_gradients(std::span<const RowBatch> batches) {
    step_.compute_gradients(batches);
    supervision_.beat();
    for (std::size_t row = 0; row < faults_.size(); ++row) {
        if (faults_[row].kind == FaultKind::None || faults_[row].at_update != 0) continue;
        at_row_(row);
        fire(row);
        at_row_(blamed_row_);
    }
    supervision_.throw_if_stopping();
}

void SupervisedBatchedStep::update_written(std::size_t row) {
    supervision_.beat();
    if (faults_[row].at_update != 0) fire(row);
}

/// A NaN among the parameters is one in all that follows from them.
void SupervisedBatchedStep::fire(std::size_t row) { supervision_.fire(std::exchange(faults_[row], {}), step_.parameters(row)); }

}  // namespace fedhive::clients
