// The steps of server optimisers by name, for models without buffers and memories.
#pragma once

#include "aggregation/formulas/formula_server.h"
#include "aggregation/server/catalog.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fedhive::aggregation::testing {

/// size: the number of parameters, in one tensor.
inline formulas::ServerScene scene_of(std::size_t size) {
    Layout layout;
    layout.add("weight", {static_cast<std::int64_t>(size)});
    return {.layout = layout, .memories = {}, .num_clients = 1};
}

/// `formulas` on a server that gets no numbers of a cohort.
inline std::unique_ptr<ServerOptimizer> server_by(const formulas::MethodFormulas& method, const formulas::ServerScene& scene) {
    return make_formula_server(method, scene, std::make_shared<formulas::CohortNumbers>());
}

inline std::unique_ptr<ServerOptimizer> server_optimizer(const std::string& name, const Values& values,
                                                         const formulas::ServerScene& scene) {
    const ServerOptimizerSpec& spec = server_optimizer_spec(name);
    return server_by(server_formulas({}, spec, completed(values, spec.keys)), scene);
}

/// w + u.
inline std::unique_ptr<ServerOptimizer> plain_server(std::size_t size) { return server_optimizer("sgd", {}, scene_of(size)); }

}  // namespace fedhive::aggregation::testing
