#include "aggregation/math/vector_ops.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/host_view.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedhive::aggregation {

namespace {

namespace host {

FEDHIVE_CLONES void sgd(float* __restrict parameters, const float* __restrict gradient, std::size_t size, float lr,
                        float weight_decay) {
    for (std::size_t i = 0; i < size; ++i) element::sgd(parameters[i], gradient[i], lr, weight_decay);
}

FEDHIVE_CLONES void sgd_momentum(float* __restrict parameters, const float* __restrict gradient, float* __restrict velocity,
                                 std::size_t size, const SgdOptions& options) {
    const auto [lr, momentum, weight_decay, nesterov] = options;
    for (std::size_t i = 0; i < size; ++i)
        element::sgd_momentum(parameters[i], gradient[i], velocity[i], lr, momentum, weight_decay, nesterov);
}

FEDHIVE_CLONES void adam(float* __restrict parameters, const float* __restrict gradient, float* __restrict m,
                         float* __restrict v, std::size_t size, const element::AdamFactors& factors) {
    const element::AdamFactors kept = factors;
    for (std::size_t i = 0; i < size; ++i) element::adam(parameters[i], gradient[i], m[i], v[i], kept);
}

FEDHIVE_CLONES void adagrad(float* __restrict parameters, const float* __restrict gradient, float* __restrict sum,
                            std::size_t size, const AdagradOptions& options) {
    const auto [lr, weight_decay, epsilon] = options;
    for (std::size_t i = 0; i < size; ++i) element::adagrad(parameters[i], gradient[i], sum[i], lr, weight_decay, epsilon);
}

FEDHIVE_CLONES void scale(float* to, const float* from, std::size_t size, double weight) {
    FEDHIVE_ELEMENTWISE
    for (std::size_t i = 0; i < size; ++i) to[i] = element::weighted(from[i], weight);
}

FEDHIVE_CLONES void add(float* to, const float* from, std::size_t size) {
    FEDHIVE_ELEMENTWISE
    for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

FEDHIVE_CLONES void add_scaled(float* to, const float* from, std::size_t size, double weight) {
    FEDHIVE_ELEMENTWISE
    for (std::size_t i = 0; i < size; ++i) to[i] += element::weighted(from[i], weight);
}

constexpr std::size_t kLanes = element::kLanes;

/// Sums of squares and hashes of a chunk, by lane.
struct ChunkLanes {
    double squares[kLanes] = {};
    std::uint32_t hashes[kLanes] = {};
};

/// One row of a chunk, `width` <= kLanes elements: passes each difference to `deliver` and adds it to `sums`. Several short
/// loops, so that each one vectorises; all values stay in registers.
template <typename Deliver>
inline __attribute__((always_inline)) void add_row(ChunkLanes& __restrict sums, float* __restrict to, const float* local,
                                                   const float* global, std::size_t width, Deliver deliver) {
    float values[kLanes];
    for (std::size_t lane = 0; lane < width; ++lane) values[lane] = local[lane] - global[lane];
    for (std::size_t lane = 0; lane < width; ++lane) deliver(to[lane], values[lane]);
    for (std::size_t lane = 0; lane < width; ++lane) sums.squares[lane] += element::square(values[lane]);
    for (std::size_t lane = 0; lane < width; ++lane) sums.hashes[lane] = element::hashed(sums.hashes[lane], values[lane]);
}

/// Summary of the chunk [first, first + size) of the span, size <= kChunk.
template <typename Deliver>
inline __attribute__((always_inline)) element::ChunkSummary make_chunk(float* to, const float* local, const float* global,
                                                                       std::size_t first, std::size_t size, Deliver deliver) {
    ChunkLanes lanes;
    std::size_t row = first;
    const std::size_t end = first + size;
    for (; row + kLanes <= end; row += kLanes) add_row(lanes, to + row, local + row, global + row, kLanes, deliver);
    add_row(lanes, to + row, local + row, global + row, end - row, deliver);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes.squares[lane] += lanes.squares[lane + half];
    element::ChunkSummary sum;
    sum.squares = lanes.squares[0];
    sum.not_finite = element::not_finite(sum.squares);
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum.hash += element::hash_of_lane(lanes.hashes[lane], first + lane);
    return sum;
}

/// Writes the update chunk by chunk and adds the chunks' sums in that order.
template <typename Deliver>
inline __attribute__((always_inline)) element::ChunkSummary make_update(float* to, const float* local, const float* global,
                                                                        std::size_t size, Deliver deliver) {
    element::ChunkSummary totals;
    for (std::size_t first = 0; first < size; first += element::kChunk)
        element::add_chunk(totals, make_chunk(to, local, global, first, std::min(element::kChunk, size - first), deliver));
    return totals;
}

FEDHIVE_CLONES element::ChunkSummary write_update(float* update, const float* local, const float* global, std::size_t size) {
    return make_update(
        update, local, global, size, [](float& to, float value) __attribute__((always_inline)) { to = value; });
}

FEDHIVE_CLONES element::ChunkSummary scale_update(float* to, const float* local, const float* global, std::size_t size,
                                                  double weight) {
    return make_update(
        to, local, global,
        size, [weight](float& one, float value) __attribute__((always_inline)) { one = element::weighted(value, weight); });
}

FEDHIVE_CLONES element::ChunkSummary add_scaled_update(float* to, const float* local, const float* global, std::size_t size,
                                                       double weight) {
    return make_update(
        to, local, global,
        size, [weight](float& one, float value) __attribute__((always_inline)) { one += element::weighted(value, weight); });
}

}  // namespace host

}  // namespace

void copy(ParamSpan to, ConstParamSpan from) {
    FEDHIVE_CHECK_EQ(to.size, from.size);
    const bool on_host = to.space == MemorySpace::Host && from.space == MemorySpace::Host;
    dispatch(
        on_host ? MemorySpace::Host : MemorySpace::Cuda,
        [&] {
            if (to.size > 0) std::memmove(to.data, from.data, to.size * sizeof(float));
        },
        [&] { return kernels::copy(to.data, from.data, to.size); });
}

void set_zero(ParamSpan to) {
    dispatch(
        to.space, [&] { std::fill_n(to.data, to.size, 0.0F); }, [&] { return kernels::set_zero(to.data, to.size); });
}

void sgd_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan velocity, const SgdOptions& options) {
    require_same(parameters, gradient, "gradient");
    if (options.nesterov && options.momentum == 0.0F) throw Fault("nesterov needs momentum > 0");
    if (options.momentum == 0.0F) {
        FEDHIVE_CHECK_EQ(velocity.size, std::size_t{0});
        dispatch(
            parameters.space,
            [&] { host::sgd(parameters.data, gradient.data, parameters.size, options.lr, options.weight_decay); },
            [&] { return kernels::sgd(parameters.data, gradient.data, parameters.size, options.lr, options.weight_decay); });
        return;
    }
    require_same(parameters, velocity, "velocity");
    dispatch(
        parameters.space, [&] { host::sgd_momentum(parameters.data, gradient.data, velocity.data, parameters.size, options); },
        [&] {
            return kernels::sgd_momentum(parameters.data, gradient.data, velocity.data, parameters.size, options.lr,
                                         options.momentum, options.weight_decay, options.nesterov);
        });
}

