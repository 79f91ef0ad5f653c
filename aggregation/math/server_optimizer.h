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

/// A vector that a rule remembers from one step to the next.
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

    /// next = global + step(aggregate). Moments are allocated, with their first values, at the first call. All spans [P] in one space; `next` is not
    /// `global`. Throws ShapeError.
    virtual void step(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) = 0;

    /// All that the rule remembers: a checkpoint reads it, a resumed run writes it. With its first values where there was no step yet; empty
    /// for a rule without memory. Throws ShapeError when there was one, over spans of another size or space.
    virtual std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) = 0;
};

struct ServerSgdOptions {
    float lr = 1.0F;        // server rate (eta_g), > 0; 1 is plain federated averaging
    float momentum = 0.0F;  // in [0, 1); FedAvgM (Hsu et al. 2019, arXiv:1909.06335) uses 0.9
};

/// v = momentum * v + aggregate;  next = global + lr * v. With momentum 0 and lr 1 exactly next = global + aggregate.
std::unique_ptr<ServerOptimizer> make_server_sgd(const ServerSgdOptions& options);

struct ServerAdaptiveOptions {
    float lr = 0.01F;     // server rate (eta), > 0
    float beta1 = 0.9F;   // in [0, 1)
    float beta2 = 0.99F;  // in [0, 1); Sum has none
    float tau = 0.001F;   // degree of adaptivity, > 0
    SecondMoment second_moment = SecondMoment::Average;
};

/// m = beta1*m + (1-beta1)*aggregate;  v by `second_moment`;  next = global + lr * m / (sqrt(v) + tau).
/// Before the first step m = 0 and v = tau^2, the least that the source allows: no element takes a first step that only its sign decides.
/// Source: Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2; no bias correction, as there.
std::unique_ptr<ServerOptimizer> make_server_adaptive(const ServerAdaptiveOptions& options);

/// A server optimiser by its name, and what it asks of those who use it.
struct ServerOptimizerSpec {
    std::string name;
    std::string summary;       // what it does, and its source: half a line
    bool replaceable = false;  // plain averaging: a mode may put its own in its place
    bool adaptive = false;     // its rate is the length of a step of its own; else 1 takes what the rule gives as it is
    std::vector<KeySpec> keys{};
    /// `values`: of all its keys.
    std::unique_ptr<ServerOptimizer> (*build)(const Values& values) = nullptr;
};

/// All that a config can name, in the order of REFERENCE.md.
const std::vector<ServerOptimizerSpec>& server_optimizer_catalog();

/// The name must exist.
const ServerOptimizerSpec& server_optimizer_spec(const std::string& name);

/// server_lr where the server adds what the rule gives: 1 is plain averaging.
KeySpec averaging_rate();

}  // namespace fedhive::aggregation
