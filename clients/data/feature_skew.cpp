#include "clients/data/feature_skew.h"

#include "aggregation/base/error.h"
#include "aggregation/base/normals.h"
#include "aggregation/memory/shared_segment.h"

#include <cmath>
#include <cstring>

namespace fedhive::clients {

namespace {

/// Rotates one channel [height, width] counter-clockwise by `quarters` quarter turns; odd numbers need height == width.
template <typename Value>
void turn(const Value* from, std::size_t height, std::size_t width, std::uint32_t quarters, Value* to) {
    for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x) {
            const std::size_t down = height - 1 - y, right = width - 1 - x;
            to[y * width + x] = quarters == 1   ? from[x * width + down]
                                : quarters == 2 ? from[down * width + right]
                                                : from[right * width + y];
        }
}

template <typename Value>
void turn_example(Value* values, const ExampleShape& shape, std::uint32_t quarters) {
    const auto height = static_cast<std::size_t>(shape.height), width = static_cast<std::size_t>(shape.width);
    std::vector<Value> before(height * width);
    for (std::int64_t channel = 0; channel < shape.channels; ++channel, values += height * width) {
        std::memcpy(before.data(), values, before.size() * sizeof(Value));
        turn(before.data(), height, width, quarters, values);
    }
}

void check_skew(const Examples& part, const FeatureSkew& skew) {
    const ExampleShape& shape = part.shape;
    if (shape.vocabulary > 0) throw ConfigError("examples are tokens, which have no feature skew; remove it");
    if (skew.turns == 1) return;
    if (shape.height == 1 && shape.width == 1)
        throw ConfigError("rotation: examples are features in a row, not images; remove it");
    if (skew.turns == 4 && shape.height != shape.width)
        throw ConfigError(fmt::format(
            "rotation: quarter turns need square images, but the images have {} x {} pixels; allowed: none, half_turns",
            shape.height, shape.width));
}

void make_floats(Examples& part) {
    if (part.type == ValueType::F32) return;
    std::vector<std::uint8_t> floats(part.values.size() * sizeof(float));
    for (std::size_t i = 0; i < part.values.size(); ++i) {
        const float value = static_cast<float>(part.values[i]) / 255.0F;
        std::memcpy(floats.data() + i * sizeof value, &value, sizeof value);
    }
    part.values = std::move(floats);
    part.type = ValueType::F32;
}

void require_memory_for_floats(const Dataset& dataset) {
    const std::uint64_t bytes = 4 * (dataset.train.values.size() + dataset.test.values.size());
    const std::uint64_t available = aggregation::available_memory_bytes();
    if (dataset.train.type == ValueType::U8 && bytes > available / 2)
        throw ConfigError(fmt::format(
            "noise: the examples as floats need {} bytes, but only half of {} bytes may be used for them", bytes, available));
}

void add_noise(float* values, double std, const Stream& stream, std::vector<double>& normals) {
    fill_normals(stream, normals);
    for (std::size_t i = 0; i < normals.size(); ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) + std * normals[i]);
}

}  // namespace

double FeatureSkew::noise_std(std::size_t client, std::size_t clients) const {
    return std::sqrt(noise * static_cast<double>(client + 1) / static_cast<double>(clients));
}

void skew_features(Dataset& dataset, const Partition& partition, const FeatureSkew& skew, std::uint64_t seed) {
    if (!skew.any()) return;
    check_skew(dataset.train, skew);
    if (skew.noise > 0.0) {
        require_memory_for_floats(dataset);
        make_floats(dataset.train);
        make_floats(dataset.test);
    }
    Examples& train = dataset.train;
    std::vector<double> normals(train.shape.num_values());
    for (std::size_t client = 0; client < partition.num_clients(); ++client) {
        const std::uint32_t quarters = skew.degrees(client) / 90;
        const double std = skew.noise_std(client, partition.num_clients());
        for (const std::uint32_t example : partition.shard(client)) {
            std::uint8_t* const bytes = train.values.data() + example * train.shape.num_values() * bytes_of(train.type);
            auto* const floats = reinterpret_cast<float*>(bytes);
            if (quarters > 0 && train.type == ValueType::U8) turn_example(bytes, train.shape, quarters);
            if (quarters > 0 && train.type == ValueType::F32) turn_example(floats, train.shape, quarters);
            if (std > 0.0) add_noise(floats, std, Stream(seed, Purpose::FeatureSkew, 0, example), normals);
        }
    }
}

}  // namespace fedhive::clients
