// Sets the inputs of strategy.file's loss for the client that trains next: its examples by class, numbers, and other models.
#pragma once

#include "clients/data/dataset.h"
#include "clients/tasks/output_loss.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_step.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// To be called when `visit` has begun. examples: all training examples, in host memory; shard: indices of the client's.
void begin_loss(OutputLoss& loss, const FormulaVisit& visit, const VisitFacts& facts, const ExamplesView& examples,
                std::span<const std::uint32_t> shard);

/// Makes each local step tell the loss its number, if the formula reads `step`. To be called once for a LocalStep, after
/// FormulaVisit::add_to(), so that a second gradient gets the number of the same step.
void tell_steps(LocalStep& step, OutputLoss& loss);

}  // namespace fedhive::clients
