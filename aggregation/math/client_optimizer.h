// What a client takes its local steps with. By name: each optimiser lies in a file of its own, with its keys; to add one, write its file, add
// its line to client_optimizer.cpp and its options to OptimizerOptions. And at work: ClientOptimizer, which every training step has one of.
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

/// Which rule, with its constants: plain data, which workers read from shared memory.
using OptimizerOptions = std::variant<SgdOptions, AdamOptions, AdagradOptions>;
static_assert(std::is_trivially_copyable_v<OptimizerOptions>);

struct OptimizerSpec {
    std::string name;
    std::string summary;  // what it does: half a line
    std::vector<KeySpec> keys;
    bool sgd_steps = false;  // build() gives SgdOptions, with which others than a ClientOptimizer can step, too
    /// Of values that are right each by itself; null: nothing can be wrong.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// `values`: of all its keys.
    OptimizerOptions (*build)(const Values& values) = nullptr;
};

/// All optimisers of clients, in the order of REFERENCE.md.
const std::vector<OptimizerSpec>& optimizer_catalog();

/// The name must exist.
const OptimizerSpec& optimizer_spec(const std::string& name);

/// Names of those with sgd_steps.
std::vector<std::string> optimizers_with_sgd_steps();

/// Vectors as long as the parameters that it keeps from step to step: 0 for plain SGD, 1 with momentum, 2 for Adam.
std::size_t num_state_vectors(const OptimizerOptions& options);

/// With `factor` of the rate.
template <typename Options>
Options at_rate(Options options, float factor) {
    options.lr *= factor;
    return options;
}

/// A client's optimiser at work on flat parameters, whole or part by part.
class ClientOptimizer {
public:
    /// Memory: num_state_vectors() of `size` floats, in the parameters' space.
    ClientOptimizer(const OptimizerOptions& options, std::size_t size, MemorySpace space);

    /// [vectors][size], one after the other; empty where there is none.
    ParamSpan state() { return state_; }

    /// As before a client's first step: the state 0, or the one that is given, as long as state(). The rate is `lr_factor` of the options'.
    void begin(ConstParamSpan state = {}, float lr_factor = 1.0F);

    /// Every parameter is stepped once between one call and the next.
    void begin_step() { ++steps_; }

    /// The client's constants where nothing is kept from step to step, so that whoever makes a gradient may take the step in the same pass,
    /// element by element as element::sgd does; else null.
    const SgdOptions* plain_sgd() const;

    /// One step of the parameters [first, first + parameters.size) of all.
    void step(ParamSpan parameters, ConstParamSpan gradient, std::size_t first = 0);

private:
    OptimizerOptions options_;
    OptimizerOptions now_;  // with the client's rate
    std::size_t size_;
    ParamBuffer state_;
    std::uint64_t steps_ = 0;  // since begin()
};

}  // namespace fedhive::aggregation
