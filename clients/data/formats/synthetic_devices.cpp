// Synthetic(alpha, beta): T. Li et al. 2020, "Federated Optimization in Heterogeneous Networks", arXiv:1812.06127, section 5.1.
// Each device has its own model and distribution, for partition scheme natural:
//
//   y = argmax(W_k x + b_k), W_k in R^(10 x 60), b_k in R^10, both N(u_k, 1), u_k ~ N(0, alpha)
//   x ~ N(v_k, Sigma), Sigma diagonal with Sigma_jj = j^-1.2, v_k ~ N(B_k, 1), B_k ~ N(0, beta)
//
// `alike` is the paper's Synthetic IID: one model, and v_k = 0.
//
//   Differs   There is no key for alpha: u_k adds the same to every class's score, so it changes no label; W_k alone makes the
//             models differ. beta is a variance, as in the paper; its program takes it as a standard deviation. Sizes are the
//             program's, 50 + exp(N(4, 2^2)) rounded down, and so is the share of tests, a tenth, rounded up.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/data_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace fedhive::clients {

namespace {

constexpr std::size_t kFeatures = 60;
constexpr std::size_t kClasses = 10;
constexpr double kMeanSize = 50.0 + 403.4;  // exp(4 + 2^2 / 2)
constexpr std::size_t kLeast = 50;

// `round` keys of a device's streams.
constexpr std::uint32_t kModel = 0;
constexpr std::uint32_t kPlace = 1;
constexpr std::uint32_t kSize = 2;
constexpr std::uint32_t kExamples = 3;

struct Device {
    std::array<double, kFeatures * kClasses> weights{};
    std::array<double, kClasses> biases{};
    std::array<double, kFeatures> means{};
    std::size_t size = 0;
};

Device draw_device(const Values& values, std::uint64_t seed, std::uint32_t k) {
    const bool alike = values.flag("alike");
    Device device;
    Stream model(seed, Purpose::TrainData, kModel, alike ? 0 : k);
    for (double& weight : device.weights) weight = model.normal();
    for (double& bias : device.biases) bias = model.normal();
    Stream place(seed, Purpose::TrainData, kPlace, k);
    const double b = std::sqrt(values.number("place_spread")) * place.normal();
    for (double& mean : device.means) mean = alike ? 0.0 : b + place.normal();
    Stream size(seed, Purpose::TrainData, kSize, k);
    device.size = kLeast + static_cast<std::size_t>(std::exp(4.0 + 2.0 * size.normal()));
    return device;
}

std::int32_t label_of(const Device& device, const std::array<float, kFeatures>& x) {
    std::array<double, kClasses> scores = device.biases;
    for (std::size_t label = 0; label < kClasses; ++label)
        for (std::size_t j = 0; j < kFeatures; ++j)
            scores[label] += device.weights[label * kFeatures + j] * static_cast<double>(x[j]);
    return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

void add_drawn(Examples& part, const Device& device, std::size_t count, Stream stream, std::uint32_t owner) {
    for (std::size_t i = 0; i < count; ++i) {
        std::array<float, kFeatures> x{};
        for (std::size_t j = 0; j < kFeatures; ++j)
            x[j] = static_cast<float>(device.means[j] + std::pow(static_cast<double>(j + 1), -0.6) * stream.normal());
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(x.data());
        part.values.insert(part.values.end(), bytes, bytes + sizeof x);
        part.labels.push_back(label_of(device, x));
        part.owners.push_back(owner);
    }
}

Dataset draw_devices(const Values& values, std::uint64_t seed, TargetKind) {
    Dataset drawn;
    drawn.num_classes = kClasses;
    for (Examples* part : {&drawn.train, &drawn.test}) {
        part->shape = {kFeatures, 1, 1};
        part->type = ValueType::F32;
    }
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(values.integer("devices")); ++k) {
        const Device device = draw_device(values, seed, k);
        const std::size_t tests = device.size - device.size * 9 / 10;
        add_drawn(drawn.train, device, device.size - tests, Stream(seed, Purpose::TrainData, kExamples, k), k);
        add_drawn(drawn.test, device, tests, Stream(seed, Purpose::TestData, kExamples, k), k);
    }
    drawn.test.owners.clear();  // tests belong to no client
    return drawn;
}

std::vector<MemoryNeed> device_needs(const Values& values) {
    const double examples = kMeanSize * static_cast<double>(values.integer("devices"));
    return {{fmt::format("about {:.0f} examples", examples),
             2.0 * examples * (kFeatures * sizeof(float) + 2 * sizeof(std::int32_t))}};
}

}  // namespace

DataFormat synthetic_devices() {
    return {.name = "synthetic_devices",
            .summary = "the Synthetic data of arXiv:1812.06127; every device has its own model and distribution",
            .keys = {{.name = "devices",
                      .default_value = std::int64_t{30},
                      .range = between(1, kWide),
                      .doc = "Number of devices to generate, with 50 or more examples each; with scheme natural equal to "
                             "partition.clients."},
                     {.name = "place_spread",
                      .default_value = 1.0,
                      .range = between(0, 1000),
                      .doc = "Variance of the means of the devices' examples (β); 0, 0.5 and 1 in the paper."},
                     {.name = "alike",
                      .default_value = false,
                      .doc = "true: the paper's Synthetic IID, one model and one distribution for all devices; place_spread "
                             "has no effect."}},
            .needs = device_needs,
            .shape =
                [](const Values&, TargetKind) {
                    return DataShape{{kFeatures, 1, 1}, kClasses};
                },
            .read = draw_devices};
}

}  // namespace fedhive::clients
