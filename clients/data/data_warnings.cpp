#include "clients/data/data_warnings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace fedhive::clients {

namespace {

constexpr double kLargeDeviation = 20.0;
constexpr std::size_t kSampledValues = std::size_t{1} << 18;
constexpr std::size_t kSampledRows = 1000;
constexpr const char* kTranspose = "fix: x = x.transpose(0, 3, 1, 2)";

float float_at(const Examples& part, std::size_t index) {
    float value = 0.0F;
    std::memcpy(&value, &part.values[index * sizeof value], sizeof value);
    return value;
}

/// Running mean and sum of squared deviations (Welford 1962).
struct Spread {
    double count = 0.0, mean = 0.0, squares = 0.0;

    void add(double value) {
        const double before = value - mean;
        mean += before / ++count;
        squares += before * (value - mean);
    }
    double deviation() const { return std::sqrt(squares / count); }
};

bool looks_like_channels_last(const ExampleShape& shape, ValueType type) {
    if (shape.vocabulary > 0) return false;
    const bool square = shape.channels == shape.height && shape.channels >= 8;
    if (square && (shape.width == 1 || shape.width == 3 || shape.width == 4)) return true;
    const bool photograph = type == ValueType::U8 && shape.channels >= 16 && shape.height >= 16;
    return photograph && (shape.width == 3 || shape.width == 4);
}

/// "label 3", "labels 3, 7 and 12", "labels 3, 7, 12, 13 and 20 more".
std::string listed_labels(const std::vector<std::int64_t>& labels) {
    constexpr std::size_t kMostShown = 4;
    if (labels.size() == 1) return fmt::format("label {}", labels[0]);
    if (labels.size() > kMostShown)
        return fmt::format("labels {} and {} more", fmt::join(labels.begin(), labels.begin() + kMostShown, ", "),
                           labels.size() - kMostShown);
    return fmt::format("labels {} and {}", fmt::join(labels.begin(), labels.end() - 1, ", "), labels.back());
}

}  // namespace

std::vector<DataWarning> channels_last(const Examples& train) {
    const ExampleShape& shape = train.shape;
    if (!looks_like_channels_last(shape, train.type)) return {};
    return {
        {"train",
         fmt::format(
             "x is read as {0} channels of {1} x {2}, but looks like images of {0} x {1} with {2} channel{3}; if it is, {4}",
             shape.channels, shape.height, shape.width, shape.width == 1 ? "" : "s", kTranspose)}};
}

std::string channels_last_advice(const ExampleShape& shape) {
    if (!looks_like_channels_last(shape, ValueType::U8)) return "";
    return fmt::format("; if the data are images with channels last, {}", kTranspose);
}

std::vector<DataWarning> missing_classes(const Dataset& dataset) {
    const Examples& train = dataset.train;
    if (train.target.kind != TargetKind::Class || train.shape.vocabulary > 0) return {};
    std::vector<bool> shown(static_cast<std::size_t>(dataset.num_classes));
    for (const std::int32_t label : train.labels)
        if (label != kIgnored) shown[static_cast<std::size_t>(label)] = true;
    std::vector<std::int64_t> missing;
    for (std::size_t label = 0; label < shown.size(); ++label)
        if (!shown[label]) missing.push_back(static_cast<std::int64_t>(label));
    if (missing.empty()) return {};
    const bool from_one = missing.front() == 0 && std::ranges::count(dataset.test.labels, 0) == 0;
    return {
        {"train", fmt::format("no training example has {} of {}; {}, or set data.classes: {} if this is intended",
                              listed_labels(missing), dataset.num_classes,
                              from_one ? "if labels begin at 1, use y - 1 in both files" : "number the classes without gaps",
                              dataset.num_classes)}};
}

std::vector<DataWarning> large_values(const Examples& train) {
    if (train.type != ValueType::F32 || train.shape.vocabulary > 0 || train.size() == 0) return {};
    const auto channels = static_cast<std::size_t>(train.shape.channels);
    const std::size_t each = train.shape.num_values(), of_channel = each / channels;
    const std::size_t sample = std::min(train.size(), std::max<std::size_t>(2, kSampledValues / each));
    std::vector<Spread> spreads(channels);
    bool bytes = of_channel > 1 || channels >= 64;  // all values are whole in [0, 255], of enough columns to be pixels
    for (std::size_t i = 0; i < sample; ++i) {
        const std::size_t first = i * train.size() / sample * each;
        for (std::size_t at = 0; at < each; ++at) {
            const float value = float_at(train, first + at);
            spreads[at / of_channel].add(value);
            bytes = bytes && value >= 0.0F && value <= 255.0F && value == std::floor(value);
        }
    }
    const auto largest = std::ranges::max_element(spreads, {}, &Spread::deviation);
    if (!(largest->deviation() > kLargeDeviation)) return {};
    const auto channel = largest - spreads.begin();
    return {
        {"normalize",
         fmt::format(
             "values of x have a standard deviation of {:.3g}{}, but most models need one near 1 to learn; {}",
             largest->deviation(),
             channels == 1 ? "" : fmt::format(" in {} {} of {}", of_channel == 1 ? "feature" : "channel", channel, channels),
             bytes ? "fix: x = x / 255" : "set data.normalize, or use (x - x.mean(0)) / x.std(0)")}};
}

std::vector<DataWarning> index_column(const Examples& train, const std::optional<std::string>& name) {
    constexpr std::size_t kFewestWithoutNames = 20;  // below that, 0, 1, 2 … may be chance
    const std::size_t rows = train.size(), each = train.shape.num_values();
    if (name && !name->empty() && !name->starts_with("Unnamed:")) return {};
    if (rows < (name ? 2 : kFewestWithoutNames)) return {};
    const float first = float_at(train, 0);
    std::set<float> seen;
    for (std::size_t row = 0; row < std::min(rows, kSampledRows); ++row) {
        const float value = float_at(train, row * each);
        const bool whole = value >= 0.0F && value == std::floor(value) && seen.insert(value).second;
        if (!whole || (!name && (first > 1.0F || value != first + static_cast<float>(row)))) return {};
    }
    return {{"train", fmt::format("the first column {} and counts rows, like an index that pandas wrote; fedhive reads it as a "
                                  "feature; to remove it, use to_csv(FILE, index=False)",
                                  !name || name->empty() ? "has no name" : fmt::format("is '{}'", *name))}};
}

}  // namespace fedhive::clients
