// The work of one replica in a round of mode gradient_averaging: all replicas (ranks) train one model together and average their gradients in
// each step, like PyTorch's DistributedDataParallel. The caller provides the sum over ranks.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/data/distributed_sampler.h"
#include "clients/engine/training_step.h"
#include "clients/protocol/task.h"
#include "clients/visit/local_training.h"

#include <cstdint>
#include <functional>

namespace fedhive::clients {

/// Replaces a rank's gradient by the sum over all ranks, with the same bits on each. Every rank
/// calls it once per step and waits for all.
using SumOverRanks = std::function<void(aggregation::ParamSpan gradient)>;

/// Makes plan.local_epochs passes over the rank's share of the training examples (distributed_sampler.h) and writes the model.
/// Each optimiser step uses plan.batch_size examples of every rank. All ranks take the same number of steps with the same batch
/// sizes, start from the same model and use the same gradients, so that their models have the same bits after every step.
///
/// Shapes   step: of one row; global, model: two spans of the model's floats; velocity: [trainable], empty without momentum. All in the step's
///          memory space.
/// Memory   velocity: on entry the initial momentum, 0 in the first round; on return the final one, for the next round.
/// Order    gradient = f32(sum over ranks * (1 / size)); examples are keyed by (seed, epoch), dropout by (seed, round, rank).
/// Source   Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel
///          Training" (arXiv:2006.15704), section 3.
/// Differs  one sum over the flat gradient after the backward pass, not one per bucket during it; each rank keeps its own buffers.
/// Returns  the rank's loss over its own examples; norm and hash of model - global, the same on every rank.
ClientResult train_replica(TrainingStep& step, const SumOverRanks& sum_over_ranks, const LocalTraining& plan,
                           std::uint32_t round, const Rank& rank, std::size_t num_examples, aggregation::ConstParamSpan global,
                           aggregation::ParamSpan model, aggregation::ParamSpan velocity, float lr_factor = 1.0F);

}  // namespace fedhive::clients
