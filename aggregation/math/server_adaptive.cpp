// Servers with a rate for each coordinate: S. J. Reddi et al. 2021, "Adaptive Federated
// Optimization", arXiv:2003.00295, Algorithm 2.
#include "aggregation/math/dispatch.h"
#include "aggregation/math/moments.h"
#include "aggregation/math/server_optimizer.h"

namespace fedhive::aggregation {

namespace {

namespace host {

[[gnu::always_inline]] inline void server_adaptive(SecondMoment second, float* __restrict next, const float* global,
                                                   const float* aggregate, float* __restrict m, float* __restrict v,
                                                   std::size_t size, const ServerAdaptiveOptions& options) {
    const float lr = options.lr, beta1 = options.beta1, beta2 = options.beta2, tau = options.tau;
    for (std::size_t i = 0; i < size; ++i)
        next[i] = element::server_adaptive(global[i], aggregate[i], m[i], v[i], lr, beta1, beta2, tau, second);
}

// One loop for each second moment, so that the choice is not made for each element.
FEDHIVE_CLONES void server_adagrad(float* __restrict next, const float* global, const float* aggregate, float* __restrict m,
                                   float* __restrict v, std::size_t size, const ServerAdaptiveOptions& options) {
    server_adaptive(SecondMoment::Sum, next, global, aggregate, m, v, size, options);
}

FEDHIVE_CLONES void server_adam(float* __restrict next, const float* global, const float* aggregate, float* __restrict m,
                                float* __restrict v, std::size_t size, const ServerAdaptiveOptions& options) {
    server_adaptive(SecondMoment::Average, next, global, aggregate, m, v, size, options);
}

FEDHIVE_CLONES void server_yogi(float* __restrict next, const float* global, const float* aggregate, float* __restrict m,
                                float* __restrict v, std::size_t size, const ServerAdaptiveOptions& options) {
    server_adaptive(SecondMoment::Sign, next, global, aggregate, m, v, size, options);
}

}  // namespace host

class ServerAdaptive final : public ServerOptimizer {
public:
    explicit ServerAdaptive(const ServerAdaptiveOptions& options) : options_(options) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& sum) override {
        const ConstParamSpan aggregate = sum.values;
        check_spans(next, global, aggregate);
        float* m = prepare_moment(first_, global).data;
        float* v = prepare_moment(second_, global, first_v()).data;
        const auto loop = options_.second_moment == SecondMoment::Sum       ? host::server_adagrad
                          : options_.second_moment == SecondMoment::Average ? host::server_adam
                                                                            : host::server_yogi;
        dispatch(
            next.space, [&] { loop(next.data, global.data, aggregate.data, m, v, next.size, options_); },
            [&] {
                return kernels::server_adaptive(options_.second_moment, next.data, global.data, aggregate.data, m, v, next.size,
                                                options_.lr, options_.beta1, options_.beta2, options_.tau);
            });
    }

    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        const ConstParamSpan like{nullptr, num_floats, space};
        return {{"first_moment", prepare_moment(first_, like)}, {"second_moment", prepare_moment(second_, like, first_v())}};
    }

private:
    float first_v() const { return options_.tau * options_.tau; }

    ServerAdaptiveOptions options_;
    ParamBuffer first_;   // first moment (m)
    ParamBuffer second_;  // second moment (v)
};

std::vector<KeySpec> adaptive_keys(double beta1) {
    return {{.name = "server_lr",
             .default_value = 0.01,
             .range = above(0),
             .doc = "Server rate per round (η), typically 0.001–0.1; the 1 of FedAvg is far too large here."},
            {.name = "beta1",
             .default_value = beta1,
             .range = fraction_below_one(),
             .doc = beta1 == 0.0 ? "Decay of the first moment; 0 in the source for Adagrad (β₁)."
                                 : "Decay of the first moment, typically 0.9 (β₁)."},
            {.name = "tau",
             .default_value = 0.001,
             .range = above(0),
             .doc = "Degree of adaptivity (τ), in units of an update, typically 0.001. With a smaller value, coordinates with "
                    "small updates take steps as large as the others."}};
}

std::vector<KeySpec> with_second_decay(std::vector<KeySpec> keys) {
    keys.insert(keys.begin() + 2, {.name = "beta2",
                                   .default_value = 0.99,
                                   .range = fraction_below_one(),
                                   .doc = "Decay of the second moment, typically 0.99 (β₂)."});
    return keys;
}

template <SecondMoment Second>
std::unique_ptr<ServerOptimizer> build(const Values& values) {
    return make_server_adaptive({.lr = static_cast<float>(values.number("server_lr")),
                                 .beta1 = static_cast<float>(values.number("beta1")),
                                 .beta2 = static_cast<float>(values.number_or("beta2", 0.0)),
                                 .tau = static_cast<float>(values.number("tau")),
                                 .second_moment = Second});
}

}  // namespace

std::unique_ptr<ServerOptimizer> make_server_adaptive(const ServerAdaptiveOptions& options) {
    return std::make_unique<ServerAdaptive>(options);
}

ServerOptimizerSpec server_adagrad() {
    return {.name = "adagrad",
            .summary = "Adagrad: a decreasing rate for each coordinate (arXiv:2003.00295)",
            .adaptive = true,
            .keys = adaptive_keys(0.0),
            .build = build<SecondMoment::Sum>};
}

ServerOptimizerSpec server_adam() {
    return {.name = "adam",
            .summary = "Adam without bias correction (arXiv:2003.00295)",
            .adaptive = true,
            .keys = with_second_decay(adaptive_keys(0.9)),
            .build = build<SecondMoment::Average>};
}

ServerOptimizerSpec server_yogi() {
    return {.name = "yogi",
            .summary = "Yogi: Adam with an additive change of the second moment (arXiv:2003.00295)",
            .adaptive = true,
            .keys = with_second_decay(adaptive_keys(0.9)),
            .build = build<SecondMoment::Sign>};
}

}  // namespace fedhive::aggregation
