#include "clients/data/batches.h"

#include "aggregation/base/error.h"
#include "aggregation/math/dispatch.h"
#include "clients/data/gather_kernel.h"

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fedhive::clients {

namespace {

constexpr std::size_t kLine = 64;  // bytes of a cache line

/// Prefetches into all caches. Always inlined: GCC takes a function that only prefetches for one without effect and drops its calls.
inline __attribute__((always_inline)) void prefetch(std::span<const std::uint8_t> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at, 0, 3);
}

FEDHIVE_CLONES void normalize_all(const std::uint8_t* __restrict from, std::size_t size, float scale, float shift,
                                  float* __restrict values) {
    for (std::size_t i = 0; i < size; ++i) values[i] = element::normalized(from[i], scale, shift);
}

#if defined(__x86_64__)
/// element::normalized of the first vectors of sixteen bytes; returns their number of bytes. GCC's own loop widens bytes in three steps, this one
/// in one: 2.4 times as fast.
__attribute__((target("avx512f"))) std::size_t normalize_vectors(const std::uint8_t* from, std::size_t size, float scale,
                                                                 float shift, float* values, const std::uint8_t* ahead) {
    constexpr std::size_t kLanes = 16;
    constexpr __mmask16 kAll = 0xFFFF;  // GCC 12 takes the forms without a mask for reads of uninitialised values
    const __m512 scales = _mm512_set1_ps(scale), shifts = _mm512_set1_ps(shift);
    const auto vector = [&](std::size_t i) __attribute__((always_inline, target("avx512f"))) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        const __m512 wide = _mm512_maskz_cvtepi32_ps(kAll, _mm512_maskz_cvtepu8_epi32(kAll, bytes));
        _mm512_storeu_ps(values + i, _mm512_add_ps(_mm512_mul_ps(wide, scales), shifts));
    };
    std::size_t i = 0;
    for (; i + kLine <= size; i += kLine) {
        __builtin_prefetch(ahead + i, 0, 3);
        vector(i);
        vector(i + kLanes);
        vector(i + 2 * kLanes);
        vector(i + 3 * kLanes);
    }
    if (i < size) __builtin_prefetch(ahead + size - 1, 0, 3);
    for (; i + kLanes <= size; i += kLanes) vector(i);
    return i;
}
#endif

/// Normalises `size` bytes and prefetches as many from `ahead`: one line after each that it reads. All lines of an example at once would wait
/// for each other.
void normalize(const std::uint8_t* from, std::size_t size, float scale, float shift, float* values, const std::uint8_t* ahead) {
    std::size_t done = 0;
#if defined(__x86_64__)
    static const bool has_vectors = __builtin_cpu_supports("avx512f") != 0;
    if (has_vectors) done = normalize_vectors(from, size, scale, shift, values, ahead);
#endif
    if (done == 0) prefetch({ahead, size});
    if (done < size) normalize_all(from + done, size - done, scale, shift, values + done);
}

FEDHIVE_CLONES void normalize_all(const float* __restrict from, std::size_t size, float scale, float shift,
                                  float* __restrict values) {
    for (std::size_t i = 0; i < size; ++i) values[i] = element::normalized(from[i], scale, shift);
}

FEDHIVE_CLONES void normalize_all(const std::int32_t* __restrict from, std::size_t size, float scale, float shift,
                                  float* __restrict values) {
    for (std::size_t i = 0; i < size; ++i) values[i] = element::normalized(from[i], scale, shift);
}

template <typename Value>
void normalize(const Value* from, std::size_t size, float scale, float shift, float* values, const std::uint8_t* ahead) {
    prefetch({ahead, size * sizeof(Value)});
    normalize_all(from, size, scale, shift, values);
}

