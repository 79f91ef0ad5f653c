#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

// Each is defined in the file of its name.
OptimizerSpec sgd();
OptimizerSpec adam();
OptimizerSpec adamw();
OptimizerSpec adagrad();

namespace {

/// The parts of the state's vectors that belong to the parameters of a step.
struct StatePart {
    ParamSpan whole;
    std::size_t size = 0;   // of each vector
    std::size_t first = 0;  // begin of the part, in floats
    std::size_t count = 0;  // floats of the part

    ParamSpan operator[](std::size_t vector) const { return {whole.data + vector * size + first, count, whole.space}; }
};

void take_step(ParamSpan parameters, ConstParamSpan gradient, const StatePart& state, const SgdOptions& options,
               std::uint64_t) {
    sgd_step(parameters, gradient, options.momentum > 0.0F ? state[0] : ParamSpan(), options);
}

void take_step(ParamSpan parameters, ConstParamSpan gradient, const StatePart& state, const AdamOptions& options,
               std::uint64_t step) {
    adam_step(parameters, gradient, state[0], state[1], options, step);
}

void take_step(ParamSpan parameters, ConstParamSpan gradient, const StatePart& state, const AdagradOptions& options,
               std::uint64_t) {
    adagrad_step(parameters, gradient, state[0], options);
}

std::size_t vectors_of(const SgdOptions& options) { return options.momentum > 0.0F ? 1 : 0; }
std::size_t vectors_of(const AdamOptions&) { return 2; }
std::size_t vectors_of(const AdagradOptions&) { return 1; }

}  // namespace

const std::vector<OptimizerSpec>& optimizer_catalog() {
    static const std::vector<OptimizerSpec> catalog = {sgd(), adam(), adamw(), adagrad()};
    return catalog;
}

const OptimizerSpec& optimizer_spec(const std::string& name) { return entry_of(optimizer_catalog(), name, "optimizer"); }

std::vector<std::string> optimizers_with_sgd_steps() {
    std::vector<std::string> names;
    for (const OptimizerSpec& spec : optimizer_catalog())
        if (spec.sgd_steps) names.push_back(spec.name);
    return names;
}

std::size_t num_state_vectors(const OptimizerOptions& options) {
    return std::visit([](const auto& rule) { return vectors_of(rule); }, options);
}

ClientOptimizer::ClientOptimizer(const OptimizerOptions& options, std::size_t size, MemorySpace space)
    : options_(options), now_(options), size_(size) {
    if (const std::size_t vectors = num_state_vectors(options); vectors > 0) state_ = ParamBuffer(vectors * size, space);
}

void ClientOptimizer::begin(ConstParamSpan state, float lr_factor) {
    now_ = std::visit([&](const auto& rule) { return OptimizerOptions(at_rate(rule, lr_factor)); }, options_);
    steps_ = 0;
    if (state.size > 0)
        copy(state_, state);
    else if (state_.span().size > 0)
        set_zero(state_);
}

const SgdOptions* ClientOptimizer::plain_sgd() const {
    const auto* rule = std::get_if<SgdOptions>(&now_);
    return rule != nullptr && rule->momentum == 0.0F ? rule : nullptr;
}

void ClientOptimizer::step(ParamSpan parameters, ConstParamSpan gradient, std::size_t first) {
    FEDHIVE_CHECK(steps_ > 0 && first + parameters.size <= size_, "a step of {} parameters from {} on, of {}, in step {}",
                  parameters.size, first, size_, steps_);
    const StatePart state{state_, size_, first, parameters.size};
    std::visit([&](const auto& rule) { take_step(parameters, gradient, state, rule, steps_); }, now_);
}

}  // namespace fedhive::aggregation
