#include "clients/data/batches.h"

#include "aggregation/base/error.h"
#include "aggregation/math/dispatch.h"
#include "clients/data/gather_kernel.h"

#include <cmath>

namespace fedhive::clients {

namespace {

FEDHIVE_CLONES void scale_bytes(const std::uint8_t* __restrict bytes, std::size_t size, float scale, float shift,
                                float* __restrict values) {
    for (std::size_t i = 0; i < size; ++i) values[i] = element::normalized(bytes[i], scale, shift);
}

void prefetch(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kLine = 64;
    for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at);
}

/// The list's value for one channel; one value stands for all channels, an empty list for the default.
double of_channel(const std::vector<double>& list, std::size_t channel, double otherwise) {
    if (list.empty()) return otherwise;
    return list.size() == 1 ? list[0] : list[channel];
}

void check_length(const char* name, const std::vector<double>& list, std::size_t channels) {
    if (list.size() > 1 && list.size() != channels)
        throw ConfigError(fmt::format("{} has {} values, but the data has {} channels; give none, one, or one per channel",
                                      name, list.size(), channels));
}

}  // namespace

BatchGather::BatchGather(ExampleShape shape, const Normalization& normalization) : shape_(shape) {
    const auto channels = static_cast<std::size_t>(shape.channels);
    check_length("mean", normalization.mean, channels);
    check_length("std", normalization.std, channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const double mean = of_channel(normalization.mean, channel, 0.0);
        const double std = of_channel(normalization.std, channel, 1.0);
        if (!std::isfinite(mean)) throw ConfigError(fmt::format("mean {} is not a finite number", mean));
        if (!(std > 0.0) || !std::isfinite(std)) throw ConfigError(fmt::format("std {} is not above 0 and finite", std));
        scale_.push_back(static_cast<float>(1.0 / (255.0 * std)));
        shift_.push_back(static_cast<float>(-mean / std));
    }
}

void BatchGather::gather(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                         std::int64_t* labels) const {
    FEDHIVE_CHECK(examples.shape == shape_ && examples.space == aggregation::MemorySpace::Host,
                  "the examples are not of the shape this gather was made for, or lie on a device");
    const auto plane = static_cast<std::size_t>(shape_.height * shape_.width);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint32_t index = indices[i];
        FEDHIVE_CHECK(index < examples.size(), "example {} of {}", index, examples.size());
        // A shuffled example is rarely in a cache, and the processor cannot guess where the next one lies.
        if (i + 1 < indices.size() && indices[i + 1] < examples.size()) prefetch(examples.example(indices[i + 1]));
        const std::uint8_t* bytes = examples.example(index).data();
        for (std::size_t channel = 0; channel < scale_.size(); ++channel) {
            scale_bytes(bytes, plane, scale_[channel], shift_[channel], values);
            bytes += plane;
            values += plane;
        }
        *labels++ = examples.labels[index];
    }
}

void gather_on_device(const element::GatherTerms& from, std::size_t rows, float* values, std::int64_t* labels) {
    aggregation::dispatch(
        aggregation::MemorySpace::Cuda, [] {}, [&] { return kernels::gather(from, rows, values, labels); });
}

}  // namespace fedhive::clients