/// One row of an augmented image: values[x] = the pixel that `augmentation` shows at column x, normalised; values: [width].
template <typename Value>
void normalize_transformed(const Value* from, const element::Transform& augmentation, std::uint32_t width, float scale,
                           float shift, float* values) {
    for (std::uint32_t x = 0; x < width; ++x) {
        const std::uint32_t column = augmentation.column(x, width);
        values[x] = element::normalized(column < width ? from[column] : Value{}, scale, shift);
    }
}

/// Copies the `width` targets of each index to `to`, in the order of `indices`.
template <typename From, typename To>
void copy_of_each(std::span<const From> targets, std::size_t width, std::span<const std::uint32_t> indices, To* to) {
    if (width == 1)
        for (const std::uint32_t index : indices) *to++ = targets[index];
    else
        for (const std::uint32_t index : indices) to = std::ranges::copy(targets.subspan(index * width, width), to).out;
}

/// Prefetch distance in bytes. Shuffled examples are rarely cached, and the hardware prefetcher cannot predict their addresses.
constexpr std::size_t kAheadBytes = 8192;

std::size_t examples_ahead(const ExamplesView& examples) {
    return std::max<std::size_t>(1, kAheadBytes / std::max<std::size_t>(1, examples.example_bytes()));
}

/// The bytes of example `place` of the concatenation of `indices` and `next`; beyond its end, of an example that is read now anyway.
std::span<const std::uint8_t> bytes_ahead(const ExamplesView& examples, std::span<const std::uint32_t> indices,
                                          std::span<const std::uint32_t> next, std::size_t place) {
    std::uint32_t index = indices.back();
    if (place < indices.size())
        index = indices[place];
    else if (place - indices.size() < next.size())
        index = next[place - indices.size()];
    return index < examples.size() ? examples.example(index) : examples.example(0);
}

/// list[channel]; a list of one value holds for every channel, an empty list gives `otherwise`.
double of_channel(const std::vector<double>& list, std::size_t channel, double otherwise) {
    if (list.empty()) return otherwise;
    return list.size() == 1 ? list[0] : list[channel];
}

void check_length(const char* name, const std::vector<double>& list, std::size_t channels) {
    if (list.size() > 1 && list.size() != channels)
        throw ConfigError(fmt::format("{} has {} values, but the data have {} channels; give none, one, or one per channel",
                                      name, list.size(), channels));
}

}  // namespace

BatchGather::BatchGather(ExampleShape shape, const Normalization& normalization)
    : shape_(shape), alike_(normalization.mean.size() <= 1 && normalization.std.size() <= 1) {
    const auto channels = static_cast<std::size_t>(shape.channels);
    if (shape.vocabulary > 0 && !(normalization.mean.empty() && normalization.std.empty()))
        throw ConfigError(fmt::format("{} is given, but the data's examples are tokens, which are not normalised; remove it",
                                      normalization.mean.empty() ? "std" : "mean"));
    const double byte_unit = shape.vocabulary > 0 ? 1.0 : 255.0;
    check_length("mean", normalization.mean, channels);
    check_length("std", normalization.std, channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const double mean = of_channel(normalization.mean, channel, 0.0);
        const double std = of_channel(normalization.std, channel, 1.0);
        if (!std::isfinite(mean)) throw ConfigError(fmt::format("mean {} is not a finite number", mean));
        if (!(std > 0.0) || !std::isfinite(std)) throw ConfigError(fmt::format("std {} is not above 0 and finite", std));
        scales_[static_cast<std::size_t>(ValueType::U8)].push_back(static_cast<float>(1.0 / (byte_unit * std)));
        for (const ValueType type : {ValueType::F32, ValueType::I32})
            scales_[static_cast<std::size_t>(type)].push_back(static_cast<float>(1.0 / std));
        shift_.push_back(static_cast<float>(-mean / std));
    }
}

