#include "clients/training/supervised_step.h"

#include <utility>

namespace fedhive::clients {

SupervisedStep::SupervisedStep(TrainingStep& step, WorkerCell& self, std::function<bool()> stopping, bool own_process)
    : WrappedStep(step), supervision_(self, std::move(stopping), own_process) {}

void SupervisedStep::expect(const InjectedFault& fault) { fault_ = fault; }

void SupervisedStep::begin(const ClientStart& start) {
    supervision_.beat();
    inner().begin(start);
}

void SupervisedStep::compute_gradient(std::span<const std::uint32_t> batch) {
    inner().compute_gradient(batch);
    supervision_.beat();
    if (fault_.at_update == 0) fire();
    supervision_.throw_if_stopping();
}

/// As one, unless something is to happen between the halves.
void SupervisedStep::step(std::span<const std::uint32_t> batch) {
    if (fault_.kind != FaultKind::None) return TrainingStep::step(batch);
    inner().step(batch);
    supervision_.beat();
    supervision_.throw_if_stopping();
}

void SupervisedStep::update_written() {
    supervision_.beat();
    if (fault_.at_update != 0) fire();
}

/// Asking for the gradient brings it into one piece, which no step without a fault should pay for.
void SupervisedStep::fire() {
    if (fault_.kind != FaultKind::None) supervision_.fire(std::exchange(fault_, {}), inner().gradient());
}

}  // namespace fedhive::clients
