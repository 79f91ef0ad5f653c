// The arithmetic of one element, written once for host and device: vector_ops.cpp, mean.cpp, median.cpp and the server
// optimisers loop over these bodies on the host, cuda_kernels.cu on CUDA. C++17, plain pointers; each expression rounds as written
// (no fused multiply-add).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define FEDHIVE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define FEDHIVE_HOST_DEVICE inline __attribute__((always_inline))
#endif

namespace fedhive::aggregation::element {

FEDHIVE_HOST_DEVICE std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

FEDHIVE_HOST_DEVICE float weighted(float value, double weight) {
    return static_cast<float>(weight * static_cast<double>(value));
}

FEDHIVE_HOST_DEVICE float divided(float sum, double total) { return static_cast<float>(static_cast<double>(sum) / total); }

// --- client optimiser
// -------------------------------------------------------------------------------------------------------------

FEDHIVE_HOST_DEVICE float decayed(float gradient, float parameter, float weight_decay) {
    return gradient + weight_decay * parameter;
}

FEDHIVE_HOST_DEVICE void sgd(float& parameter, float gradient, float lr, float weight_decay) {
    parameter -= lr * decayed(gradient, parameter, weight_decay);
}

FEDHIVE_HOST_DEVICE void sgd_momentum(float& parameter, float gradient, float& velocity, float lr, float momentum,
                                      float weight_decay, bool nesterov) {
    const float g = decayed(gradient, parameter, weight_decay);
    velocity = momentum * velocity + g;
    parameter -= lr * (nesterov ? g + momentum * velocity : velocity);
}

/// The factors of an Adam step that all elements share, computed once per step.
struct AdamFactors {
    float beta1, beta2;
    float rate;  // lr / (1 - beta1^t)
    float root;  // sqrt(1 - beta2^t)
    float epsilon;
    float weight_decay;  // added to the gradient
    float kept;          // factor of the parameter: 1 - lr * weight_decay if the decay is decoupled, else 1
};

FEDHIVE_HOST_DEVICE void adam(float& parameter, float gradient, float& m, float& v, const AdamFactors& factors) {
    const float g = decayed(gradient, parameter, factors.weight_decay);
    m = factors.beta1 * m + (1.0F - factors.beta1) * g;
    v = factors.beta2 * v + (1.0F - factors.beta2) * (g * g);
    parameter = factors.kept * parameter - factors.rate * m / (std::sqrt(v) / factors.root + factors.epsilon);
}

FEDHIVE_HOST_DEVICE void adagrad(float& parameter, float gradient, float& sum, float lr, float weight_decay, float epsilon) {
    const float g = decayed(gradient, parameter, weight_decay);
    sum += g * g;
    parameter -= lr * g / (std::sqrt(sum) + epsilon);
}

// --- server optimisers
// ------------------------------------------------------------------------------------------------------------

FEDHIVE_HOST_DEVICE float server_mix(float global, float local, float rate) { return (1.0F - rate) * global + rate * local; }

// --- summary of an update
// ---------------------------------------------------------------------------------------------------------

constexpr std::size_t kChunk = 1024;  // elements of one partial sum; chunks are then added in order
constexpr std::size_t kLanes = 32;    // element i of a chunk goes to lane i % 32; one warp on the device

struct ChunkSummary {
    double squares = 0.0;
    std::uint64_t hash = 0;
    std::uint32_t not_finite = 0;  // 1 when an element is NaN or infinite
};

/// totals += chunk; to be called in the order of the chunks.
FEDHIVE_HOST_DEVICE void add_chunk(ChunkSummary& totals, const ChunkSummary& chunk) {
    totals.squares += chunk.squares;
    totals.hash += chunk.hash;
    totals.not_finite |= chunk.not_finite;
}

/// 1 if a chunk's sum of squares is NaN or infinite, else 0. Squares of finite floats cannot overflow f64, so 1 tells that an element is NaN or
/// infinite. Tests the exponent bits, so
/// that no compiler option can remove the check.
FEDHIVE_HOST_DEVICE std::uint32_t not_finite(double squares) {
    constexpr std::uint64_t kExponent = 0x7FF0000000000000U;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &squares, sizeof bits);
    return (bits & kExponent) == kExponent ? 1U : 0U;
}

FEDHIVE_HOST_DEVICE double square(float value) { return static_cast<double>(value) * static_cast<double>(value); }

/// Adds one element to a lane's hash. Two values of an element give two hashes, and the elements of a lane are rotated by different
/// numbers of bits, so that their order counts.
FEDHIVE_HOST_DEVICE std::uint32_t hashed(std::uint32_t lane, float value) {
    return ((lane << 13) | (lane >> 19)) + bits_of(value);
}

