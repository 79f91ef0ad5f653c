// Replicas of a model in one process, for tests: each rank is a thread with its own model and step.
#pragma once

#include "aggregation/math/mean.h"
#include "aggregation/math/vector_ops.h"
#include "clients/engine/libtorch_step.h"
#include "clients/trainers/engine.h"
#include "clients/visit/replica_training.h"

#include <barrier>
#include <thread>

namespace fedhive::testing {

/// Inputs that all ranks share.
struct SharedTask {
    clients::ModelSpec spec;
    clients::ExamplesView train;
    clients::Normalization normalization;
    aggregation::SgdOptions optimizer;
    clients::LocalTraining plan;
};

/// A model and its step.
struct Replica {
    explicit Replica(const SharedTask& task)
        : model(task.spec, aggregation::MemorySpace::Host), step(model, task.train, task.normalization, task.optimizer) {}

    clients::FlatModel model;
    clients::LibtorchStep step;
};

/// State of a rank after a round.
struct ReplicaState {
    std::vector<float> model;     // [P]
    std::vector<float> velocity;  // [trainable], or empty
    clients::ClientResult result{};
};

inline ReplicaState first_state(const SharedTask& task, const aggregation::Layout& layout) {
    ReplicaState state;
    state.model.resize(layout.num_floats());
    clients::initial_parameters(task.spec, layout, 3, state.model);
    if (task.optimizer.momentum > 0.0F) state.velocity.resize(layout.num_trainable());
    return state;
}

/// One round of train_replica on each rank; gradients are summed over the tree of aggregation/math/mean.h.
inline std::vector<ReplicaState> train_ranks(const SharedTask& task, std::uint32_t round,
                                             const std::vector<ReplicaState>& from) {
    const auto size = static_cast<std::uint32_t>(from.size());
    const std::size_t num_floats = clients::model_layout(task.spec).num_trainable();
    aggregation::SlotSum sum(num_floats, aggregation::MemorySpace::Host);
    std::vector<aggregation::ParamSpan> gradients(size);
    std::vector<float> total(num_floats);
    std::barrier all_are_here(size, [&]() noexcept {
        sum.zero_init();
        for (const aggregation::ParamSpan& gradient : gradients) sum.add(gradient, 1.0);
        sum.finish(total);
    });
    std::vector<ReplicaState> to = from;
    {
        std::vector<std::jthread> ranks;
        for (std::uint32_t rank = 0; rank < size; ++rank)
            ranks.emplace_back([&, rank] {
                Replica replica(task);
                const auto sum_over_ranks = [&](aggregation::ParamSpan gradient) {
                    gradients[rank] = gradient;
                    all_are_here.arrive_and_wait();
                    aggregation::copy(gradient, total);
                };
                to[rank].result =
                    clients::train_replica(replica.step, sum_over_ranks, task.plan, round, {rank, size}, task.train.size(),
                                           from[rank].model, to[rank].model, to[rank].velocity);
            });
    }
    return to;
}

}  // namespace fedhive::testing
