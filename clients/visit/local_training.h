// A client's work in one round: local training of one client, or of several at once, each a row of the training step (training_step.h). It
// uses the training step through its interface only. P: floats of the model.
#pragma once

#include "aggregation/base/clock.h"
#include "aggregation/base/divide_up.h"
#include "aggregation/base/random.h"
#include "aggregation/math/element_ops.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/ignored.h"
#include "clients/engine/training_step.h"
#include "clients/protocol/task.h"

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
    std::uint64_t local_steps = 0;   // steps of each client, whatever its number of examples; 0: E passes
    bool takes_next = false;         // each batch comes with the next one (RowBatch::next)
    CountedTargets counted{};        // of the training examples; set by the process that trains

    std::uint64_t steps_of_epoch(std::uint64_t num_examples) const { return divide_up(num_examples, batch_size); }

    /// local_steps, or E * ceil(n_k / B) if that is 0, for a client with n_k = num_examples.
    std::uint64_t steps_of(std::uint64_t num_examples) const {
        return local_steps > 0 ? local_steps : local_epochs * steps_of_epoch(num_examples);
    }

    /// Examples in all of these steps, counted as often as they are used.
    std::uint64_t examples_of(std::uint64_t num_examples) const {
        const std::uint64_t steps = steps_of(num_examples), epoch = steps_of_epoch(num_examples);
        return steps / epoch * num_examples + steps % epoch * batch_size;
    }

    /// This plan with new random draws, for a client that was sent `repeat` times before in this round.
    LocalTraining of_repeat(std::uint32_t repeat) const {
        LocalTraining again = *this;
        again.seed = seed_of_repeat(seed, repeat);
        return again;
    }
};

/// A client's results that a device may still be computing when all work is enqueued. For a device they are stored in memory
/// that it can write (aggregation/memory/pinned_array.h), and may be read after aggregation::synchronize().
struct ClientFigures {
    aggregation::element::ChunkSummary update;
    double loss_sum = 0.0;
    double examples = 0.0;  // examples used, by their counted targets; written by the host
};

/// loss_sum / examples; 0 if no target counts.
constexpr double mean_loss_of(double loss_sum, double examples) { return examples > 0.0 ? loss_sum / examples : 0.0; }

/// One of the clients trained at once.
struct RowClient {
    std::uint32_t client_id = 0;
    std::span<const std::uint32_t> shard;  // indices of its training examples, at least one
    ClientFigures* figures = nullptr;      // output: results of its training and of its update
};

/// For each row, the index of its client in `clients`. Clients with more steps come first, equal ones in the given order. So the clients
/// without steps left are in the last rows, which a step leaves out.
std::vector<std::size_t> places_of_rows(const LocalTraining& plan, std::span<const RowClient> clients);

/// Trains the clients, each on its shard; each step of `step` is one local step of every client. Afterwards step.parameters_of(k) is client
/// k's local model, and the caller writes its update with figures.update, or adds it to a sum. Does not wait for a device: results have
/// steps, gathering time and the common start time; finish() and deal_out_time() add the rest.
///
/// Shapes   clients: 1 to step.num_rows(); results: one for each; global: [P], in the step's memory space.
/// Order    every random draw is keyed by (seed, purpose, round, client_id): same bits in any worker, at any time. With many
///          clients, dropout uses the first one's key, and last bits may differ from those of a client alone.
/// Source   McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, ClientUpdate.
void enqueue_clients(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                     std::span<const RowClient> clients, aggregation::ConstParamSpan global, std::span<ClientResult> results);

/// mean = Σ_b n_b / n · g_b over the batches b of one pass: g_b is the gradient at the global model after the step's rules, never clipped,
/// n_b the number of the batch's examples by their counted targets. step.parameters() is the global model afterwards.
///
/// Shapes   shard: at least one example; global: [P], in the step's memory space; mean: [trainable], or longer, with zeros at the end.
/// Order    the shard's; dropout by (seed, round, client_id), with other draws than the local steps.
void mean_gradient(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                   std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                   aggregation::ParamSpan mean);

/// Copies finite, norm and hash of an update into the result.
void tell_update(ClientResult& result, const aggregation::UpdateSummary& update);

/// Completes the result from the figures, which a device must have computed.
void finish(ClientResult& result, const ClientFigures& figures);

/// Divides the time from the first client's start to end_ns, and update_s, among the clients in proportion to their steps, as if they
/// had run one after the other.
void deal_out_time(std::span<ClientResult> results, double update_s = 0.0, std::int64_t end_ns = now_ns());

/// Trains one client, waits for the device, and writes update = local - global and the complete result.
ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update);

/// Trains client `client_id` on its shard in the model that all workers share (racy_model.h), with the batches and draws of train_client(). The
/// momentum is the worker's own and begins at 0. No update is written: its norm and hash are 0, and the result is finite if the loss is.
/// The objective is the loss alone, since a proximal term needs a model that does not change.
///
/// Shapes   shared: [P], in the step's memory space.
/// Order    none between workers: more than one of them gives other bits each time.
/// Source   Niu et al. 2011 (arXiv:1106.5730), Algorithm 1.
/// Differs  a step uses a batch's gradient and writes every parameter, instead of the few of one example.
ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared, float lr_factor = 1.0F);

}  // namespace fedhive::clients
