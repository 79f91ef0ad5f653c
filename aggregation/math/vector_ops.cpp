#include "aggregation/math/vector_ops.h"

#include "aggregation/math/dispatch.h"

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

FEDHIVE_CLONES void proximal(float* __restrict gradient, const float* local, const float* global, std::size_t size, float mu) {
    for (std::size_t i = 0; i < size; ++i) element::proximal(gradient[i], local[i], global[i], mu);
}

FEDHIVE_CLONES void scale(float* to, const float* from, std::size_t size, double weight) {
    FEDHIVE_ELEMENTWISE
    for (std::size_t i = 0; i < size; ++i) to[i] = element::weighted(from[i], weight);
}

FEDHIVE_CLONES void add(float* to, const float* from, std::size_t size) {
    FEDHIVE_ELEMENTWISE
    for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

/// The lanes of one row of a chunk, `width` <= kLanes elements. Several short loops rather than one, so that each vectorises.
inline __attribute__((always_inline)) void add_to_lanes(double* __restrict squares, std::uint64_t* __restrict hashes,
                                                        const float* __restrict values, std::size_t index, std::size_t width) {
    for (std::size_t lane = 0; lane < width; ++lane) squares[lane] += element::square(values[lane]);
    for (std::size_t lane = 0; lane < width; ++lane) hashes[lane] += element::hash_term(values[lane], index + lane);
}

/// One chunk of at most kChunk elements; `first` is its place in the span.
FEDHIVE_CLONES element::ChunkSummary write_chunk(float* update, const float* local, const float* global, std::size_t first,
                                                 std::size_t size) {
    constexpr std::size_t kLanes = element::kLanes;
    float values[element::kChunk];
    element::ChunkSummary sum;
    for (std::size_t i = 0; i < size; ++i) values[i] = local[first + i] - global[first + i];
    std::memmove(update + first, values, size * sizeof(float));  // memcpy becomes "rep movs" here, which begins slowly
    for (std::size_t i = 0; i < size; ++i) sum.not_finite |= element::not_finite(values[i]);
    double squares[kLanes] = {};
    std::uint64_t hashes[kLanes] = {};
    std::size_t row = 0;
    for (; row + kLanes <= size; row += kLanes) add_to_lanes(squares, hashes, values + row, first + row, kLanes);
    add_to_lanes(squares, hashes, values + row, first + row, size - row);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) squares[lane] += squares[lane + half];
    sum.squares = squares[0];
    for (const std::uint64_t hash : hashes) sum.hash += hash;
    return sum;
}

/// Chunks one after the other, so that what is read and written stays near, and their sums in that order.
element::ChunkSummary write_update(float* update, const float* local, const float* global, std::size_t size) {
    element::ChunkSummary totals;
    for (std::size_t first = 0; first < size; first += element::kChunk)
        element::add_chunk(totals, write_chunk(update, local, global, first, std::min(element::kChunk, size - first)));
    return totals;
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

void add_proximal_gradient(ParamSpan gradient, ConstParamSpan local, ConstParamSpan global, float mu) {
    require_same(gradient, local, "local model");
    require_same(gradient, global, "global model");
    dispatch(
        gradient.space, [&] { host::proximal(gradient.data, local.data, global.data, gradient.size, mu); },
        [&] { return kernels::proximal(gradient.data, local.data, global.data, gradient.size, mu); });
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

void synchronize(MemorySpace space) {
    dispatch(
        space, [] {}, [] { return kernels::synchronize(); });
}

}  // namespace fedhive::aggregation
