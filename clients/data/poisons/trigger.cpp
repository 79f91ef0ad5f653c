#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedhive::clients {

namespace {

void check_trigger(const Values& values, const Examples& train, std::int64_t num_classes) {
    require_classes(train);
    const ExampleShape& shape = train.shape;
    const std::int64_t size = values.integer("size");
    if (shape.vocabulary > 0 || (shape.height == 1 && shape.width == 1))
        throw ConfigError("a trigger needs images, but the examples are not images; remove it");
    if (size > shape.height || size > shape.width)
        throw ConfigError(
            fmt::format("size: a trigger of {} x {} pixels does not fit on images of {} x {}; allowed: at most {}", size, size,
                        shape.height, shape.width, std::min(shape.height, shape.width)));
    const double value = values.number("value");
    if (train.type == ValueType::U8 && !(value >= 0.0 && value <= 1.0))
        throw ConfigError(fmt::format(
            "value: {} is out of range; pixels here are bytes, and the value is a share of 255; allowed: 0 to 1", value));
    if (values.integer("target") >= num_classes)
        throw ConfigError(
            fmt::format("target: {} is not a class; allowed: 0 to {}", values.integer("target"), num_classes - 1));
}

/// Sets the square of size × size pixels in the lower right corner of each channel.
void stamp(const Values& values, Examples& part, std::size_t index) {
    const ExampleShape& shape = part.shape;
    const auto height = static_cast<std::size_t>(shape.height), width = static_cast<std::size_t>(shape.width);
    const auto size = static_cast<std::size_t>(values.integer("size"));
    const double value = values.number("value");
    const auto byte = static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255.0));
    const auto real = static_cast<float>(value);
    std::uint8_t* const bytes = part.values.data() + index * shape.num_values() * bytes_of(part.type);
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(shape.channels); ++channel)
        for (std::size_t y = height - size; y < height; ++y)
            for (std::size_t x = width - size; x < width; ++x) {
                const std::size_t pixel = (channel * height + y) * width + x;
                if (part.type == ValueType::U8)
                    bytes[pixel] = byte;
                else
                    std::memcpy(bytes + pixel * sizeof real, &real, sizeof real);
            }
}

/// Each example with a label gets, with probability `examples`, the trigger, and y ← target.
void apply(const Values& values, Examples& train, std::span<const std::uint32_t> indices, std::int64_t, std::uint64_t seed) {
    for (const std::uint32_t index : indices) {
        if (train.labels[index] == kIgnored) continue;
        if (Stream(seed, Purpose::Poison, 0, index).uniform() >= values.number("examples")) continue;
        stamp(values, train, index);
        train.labels[index] = static_cast<std::int32_t>(values.integer("target"));
    }
}

Examples triggered(const Values& values, const Examples& test) {
    const auto target = static_cast<std::int32_t>(values.integer("target"));
    const std::size_t bytes = test.shape.num_values() * bytes_of(test.type);
    Examples copies{.shape = test.shape, .values = {}, .labels = {}, .type = test.type, .target = test.target};
    for (std::size_t index = 0; index < test.labels.size(); ++index) {
        if (test.labels[index] == target || test.labels[index] == kIgnored) continue;
        const auto from = test.values.begin() + static_cast<std::ptrdiff_t>(index * bytes);
        copies.values.insert(copies.values.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
        copies.labels.push_back(target);
        stamp(values, copies, copies.labels.size() - 1);
    }
    return copies;
}

}  // namespace

PoisonSpec trigger() {
    return {.name = "trigger",
            .summary =
                "a backdoor: a square in the lower right corner of a share of the images, which get the label `target` "
                "(arXiv:1807.00459)",
            .keys = {{.name = "size",
                      .default_value = std::int64_t{3},
                      .range = between(1, 1 << 20),
                      .doc = "Pixels on a side of the square."},
                     {.name = "value",
                      .default_value = 1.0,
                      .doc = "Value of its pixels before normalisation; of bytes as a share of 255, from 0 to 1."},
                     {.name = "target",
                      .default_value = std::int64_t{0},
                      .range = at_least(0),
                      .doc = "The class that the attackers want for images with the trigger."},
                     {.name = "examples",
                      .default_value = 0.5,
                      .range = fraction(),
                      .doc = "Share of an attacker's examples with the trigger, each drawn for itself."}},
            .check = check_trigger,
            .apply = apply,
            .triggered = triggered};
}

}  // namespace fedhive::clients
