// FedAvg's server, and with momentum FedAvgM's: T.-M. H. Hsu, H. Qi, M. Brown 2019, "Measuring the Effects of Non-Identical
// Data Distribution for Federated Visual Classification", arXiv:1909.06335.
#include "aggregation/math/dispatch.h"
#include "aggregation/math/moments.h"
#include "aggregation/math/server_optimizer.h"

namespace fedhive::aggregation {

namespace {

namespace host {

FEDHIVE_CLONES void server_sgd(float* __restrict next, const float* global, const float* aggregate, std::size_t size,
                               float lr) {
    for (std::size_t i = 0; i < size; ++i) next[i] = element::server_sgd(global[i], aggregate[i], lr);
}

FEDHIVE_CLONES void server_momentum(float* __restrict next, const float* global, const float* aggregate,
                                    float* __restrict velocity, std::size_t size, const ServerSgdOptions& options) {
    const auto [lr, momentum] = options;
    for (std::size_t i = 0; i < size; ++i)
        next[i] = element::server_momentum(global[i], aggregate[i], velocity[i], lr, momentum);
}

}  // namespace host

class ServerSgd final : public ServerOptimizer {
public:
    explicit ServerSgd(const ServerSgdOptions& options) : options_(options) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& sum) override {
        const ConstParamSpan aggregate = sum.values;
        check_spans(next, global, aggregate);
        if (options_.momentum == 0.0F) {
            dispatch(
                next.space, [&] { host::server_sgd(next.data, global.data, aggregate.data, next.size, options_.lr); },
                [&] { return kernels::server_sgd(next.data, global.data, aggregate.data, next.size, options_.lr); });
            return;
        }
        float* velocity = prepare_moment(velocity_, global).data;
        dispatch(
            next.space, [&] { host::server_momentum(next.data, global.data, aggregate.data, velocity, next.size, options_); },
            [&] {
                return kernels::server_momentum(next.data, global.data, aggregate.data, velocity, next.size, options_.lr,
                                                options_.momentum);
            });
    }

    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        if (options_.momentum == 0.0F) return {};
        return {{"velocity", prepare_moment(velocity_, {nullptr, num_floats, space})}};
    }

private:
    ServerSgdOptions options_;
    ParamBuffer velocity_;
};

}  // namespace

std::unique_ptr<ServerOptimizer> make_server_sgd(const ServerSgdOptions& options) {
    return std::make_unique<ServerSgd>(options);
}

ServerOptimizerSpec server_sgd() {
    return {
        .name = "sgd",
        .summary = "adds the combined update times a rate",
        .replaceable = true,
        .keys = {averaging_rate()},
        .build = [](const Values& values) { return make_server_sgd({.lr = static_cast<float>(values.number("server_lr"))}); }};
}

ServerOptimizerSpec server_momentum() {
    return {.name = "momentum",
            .summary = "momentum: adds a share of the last server step (arXiv:1909.06335)",
            .keys = {averaging_rate(),
                     {.name = "server_momentum",
                      .default_value = 0.9,
                      .range = fraction_below_one(),
                      .doc = "Fraction of the last server step that is added (β), typically 0.9; 0 is FedAvg; 0.97 and more "
                             "only with small client rates."}},
            .build = [](const Values& values) {
                return make_server_sgd({.lr = static_cast<float>(values.number("server_lr")),
                                        .momentum = static_cast<float>(values.number("server_momentum"))});
            }};
}

}  // namespace fedhive::aggregation
