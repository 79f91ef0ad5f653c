// Numbers linear in the features, for task regression:
//
//   y = W x + b + noise e,  x_j, e_i and b_i in N(0, 1), W_ij in N(0, 1 / features)
//
// A number without its noise has variance 2; no model has an expected squared error below noise^2.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/formats/drawn.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace fedhive::clients {

namespace {

// `round` keys of the streams.
constexpr std::uint32_t kLinearTruth = 0;
constexpr std::uint32_t kLinearExamples = 1;

struct Truth {
    std::vector<double> weights;  // [targets, features]
    std::vector<double> biases;   // [targets]
};

Truth draw_truth(std::size_t features, std::size_t targets, std::uint64_t seed) {
    Stream stream(seed, Purpose::TrainData, kLinearTruth);
    Truth truth{std::vector<double>(features * targets), std::vector<double>(targets)};
    for (double& weight : truth.weights) weight = stream.normal() / std::sqrt(static_cast<double>(features));
    for (double& bias : truth.biases) bias = stream.normal();
    return truth;
}

Examples draw_part(const Truth& truth, std::size_t size, double noise, Stream stream) {
    FEDHIVE_CHECK(size < std::numeric_limits<std::uint32_t>::max(), "{} examples", size);
    const std::size_t targets = truth.biases.size(), features = truth.weights.size() / targets;
    Examples part{.shape = {static_cast<std::int64_t>(features), 1, 1}, .values = {}, .labels = {}, .type = ValueType::F32};
    part.target = {TargetKind::Numbers, static_cast<std::uint32_t>(targets)};
    part.values.resize(size * features * sizeof(float));
    part.numbers.reserve(size * targets);
    std::vector<float> x(features);
    for (std::size_t i = 0; i < size; ++i) {
        for (float& value : x) value = static_cast<float>(stream.normal());
        std::memcpy(part.values.data() + i * features * sizeof(float), x.data(), features * sizeof(float));
        for (std::size_t target = 0; target < targets; ++target) {
            double y = truth.biases[target] + noise * stream.normal();
            for (std::size_t j = 0; j < features; ++j) y += truth.weights[target * features + j] * static_cast<double>(x[j]);
            part.numbers.push_back(static_cast<float>(y));
        }
    }
    return part;
}

Dataset draw_linear(const Values& values, std::uint64_t seed, TargetKind) {
    const auto size_of = [&](const char* key) { return static_cast<std::size_t>(values.integer(key)); };
    const Truth truth = draw_truth(size_of("num_features"), size_of("num_targets"), seed);
    const DrawnCounts counts = counts_of(values);
    const double noise = values.number("noise");
    Dataset drawn;
    drawn.train = draw_part(truth, counts.train, noise, Stream(seed, Purpose::TrainData, kLinearExamples));
    drawn.test = draw_part(truth, counts.test, noise, Stream(seed, Purpose::TestData, kLinearExamples));
    return drawn;
}

DataShape linear_shape(const Values& values, TargetKind) {
    return {{values.integer("num_features"), 1, 1},
            0,
            {TargetKind::Numbers, static_cast<std::uint32_t>(values.integer("num_targets"))}};
}

/// Memory of features and targets (twice, while they are copied into the shared segment) and of the weights.
std::vector<MemoryNeed> linear_needs(const Values& values) {
    const auto features = static_cast<double>(values.integer("num_features")),
               targets = static_cast<double>(values.integer("num_targets"));
    const DrawnCounts counts = counts_of(values);
    const std::size_t examples = counts.train + counts.test;
    return {{fmt::format("{} examples", examples), 2.0 * static_cast<double>(examples) * (features + targets) * sizeof(float)},
            {fmt::format("the weights of {} features for {} numbers", features, targets), features * targets * sizeof(double)}};
}

std::vector<KeySpec> linear_keys() {
    std::vector<KeySpec> keys = counts_of_drawn();
    keys.push_back({.name = "num_features",
                    .default_value = std::int64_t{20},
                    .range = between(1, kWide),
                    .doc = "Number of values of an example, each normal with mean 0 and variance 1."});
    keys.push_back({.name = "num_targets",
                    .default_value = std::int64_t{1},
                    .range = between(1, kWide),
                    .doc = "Number of targets of each example."});
    keys.push_back({.name = "noise",
                    .default_value = 0.1,
                    .range = between(0, 1000),
                    .doc = "Standard deviation of the noise that is added to a target. The part that follows from the features "
                           "has variance 2; no model can have a mean squared error below noise²."});
    return keys;
}

}  // namespace

DataFormat synthetic_linear() {
    return {.name = "synthetic_linear",
            .summary = "targets that are linear in the features, plus noise, for task regression",
            .keys = linear_keys(),
            .needs = linear_needs,
            .shape = linear_shape,
            .read = draw_linear,
            .targets = {TargetKind::Numbers}};
}

}  // namespace fedhive::clients
