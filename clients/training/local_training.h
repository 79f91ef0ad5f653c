// THE CLIENT'S SCREEN: what a client does in one round, alone or in a row beside others. It knows the training step only by its interface.
#pragma once

#include "aggregation/base/random.h"
#include "aggregation/math/element_ops.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/ignored.h"
#include "clients/protocol/task.h"
#include "clients/training/training_step.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// The part of the experiment that is the same for all clients and rounds.
struct LocalTraining {
    std::uint64_t seed = 1;
    std::uint64_t local_epochs = 1;  // E
    std::uint64_t batch_size = 32;   // B
    double max_update_norm = 0.0;    // a larger update counts as a failure; 0: any finite one is accepted
    std::uint64_t local_steps = 0;   // of every client, however many examples it has, in place of E passes; 0: E passes
    CountedTargets counted{};        // of the training examples, in the process that trains: it says so itself

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
    double examples = 0.0;  // seen, as far as their targets count; written by the host
};

/// Of so many examples seen; 0 where no target of theirs counts.
constexpr double mean_loss_of(double loss_sum, double examples) { return examples > 0.0 ? loss_sum / examples : 0.0; }

/// One of the clients trained at once.
struct RowClient {
    std::uint32_t client_id = 0;
    std::span<const std::uint32_t> shard;  // indices of its training examples, at least one
    ClientFigures* figures = nullptr;      // written: what comes of its training, and of its update
};

/// For each row, the place of its client among those given. Who has the most steps comes first, equal ones in the order given: who has none
/// left is then in the last rows, which a step leaves out.
std::vector<std::size_t> places_of_rows(const LocalTraining& plan, std::span<const RowClient> clients);

/// Trains the clients, each on its shard, a step of each of them in every turn: step.parameters_of(k) is client k's local model then, whose update,
/// and figures.update with it, the caller writes or adds to a sum. Nothing waits for a device: results have steps, the time of gathering and the
/// start of all; finish() and deal_out_time() add the rest.
///
/// Shapes   clients: from one to step.num_rows(); results: one each; global: [P], in the step's memory space.
/// Order    every random draw is keyed by (seed, purpose, round, client_id): same bits in any worker, at any time. Of many clients, dropout follows
///          the first, and last bits may differ from those of a client alone.
/// Source   McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, ClientUpdate.
void enqueue_clients(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                     std::span<const RowClient> clients, aggregation::ConstParamSpan global, std::span<ClientResult> results);

/// mean = the gradient over all of a client's examples at the global model, with whatever the step's rules make of a gradient, and never clipped:
/// one pass in batches, each weighed by its size, as far as its targets count; step.parameters() is the global model afterwards.
///
/// Shapes   shard: at least one; global: [P], in the step's memory space; mean: [trainable].
/// Order    the shard's; dropout by (seed, round, client_id), apart from that of the local steps.
void mean_gradient(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                   std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                   aggregation::ParamSpan mean);

/// Finite, norm, hash.
void tell_update(ClientResult& result, const aggregation::UpdateSummary& update);

/// The result with its figures, once they are there.
void finish(ClientResult& result, const ClientFigures& figures);

/// The time from the first one's start to now, and that of writing updates, are dealt out by the clients' steps, one after the other.
void deal_out_time(std::span<ClientResult> results, double update_s = 0.0);

/// All of it for one client, with update = local - global and the wait.
ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update);

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
