// THE CLIENT'S SCREEN: what one client does in one round. It knows the training step only by its interface.
#pragma once

#include "aggregation/base/random.h"
#include "aggregation/math/element_ops.h"
#include "aggregation/memory/param_span.h"
#include "clients/protocol/task.h"
#include "clients/training/training_step.h"
#include "clients/uploads/upload.h"

#include <cstdint>
#include <span>

namespace fedhive::clients {

/// The part of the experiment that is the same for all clients and rounds.
struct LocalTraining {
    std::uint64_t seed = 1;
    std::uint64_t local_epochs = 1;  // E
    std::uint64_t batch_size = 32;   // B
    double max_update_norm = 0.0;    // a larger update counts as a failure; 0: any finite one is accepted
    std::uint64_t local_steps = 0;   // of every client, however many examples it has, in place of E passes; 0: E passes

    std::uint64_t steps_of_epoch(std::uint64_t num_examples) const { return (num_examples + batch_size - 1) / batch_size; }

    /// Local steps of a client with that many examples: E * ceil(n_k / B), where their number is not given.
    std::uint64_t steps_of(std::uint64_t num_examples) const {
        return local_steps > 0 ? local_steps : local_epochs * steps_of_epoch(num_examples);
    }

    /// Examples in all of these steps, each as often as it is seen.
    std::uint64_t examples_of(std::uint64_t num_examples) const {
        const std::uint64_t steps = steps_of(num_examples), epoch = steps_of_epoch(num_examples);
        return steps / epoch * num_examples + steps % epoch * batch_size;
    }

    /// For a client that has been sent `repeat` times in this round before: it draws anew.
    LocalTraining of_repeat(std::uint32_t repeat) const {
        LocalTraining again = *this;
        again.seed = seed_of_repeat(seed, repeat);
        return again;
    }
};

/// What a device may still be computing when everything of a client is enqueued. On a device it lies in memory that the device can write
/// (aggregation/memory/pinned_array.h), and is read after aggregation::synchronize().
struct ClientFigures {
    aggregation::element::ChunkSummary update;
    double loss_sum = 0.0;
    double examples = 0.0;  // seen, written by the host
};

/// Trains client `client_id` on its shard: step.parameters() is the local model then, whose update, and figures.update with it, the caller
/// writes or adds to a sum. Nothing waits for a device: steps and start of the result are there, finished() adds the rest.
///
/// Shapes   shard: indices of the client's training examples, at least one; global: [P], in the step's memory space.
/// Order    every random draw is keyed by (seed, purpose, round, client_id): same bits in any worker, at any time.
/// Source   McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, ClientUpdate.
ClientResult enqueue_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                            std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                            ClientFigures& figures);

/// mean = the gradient over all of a client's examples at the global model, with the objective and whatever the step adds to a gradient: one
/// pass in batches, each weighed by its size; step.parameters() is the global model afterwards.
///
/// Shapes   as enqueue_client; mean: [trainable].
/// Order    the shard's; dropout by (seed, round, client_id), apart from that of the local steps.
void mean_gradient(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                   std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                   aggregation::ParamSpan mean);

/// The result with its figures, once they are there.
ClientResult finished(ClientResult result, const ClientFigures& figures);

/// All of it, with update = local - global of what leaves by the upload chain, where there is one, and the wait.
ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update, UploadChain* upload = nullptr, const Residual& residual = {});

/// Trains client `client_id` on its shard in the model that all workers share (racy_model.h), with the draws and in the order of
/// train_client; the momentum is the worker's own and begins at 0. No update is written: its norm and hash are 0, and the result is finite
/// when the loss is. The objective is the loss alone: no model stands still for a proximal term to pull towards.
///
/// Shapes   shared: [P], in the step's memory space.
/// Order    none between workers: more than one of them gives other bits each time.
/// Source   Niu et al. 2011 (arXiv:1106.5730), Algorithm 1.
/// Differs  a step follows the gradient of a batch and writes every parameter, not one example's few.
ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared, float lr_factor = 1.0F);

}  // namespace fedhive::clients
