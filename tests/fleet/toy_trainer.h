// A trainer without learning, for tests of the fleet with real worker processes: every step adds 1 to every parameter, so sums
// are exact. Environment variables, which workers inherit, select faults and the client that has them.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/host_arena.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/trainers/trainer.h"

#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

namespace fedhive::testing {

inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

class ToyStep final : public clients::OneRowStep<> {
public:
    explicit ToyStep(std::size_t num_floats)
        : local_(num_floats, aggregation::MemorySpace::Host), gradient_(num_floats, aggregation::MemorySpace::Host) {}

    aggregation::ParamSpan parameters_of(std::size_t) override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const clients::ClientStart& start) override {
        aggregation::copy(local_, start.global);
        loss_ = 0.0;
    }
    void compute_gradients(std::span<const clients::RowBatch> batches) override {
        const std::span<const std::uint32_t> batch = clients::only_batch(batches).examples;
        // Contiguous shards of ten: the first example's index gives the client.
        const bool chosen = std::to_string(batch.front() / 10) == environment("TOY_CLIENT");
        const std::string fault = chosen ? environment("TOY_FAULT") : "";
        if (fault == "throw") throw Fault("the toy broke");
        if (fault == "device") throw DeviceFault("the toy lost its device");
        while (fault == "hang") std::this_thread::sleep_for(std::chrono::seconds(1));
        for (float& value : gradient_.span().host()) value = fault == "nan" ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
        loss_ += static_cast<double>(batch.size());
    }
    void apply_gradients() override { aggregation::add(local_, gradient_); }
    double loss_of(std::size_t) override { return loss_; }

private:
    aggregation::ParamBuffer local_;
    aggregation::ParamBuffer gradient_;
    double loss_ = 0.0;
};

/// Loss: the first parameter times the number of examples; correct: the index of the first example.
class ToyEvaluation final : public clients::Evaluation {
public:
    void begin(aggregation::ConstParamSpan model) override { model_ = model; }
    void evaluate(const clients::ExamplesView&, std::span<const std::uint32_t> indices,
                  clients::EvaluationSums& sums) override {
        if (environment("TOY_FAULT") == "evaluate") throw Fault("the toy cannot be evaluated");
        sums.add_loss(static_cast<double>(model_.data[0]) * static_cast<double>(indices.size()));
        for (std::uint32_t i = 0; i < indices.front(); ++i) sums.add(clients::TargetOutcome{});
    }

private:
    aggregation::ConstParamSpan model_;
};

class ToyTrainer final : public clients::Trainer {
public:
    explicit ToyTrainer(std::size_t num_floats) : step_(num_floats) {}
    clients::TrainingStep& step() override { return step_; }
    clients::Evaluation& evaluation() override { return evaluation_; }

private:
    ToyStep step_;
    ToyEvaluation evaluation_;
};

/// A plan for one local epoch with seed 1 over that arena and data.
inline clients::WorkerPlan toy_plan(const aggregation::HostArena& arena, const clients::SharedDataset& dataset,
                                    std::uint64_t batch_size) {
    clients::WorkerPlan plan;
    plan.training = {1, 1, batch_size};
    plan.arena = arena.geometry();
    plan.arena_descriptor = arena.descriptor();
    plan.data_descriptor = dataset.descriptor();
    plan.data = dataset.map();
    plan.of_candidates.add("sent_loss");
    return plan;
}

inline std::unique_ptr<clients::Trainer> make_toy_trainer(const clients::WorkerPlan& plan, const clients::SharedDataset&,
                                                          aggregation::ConstParamSpan) {
    if (environment("TOY_FAULT") == "start") throw Fault("the toy cannot start");
    return std::make_unique<ToyTrainer>(plan.arena.num_floats);
}

}  // namespace fedhive::testing