template <typename Value>
void BatchGather::gather_values(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                                std::span<const std::uint32_t> next) const {
    // With one scale and shift for all channels, an example is a single run of values.
    const std::size_t runs = alike_ ? 1 : shift_.size();
    const std::size_t run = shape_.num_values() / runs;
    const std::span<const float> scale = this->scale(examples.type);
    const std::size_t size = examples.size(), ahead = examples_ahead(examples);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint32_t index = indices[i];
        FEDHIVE_CHECK(index < size, "example {} of {}", index, size);
        const std::uint8_t* soon = bytes_ahead(examples, indices, next, i + ahead).data();
        const auto* from = reinterpret_cast<const Value*>(examples.example(index).data());
        for (std::size_t channel = 0; channel < runs; ++channel) {
            normalize(from, run, scale[channel], shift_[channel], values, soon);
            from += run;
            soon += run * sizeof(Value);
            values += run;
        }
    }
}

template <typename Value>
void BatchGather::gather_transformed(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                                     std::span<const std::uint32_t> transforms, std::span<const std::uint32_t> next) const {
    const std::size_t ahead = examples_ahead(examples);
    const auto height = static_cast<std::uint32_t>(shape_.height), width = static_cast<std::uint32_t>(shape_.width);
    const std::span<const float> scale = this->scale(examples.type);
    FEDHIVE_CHECK_EQ(transforms.size(), indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        FEDHIVE_CHECK(indices[i] < examples.size(), "example {} of {}", indices[i], examples.size());
        prefetch(bytes_ahead(examples, indices, next, i + ahead));
        const auto* from = reinterpret_cast<const Value*>(examples.example(indices[i]).data());
        const element::Transform augmentation = element::Transform::of(transforms[i]);
        for (std::size_t channel = 0; channel < shift_.size(); ++channel, from += std::size_t{height} * width)
            for (std::uint32_t y = 0; y < height; ++y, values += width) {
                const std::uint32_t row = augmentation.row(y);
                if (row < height)
                    normalize_transformed(from + std::size_t{row} * width, augmentation, width, scale[channel], shift_[channel],
                                          values);
                else
                    std::fill_n(values, width, element::normalized(Value{}, scale[channel], shift_[channel]));
            }
    }
}

void BatchGather::gather_examples(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                                  std::span<const std::uint32_t> transforms, std::span<const std::uint32_t> next) const {
    FEDHIVE_CHECK(examples.shape == shape_ && examples.space == aggregation::MemorySpace::Host,
                  "the examples are not of the shape this gather was made for, or are on a device");
    const auto as = [&]<typename Value>(Value) {
        if (transforms.empty())
            gather_values<Value>(examples, indices, values, next);
        else
            gather_transformed<Value>(examples, indices, values, transforms, next);
    };
    if (examples.type == ValueType::U8)
        as(std::uint8_t{});
    else if (examples.type == ValueType::F32)
        as(float{});
    else
        as(std::int32_t{});
}

void BatchGather::gather(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                         const element::TargetsTo& to, std::span<const std::uint32_t> transforms,
                         std::span<const std::uint32_t> next) const {
    const bool are_numbers = examples.target.kind == TargetKind::Numbers;
    FEDHIVE_CHECK(indices.empty() || (are_numbers ? to.numbers != nullptr : to.labels != nullptr), "the targets are {}",
                  are_numbers ? "numbers, no classes" : "classes, no numbers");
    gather_examples(examples, indices, values, transforms, next);
    if (are_numbers)
        copy_of_each(examples.numbers, examples.target.width, indices, to.numbers);
    else
        copy_of_each(examples.labels, examples.target.width, indices, to.labels);
}

void BatchGather::expect(const ExamplesView& examples, std::span<const std::uint32_t> indices) const {
    const std::size_t first = std::min(indices.size(), examples_ahead(examples));
    for (const std::uint32_t index : indices.first(first))
        if (index < examples.size()) prefetch(examples.example(index));
}

void gather_on_device(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to) {
    aggregation::dispatch(
        aggregation::MemorySpace::Cuda, [] {}, [&] { return kernels::gather(from, rows, values, to); });
}

}  // namespace fedhive::clients