/// Multiplies a lane's hash by a factor of its own. index: of the lane's first element in the update. The factor is odd, so that different
/// 32-bit hashes give different products modulo 2^64.
FEDHIVE_HOST_DEVICE std::uint64_t hash_of_lane(std::uint32_t lane, std::uint64_t index) {
    const std::uint64_t spread = index * 0x9E3779B97F4A7C15U;
    return lane * ((spread ^ (spread >> 32)) | 1U);
}

// --- tree sum
// ---------------------------------------------------------------------------------------------------------------------

constexpr std::size_t kMaxTreeDepth = 33;  // most partial sums held at once, for fewer than 2^32 updates

/// The operands of a weighted mean of `count` updates of P floats. folds[k]: how many times the two newest partial sums are added to one before
/// update k (tree_folds() of mean.h).
struct TreeTerms {
    const float* const* values;  // [count] of [P]
    const double* scales;        // [count]: factor of each update
    const std::uint8_t* folds;   // [count]
    std::size_t count;           // >= 1
    double total;                // divisor of the sum
};

FEDHIVE_HOST_DEVICE void add_row(float* __restrict to, const float* __restrict from, std::size_t width) {
    for (std::size_t c = 0; c < width; ++c) to[c] += from[c];
}

/// out[c] = f32(T / total) for c < width <= Width, T the tree sum over k of scales[k] · values[k][first + c]. The host runs it on blocks of
/// columns, a CUDA thread on one.
template <std::size_t Width>
FEDHIVE_HOST_DEVICE void tree_mean(float* out, const TreeTerms& terms, std::size_t first, std::size_t width) {
    float sums[kMaxTreeDepth][Width];
    std::size_t depth = 0;
    for (std::size_t k = 0; k < terms.count; ++k) {
        for (std::size_t fold = 0; fold < terms.folds[k]; ++fold, --depth) add_row(sums[depth - 2], sums[depth - 1], width);
        const float* values = terms.values[k] + first;
        const double scale = terms.scales[k];
        float* top = sums[depth++];
        for (std::size_t c = 0; c < width; ++c) top[c] = weighted(values[c], scale);
    }
    for (; depth > 1; --depth) add_row(sums[depth - 2], sums[depth - 1], width);
    for (std::size_t c = 0; c < width; ++c) out[c] = divided(sums[0][c], terms.total);
}

// --- median
// -----------------------------------------------------------------------------------------------------------------------

/// An integer key: keys are ordered as their floats, -0 before +0. The order is total, so that every sorting algorithm gives the same bits.
FEDHIVE_HOST_DEVICE std::int32_t order_key(float value) {
    const auto bits = static_cast<std::int32_t>(bits_of(value));
    return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

FEDHIVE_HOST_DEVICE float float_of_key(std::int32_t key) {
    const std::int32_t bits = key ^ ((key >> 31) & 0x7FFFFFFF);
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// Mean of the two middle values in f64.
FEDHIVE_HOST_DEVICE double exact_middle(std::int32_t lower, std::int32_t upper) {
    return 0.5 * (static_cast<double>(float_of_key(lower)) + static_cast<double>(float_of_key(upper)));
}

/// Mean of the two middle values, which are the same value for an odd count.
FEDHIVE_HOST_DEVICE float middle(std::int32_t lower, std::int32_t upper) {
    return static_cast<float>(exact_middle(lower, upper));
}

/// Whether the value of key `upper` is closer to `middle` than that of key `lower`; the two are on either side of `middle`.
FEDHIVE_HOST_DEVICE bool is_closer(std::int32_t upper, std::int32_t lower, double middle) {
    return static_cast<double>(float_of_key(upper)) - middle < middle - static_cast<double>(float_of_key(lower));
}

// --- signs
// ------------------------------------------------------------------------------------------------------------------------

FEDHIVE_HOST_DEVICE float sign(float value) { return value > 0.0F ? 1.0F : value < 0.0F ? -1.0F : 0.0F; }

/// −mean if |sign_sum| < threshold, else mean (sign_rules.h). sign_sum: the sum of the signs of a column.
FEDHIVE_HOST_DEVICE float robust_rate(float mean, float sign_sum, float threshold) {
    return (sign_sum < 0.0F ? -sign_sum : sign_sum) < threshold ? -mean : mean;
}

// --- deviation
// --------------------------------------------------------------------------------------------------------------------

/// (value - mean)^2 in f64.
FEDHIVE_HOST_DEVICE double squared_deviation(float value, double mean) {
    const double difference = static_cast<double>(value) - mean;
    return difference * difference;
}

/// √(squares / count). squares: the sum of squared_deviation over a column of `count` values.
FEDHIVE_HOST_DEVICE float deviation(double squares, double count) { return static_cast<float>(std::sqrt(squares / count)); }

}  // namespace fedhive::aggregation::element
