// A local step: an engine's step with the algorithm's gradient rules between gradient and optimiser. Rules work on flat vectors and know no
// layers, so one rule serves each engine, also with several rows (clients trained at once).
#pragma once

#include "aggregation/memory/param_buffer.h"
#include "clients/engine/wrapped_step.h"

#include <memory>
#include <utility>
#include <vector>

namespace fedhive::clients {

class GradientRule {
public:
    GradientRule() = default;
    GradientRule(const GradientRule&) = delete;
    GradientRule& operator=(const GradientRule&) = delete;
    virtual ~GradientRule() = default;

    virtual void begin([[maybe_unused]] const ClientStart& start) {}

    /// Whether the rule changes gradients of the present clients. If no rule does, the engine runs its step in one call.
    virtual bool acts() const = 0;

    /// Changes the gradients of `batches`, which `step` has just computed. It may also change those of a row without a batch, since no step
    /// uses them.
    virtual void change(TrainingStep& step, std::span<const RowBatch> batches) = 0;

    /// Whether change() treats each element by itself. Then begin_step(), and change_piece() for each piece of the gradient, do the same.
    virtual bool acts_on_elements() const { return false; }
    virtual void begin_step() {}
    virtual void change_piece(const GradientPiece&) {}

    /// Called after each optimiser step.
    virtual void applied([[maybe_unused]] TrainingStep& step) {}
};

/// g = g * min(1, most / |g|) for a batch's gradient g after all rules, with the Euclidean norm over all parameters.
///
/// Order    the norm is summed like an update's (vector_ops.h): same bits anywhere.
/// Memory   a vector of zeros as long as a gradient; for an engine with several rows, also a copy of a gradient.
/// Stream   waits for the device in every step.
/// Source   Pascanu et al. 2013 (arXiv:1211.5063), Algorithm 1; torch.nn.utils.clip_grad_norm_, without its 1e-6 beside the norm.
class GradientLimit {
public:
    /// most: the largest norm; 0: no limit.
    explicit GradientLimit(double most) : most_(most) {}

    bool acts() const { return most_ > 0.0; }
    void change(TrainingStep& step, std::span<const RowBatch> batches);

private:
    aggregation::ParamSpan in_one_piece(TrainingStep& step, std::size_t row);

    double most_;
    aggregation::ParamBuffer zeros_;      // as long as a gradient; empty before the first
    aggregation::ParamBuffer one_piece_;  // one row's gradient, for an engine with many rows
};

class LocalStep final : public WrappedStep {
public:
    /// clip_norm limits the gradient after all rules; 0: no limit. A ClientStart with whole_gradients is not limited.
    explicit LocalStep(TrainingStep& engine, double clip_norm = 0.0);

    /// Appends a rule, which acts before the limit.
    template <typename Rule, typename... Arguments>
    Rule& add(Arguments&&... arguments) {
        auto rule = std::make_unique<Rule>(std::forward<Arguments>(arguments)...);
        Rule& added = *rule;
        rules_.push_back(std::move(rule));
        return added;
    }

    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override;
    void step_rows(std::span<const RowBatch> batches) override;

private:
    bool limits() const { return limit_.acts() && !whole_; }

    std::vector<std::unique_ptr<GradientRule>> rules_;
    std::vector<GradientRule*> acting_;  // in the present step
    GradientLimit limit_;
    bool whole_ = false;
};

}  // namespace fedhive::clients