void adam_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan m, ParamSpan v, const AdamOptions& options,
               std::uint64_t step) {
    require_same(parameters, gradient, "gradient");
    require_same(parameters, m, "first moment");
    require_same(parameters, v, "second moment");
    FEDHIVE_CHECK(step > 0, "the first step of Adam is step 1");
    const auto times = static_cast<double>(step);
    const double rate = double{options.lr} / (1.0 - std::pow(double{options.beta1}, times));
    const double root = std::sqrt(1.0 - std::pow(double{options.beta2}, times));
    const element::AdamFactors factors{.beta1 = options.beta1,
                                       .beta2 = options.beta2,
                                       .rate = static_cast<float>(rate),
                                       .root = static_cast<float>(root),
                                       .epsilon = options.epsilon,
                                       .weight_decay = options.decoupled ? 0.0F : options.weight_decay,
                                       .kept = options.decoupled ? 1.0F - options.lr * options.weight_decay : 1.0F};
    dispatch(
        parameters.space, [&] { host::adam(parameters.data, gradient.data, m.data, v.data, parameters.size, factors); },
        [&] { return kernels::adam(parameters.data, gradient.data, m.data, v.data, parameters.size, factors); });
}

void adagrad_step(ParamSpan parameters, ConstParamSpan gradient, ParamSpan sum, const AdagradOptions& options) {
    require_same(parameters, gradient, "gradient");
    require_same(parameters, sum, "sum of squares");
    dispatch(
        parameters.space, [&] { host::adagrad(parameters.data, gradient.data, sum.data, parameters.size, options); },
        [&] {
            return kernels::adagrad(parameters.data, gradient.data, sum.data, parameters.size, options.lr, options.weight_decay,
                                    options.epsilon);
        });
}

