// Rules that turn an aggregate (a direction of progress, local - global) into the next global model.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/second_moment.h"
#include "aggregation/memory/param_buffer.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// A vector that a rule keeps from one step to the next.
struct Moment {
    const char* name = "";
    ParamSpan values;  // [P]
};

class ServerOptimizer {
public:
    ServerOptimizer() = default;
    ServerOptimizer(const ServerOptimizer&) = delete;
    ServerOptimizer& operator=(const ServerOptimizer&) = delete;
    virtual ~ServerOptimizer() = default;

    /// next = global + step(aggregate). The first call allocates and initialises the moments. All spans are [P] in one memory
    /// space; `next` must not be `global`. Throws ShapeError.
    virtual void step(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) = 0;

    /// The rule's moments: a checkpoint reads them, a resumed run writes them. Before the first step they have their initial
    /// values; empty for a rule without moments. Throws ShapeError if an earlier step had spans of another size or space.
    virtual std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) = 0;
};

struct ServerSgdOptions {
    float lr = 1.0F;        // server rate (eta_g), > 0; 1 is plain federated averaging
    float momentum = 0.0F;  // in [0, 1); FedAvgM (Hsu et al. 2019, arXiv:1909.06335) uses 0.9
};

/// v = momentum * v + aggregate;  next = global + lr * v. With momentum 0 and lr 1, next = global + aggregate exactly.
std::unique_ptr<ServerOptimizer> make_server_sgd(const ServerSgdOptions& options);

struct ServerAdaptiveOptions {
    float lr = 0.01F;     // server rate (eta), > 0
    float beta1 = 0.9F;   // in [0, 1)
    float beta2 = 0.99F;  // in [0, 1); Sum has none
    float tau = 0.001F;   // degree of adaptivity, > 0
    SecondMoment second_moment = SecondMoment::Average;
};

/// m = beta1*m + (1-beta1)*aggregate;  v by `second_moment`;  next = global + lr * m / (sqrt(v) + tau).
/// Before the first step m = 0 and v = tau^2, the smallest value that the source allows: with v = 0, the sign of an element
/// alone would decide its first step.
/// Source: Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2; no bias correction, as there.
std::unique_ptr<ServerOptimizer> make_server_adaptive(const ServerAdaptiveOptions& options);

/// A server optimiser by its name, and its properties.
struct ServerOptimizerSpec {
    std::string name;
    std::string summary;       // what it does, and its source: half a line
    bool replaceable = false;  // plain averaging, which a mode may replace by its own rule
    bool tree_noise = false;   // the aggregates get the noise of a binary tree, which the server draws
    bool adaptive = false;     // the rate sets the length of its own step; else rate 1 adds the aggregate unchanged
    std::vector<KeySpec> keys{};
    /// `values` must have all keys.
    std::unique_ptr<ServerOptimizer> (*build)(const Values& values) = nullptr;
};

/// All server optimisers that a config can name, in the order of REFERENCE.md.
const std::vector<ServerOptimizerSpec>& server_optimizer_catalog();

/// The name must exist. "formula", which a config cannot name, stands for the server of a method file.
const ServerOptimizerSpec& server_optimizer_spec(const std::string& name);

/// The key server_lr of optimisers that add the aggregate: 1 is plain averaging.
KeySpec averaging_rate();

}  // namespace fedhive::aggregation
