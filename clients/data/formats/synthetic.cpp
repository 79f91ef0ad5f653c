#include "clients/data/formats/synthetic.h"

#include "aggregation/base/clones.h"
#include "aggregation/base/error.h"
#include "aggregation/base/normals.h"
#include "aggregation/base/parallel.h"
#include "aggregation/base/random.h"
#include "clients/data/formats/drawn.h"
#include "clients/data/formats/given_shape.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

// `round` keys of a part's streams.
constexpr std::uint32_t kLabels = 0;
constexpr std::uint32_t kNoise = 1;
constexpr std::uint32_t kCentres = 2;

constexpr std::size_t kValuesOfARange = 1'000'000;  // minimum per thread

/// Class centres [classes, features], scaled so that the expected squared distance of two centres is separation^2.
std::vector<double> draw_centres(const SyntheticOptions& options, std::uint64_t seed) {
    Stream stream(seed, Purpose::TrainData, kCentres);
    const double scale = options.separation / std::sqrt(2.0 * static_cast<double>(options.num_features));
    std::vector<double> centres(static_cast<std::size_t>(options.num_classes * options.num_features));
    for (double& coordinate : centres) coordinate = scale * stream.normal();
    return centres;
}

/// to = clamp(128 + 24 * (centre + noise), 0, 255), rounded to nearest, halves up.
FEDHIVE_CLONES void to_bytes(const double* __restrict centre, const std::vector<double>& noise, std::uint8_t* __restrict to) {
    for (std::size_t feature = 0; feature < noise.size(); ++feature) {
        const double value = std::clamp(128.0 + 24.0 * (centre[feature] + noise[feature]), 0.0, 255.0);
        const auto below = static_cast<std::int32_t>(value);
        to[feature] = static_cast<std::uint8_t>(below + (value - below >= 0.5 ? 1 : 0));
    }
}

Examples draw_part(const SyntheticOptions& options, std::size_t size, const std::vector<double>& centres, Purpose purpose,
                   std::uint64_t seed) {
    FEDHIVE_CHECK(size < std::numeric_limits<std::uint32_t>::max(), "{} examples", size);
    const auto features = static_cast<std::size_t>(options.num_features);
    Examples part{{options.num_features, 1, 1}, std::vector<std::uint8_t>(size * features), std::vector<std::int32_t>(size)};
    for (std::size_t i = 0; i < size; ++i)
        part.labels[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(options.num_classes));
    Stream order(seed, purpose, kLabels);
    shuffle(std::span(part.labels), order);
    for_each_range(size, 1 + kValuesOfARange / features, [&](std::size_t first, std::size_t last) {
        std::vector<double> noise(features);
        for (std::size_t i = first; i < last; ++i) {
            fill_normals(Stream(seed, purpose, kNoise, static_cast<std::uint32_t>(i)), noise);
            to_bytes(centres.data() + static_cast<std::size_t>(part.labels[i]) * features, noise,
                     part.values.data() + i * features);
        }
    });
    return part;
}

ExampleShape shape_of(const Values& values) {
    return given_shape(values).value_or(ExampleShape{values.integer("num_features"), 1, 1});
}

/// Memory of the examples and of one centre per class.
std::vector<MemoryNeed> needs_of(const Values& values) {
    const ExampleShape shape = shape_of(values);
    const std::int64_t classes = values.integer("num_classes");
    return {{fmt::format("the centres of {} classes of {} features", classes, shape.num_values()),
             static_cast<double>(classes) * static_cast<double>(shape.num_values()) * sizeof(double)},
            need_of_drawn(values, shape)};
}

Dataset draw(const Values& values, std::uint64_t seed, TargetKind) {
    const ExampleShape shape = shape_of(values);
    const DrawnCounts counts = counts_of(values);
    Dataset drawn = draw_synthetic({.num_train = counts.train,
                                    .num_test = counts.test,
                                    .num_classes = values.integer("num_classes"),
                                    .num_features = static_cast<std::int64_t>(shape.num_values()),
                                    .separation = values.number("separation")},
                                   seed);
    drawn.train.shape = drawn.test.shape = shape;  // the same features, as pixels
    return drawn;
}

std::vector<KeySpec> synthetic_keys() {
    std::vector<KeySpec> keys = counts_of_drawn();
    keys.push_back({.name = "num_classes",
                    .default_value = std::int64_t{10},
                    .range = between(2, kWide),
                    .doc = "Number of classes to generate."});
    keys.push_back({.name = "num_features",
                    .default_value = std::int64_t{20},
                    .range = between(1, kWide),
                    .doc = "Number of values of an example, as channels of 1 × 1; has no effect if shape is given."});
    keys.push_back(
        shape_key("Channels, height and width of an example instead of num_features, such as `[3, 32, 32]`, for models that "
                  "take images."));
    keys.push_back({.name = "separation",
                    .default_value = 2.0,
                    .range = above(0),
                    .doc = "Distance scale of the class centres, in standard deviations of the noise; 2 is learnable but not "
                           "trivial."});
    return keys;
}

}  // namespace

Dataset draw_synthetic(const SyntheticOptions& options, std::uint64_t seed) {
    if (options.num_classes < 1 || options.num_features < 1)
        throw ConfigError(fmt::format("synthetic data: {} classes of {} features; allowed: at least 1 of each",
                                      options.num_classes, options.num_features));
    if (!(options.separation > 0.0) || !std::isfinite(options.separation))
        throw ConfigError(fmt::format("synthetic data: separation {} is not above 0 and finite", options.separation));
    const std::vector<double> centres = draw_centres(options, seed);
    return {draw_part(options, options.num_train, centres, Purpose::TrainData, seed),
            draw_part(options, options.num_test, centres, Purpose::TestData, seed), options.num_classes};
}

DataFormat synthetic() {
    return {.name = "synthetic",
            .summary = "Gaussian classes",
            .keys = synthetic_keys(),
            .check = shape_problem,
            .needs = needs_of,
            .shape =
                [](const Values& values, TargetKind) {
                    return DataShape{shape_of(values), values.integer("num_classes")};
                },
            .read = draw};
}

}  // namespace fedhive::clients