void write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global, element::ChunkSummary& totals) {
    require_same(update, local, "local model");
    require_same(update, global, "global model");
    dispatch(
        update.space, [&] { totals = host::write_update(update.data, local.data, global.data, update.size); },
        [&] { return kernels::write_update(update.data, local.data, global.data, update.size, &totals); });
}

UpdateSummary write_update(ParamSpan update, ConstParamSpan local, ConstParamSpan global) {
    require_same(update, local, "local model");
    require_same(update, global, "global model");
    element::ChunkSummary totals;
    dispatch(
        update.space, [&] { totals = host::write_update(update.data, local.data, global.data, update.size); },
        [&] { return kernels::write_update_and_wait(update.data, local.data, global.data, update.size, totals); });
    return summary_of(totals);
}

UpdateSummary summary_of(const element::ChunkSummary& totals) {
    return {.finite = totals.not_finite == 0, .norm = std::sqrt(totals.squares), .hash = totals.hash};
}

void scale_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals) {
    require_same(to, local, "local model");
    require_same(to, global, "global model");
    dispatch(
        to.space, [&] { totals = host::scale_update(to.data, local.data, global.data, to.size, weight); },
        [&] { return kernels::scale_update(to.data, local.data, global.data, to.size, weight, &totals); });
}

void add_scaled_update(ParamSpan to, ConstParamSpan local, ConstParamSpan global, double weight,
                       element::ChunkSummary& totals) {
    require_same(to, local, "local model");
    require_same(to, global, "global model");
    dispatch(
        to.space, [&] { totals = host::add_scaled_update(to.data, local.data, global.data, to.size, weight); },
        [&] { return kernels::add_scaled_update(to.data, local.data, global.data, to.size, weight, &totals); });
}

void scale(ParamSpan to, ConstParamSpan from, double weight) {
    require_same(to, from, "scale");
    dispatch(
        to.space, [&] { host::scale(to.data, from.data, to.size, weight); },
        [&] { return kernels::scale(to.data, from.data, to.size, weight); });
}

void add(ParamSpan to, ConstParamSpan from) {
    require_same(to, from, "add");
    dispatch(
        to.space, [&] { host::add(to.data, from.data, to.size); }, [&] { return kernels::add(to.data, from.data, to.size); });
}

void add_scaled(ParamSpan to, ConstParamSpan from, double weight) {
    require_same(to, from, "add_scaled");
    dispatch(
        to.space, [&] { host::add_scaled(to.data, from.data, to.size, weight); },
        [&] { return kernels::add_scaled(to.data, from.data, to.size, weight); });
}

bool all_finite(ConstParamSpan values) {
    const HostView view(values);
    synchronize(values.space);
    const auto floats = view.host();
    return std::all_of(floats.begin(), floats.end(), [](float value) { return std::isfinite(value); });
}

void synchronize(MemorySpace space) {
    dispatch(
        space, [] {}, [] { return kernels::synchronize(); });
}

}  // namespace fedhive::aggregation
