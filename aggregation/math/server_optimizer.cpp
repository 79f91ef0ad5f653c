#include "aggregation/math/server_optimizer.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/moments.h"

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

FEDHIVE_CLONES void server_adam(float* __restrict next, const float* global, const float* aggregate, float* __restrict m,
                                float* __restrict v, std::size_t size, const ServerAdamOptions& options) {
    const auto [lr, beta1, beta2, tau] = options;
    for (std::size_t i = 0; i < size; ++i)
        next[i] = element::server_adam(global[i], aggregate[i], m[i], v[i], lr, beta1, beta2, tau);
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

class ServerAdam final : public ServerOptimizer {
public:
    explicit ServerAdam(const ServerAdamOptions& options) : options_(options) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& sum) override {
        const ConstParamSpan aggregate = sum.values;
        check_spans(next, global, aggregate);
        float* m = prepare_moment(first_, global).data;
        float* v = prepare_moment(second_, global, first_v()).data;
        dispatch(
            next.space, [&] { host::server_adam(next.data, global.data, aggregate.data, m, v, next.size, options_); },
            [&] {
                return kernels::server_adam(next.data, global.data, aggregate.data, m, v, next.size, options_.lr,
                                            options_.beta1, options_.beta2, options_.tau);
            });
    }

    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        const ConstParamSpan like{nullptr, num_floats, space};
        return {{"first_moment", prepare_moment(first_, like)}, {"second_moment", prepare_moment(second_, like, first_v())}};
    }

private:
    float first_v() const { return options_.tau * options_.tau; }

    ServerAdamOptions options_;
    ParamBuffer first_;   // of the aggregate (m)
    ParamBuffer second_;  // of its square (v)
};

}  // namespace

std::unique_ptr<ServerOptimizer> make_server_sgd(const ServerSgdOptions& options) {
    return std::make_unique<ServerSgd>(options);
}

std::unique_ptr<ServerOptimizer> make_server_adam(const ServerAdamOptions& options) {
    return std::make_unique<ServerAdam>(options);
}

}  // namespace fedhive::aggregation
