// What one replica does in one round when all of them train one model together and average their gradients in every step: what PyTorch's
// DistributedDataParallel does. Who sums the gradients, and how, is the caller's.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/data/distributed_sampler.h"
#include "clients/protocol/task.h"
#include "clients/training/local_training.h"
#include "clients/training/training_step.h"

#include <cstdint>
#include <functional>

namespace fedhive::clients {

/// Replaces a rank's gradient by the sum over all ranks, the same bits on each. Every rank calls it once a step, and all wait for all.
using SumOverRanks = std::function<void(aggregation::ParamSpan gradient)>;

/// Goes plan.local_epochs times through the rank's share of the training examples (distributed_sampler.h), with one optimiser step for every
/// plan.batch_size of its examples and as many of each other rank's, and writes the model. Ranks take as many steps as each other, with
/// batches of the same sizes; they begin alike and follow the same gradients, so their models have the same bits after every step.
///
/// Shapes   global, model: [P], not the same memory; velocity: [trainable], empty without momentum. In the step's memory space.
/// Memory   velocity is the momentum to begin with, 0 in the first round, and holds the last one afterwards: the run has one optimiser.
/// Order    gradient = f32(sum over ranks * (1 / size)); examples are keyed by (seed, epoch), dropout by (seed, round, rank).
/// Source   Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (arXiv:2006.15704), section 3.
/// Differs  one sum over the flat gradient after the backward pass, not one a bucket during it; buffers stay each rank's own.
/// Returns  the rank's loss, over its own examples; norm and hash of model - global, the same on every rank.
ClientResult train_replica(TrainingStep& step, const SumOverRanks& sum_over_ranks, const LocalTraining& plan,
                           std::uint32_t round, const Rank& rank, std::size_t num_examples, aggregation::ConstParamSpan global,
                           aggregation::ParamSpan model, aggregation::ParamSpan velocity, float lr_factor = 1.0F);

}  // namespace fedhive::clients
