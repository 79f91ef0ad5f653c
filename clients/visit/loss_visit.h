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

/// Call it when `visit` has begun. examples: of training, in host memory; shard: the client's among them.
void begin_loss(OutputLoss& loss, const FormulaVisit& visit, const VisitFacts& facts, const ExamplesView& examples,
                std::span<const std::uint32_t> shard);

/// Tells the loss the number of each local step, if it reads `step`. Call it once a step, after FormulaVisit::add_to(): a second gradient
/// belongs to the same step.
void tell_steps(LocalStep& step, OutputLoss& loss);

}  // namespace fedhive::clients
