// Optimisers of clients for their local steps. OptimizerSpec describes one by name and keys, in a file of its own; to add one,
// write its file, add its line to client_optimizer.cpp and its options to OptimizerOptions. ClientOptimizer takes the steps;
// every training step owns one.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace fedhive::aggregation {

/// Which optimiser, and its constants: plain data that workers read from shared memory.
using OptimizerOptions = std::variant<SgdOptions, AdamOptions, AdagradOptions>;
static_assert(std::is_trivially_copyable_v<OptimizerOptions>);

struct OptimizerSpec {
    std::string name;
    std::string summary;  // what it does: half a line
    std::vector<KeySpec> keys;
    bool sgd_steps =
        false;  // build() returns SgdOptions; fused kernels and tasks without a ClientOptimizer can take such steps, too
    /// Finds conflicts between values that are each valid; null: there can be none.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// `values` must have all keys.
    OptimizerOptions (*build)(const Values& values) = nullptr;
};

/// All optimisers of clients, in the order of configs/REFERENCE.md.
const std::vector<OptimizerSpec>& optimizer_catalog();

/// The name must exist.
const OptimizerSpec& optimizer_spec(const std::string& name);

/// Names of the optimisers with sgd_steps.
std::vector<std::string> optimizers_with_sgd_steps();

/// Number of vectors, each as long as the parameters, that the optimiser keeps across steps:
/// plain SGD 0, with momentum 1, Adam 2.
std::size_t num_state_vectors(const OptimizerOptions& options);

/// The client rate.
inline double client_rate(const OptimizerOptions& options) {
    return std::visit([](const auto& one) { return static_cast<double>(one.lr); }, options);
}

/// `options` with its rate multiplied by `factor`.
template <typename Options>
Options at_rate(Options options, float factor) {
    options.lr *= factor;
    return options;
}

/// A client's optimiser on flat parameters, which it steps as a whole or part by part.
class ClientOptimizer {
public:
    /// Memory: num_state_vectors() of `size` floats, in the parameters' space.
    ClientOptimizer(const OptimizerOptions& options, std::size_t size, MemorySpace space);

    /// [num_state_vectors()][size], contiguous; empty if the optimiser keeps no state.
    ParamSpan state() { return state_; }

    /// To be called before a client's first step: sets the state to 0, or to `state` (as long as state()), and the rate to
    /// lr_factor * options.lr.
    void begin(ConstParamSpan state = {}, float lr_factor = 1.0F);

    /// To be called before each local step. Between two calls, step() must cover each parameter once.
    void begin_step() { ++steps_; }

    /// The client's SGD constants if the optimiser keeps no state, else null. Code that computes a gradient may then take the
    /// step in the same pass, element by element like element::sgd.
    const SgdOptions* plain_sgd() const;

    /// Steps the parameters [first, first + parameters.size) of the model.
    void step(ParamSpan parameters, ConstParamSpan gradient, std::size_t first = 0);

private:
    OptimizerOptions options_;
    OptimizerOptions now_;  // with the client's rate
    std::size_t size_;
    ParamBuffer state_;
    std::uint64_t steps_ = 0;  // since begin()
};

}  // namespace fedhive::aggregation
