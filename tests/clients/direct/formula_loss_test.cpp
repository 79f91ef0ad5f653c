// Losses by formulas in the direct engine: steps beside a network in double that is written here, gradients through images beside finite
// differences, and bits.
#include "aggregation/base/random.h"
#include "clients/direct/network.h"
#include "clients/models/feature_layer.h"
#include "clients/tasks/output_loss.h"
#include "tests/clients/direct/kernel_sets.h"
#include "tests/clients/direct/networks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

using aggregation::formulas::MethodFormulas;
using aggregation::formulas::Place;
using direct::Floats;
using fedhive::testing::kInput;
using fedhive::testing::listed_model;

constexpr std::size_t kBatchSize = 7, kNumClasses = 5;
constexpr const char* kMoon = "cross_entropy(logits, y) - mu * log_sigmoid((cos(z, sent.z) - cos(z, last.z)) / 0.5)";
constexpr const char* kFedlc = "cross_entropy(logits - mu * maximum(counts, 1e-8)^(-0.25), y)";
constexpr const char* kTaught = "cross_entropy(logits, y) + mu * kl(log_softmax(sent.logits), log_softmax(logits))";

MethodFormulas method_of(const std::string& loss, double mu = 0.75) {
    MethodFormulas method;
    method.keys = {{"mu", mu}};
    method.also_at = {{"sent", "w_t"}, {"last", "kept"}};
    method.lines[Place::Loss] = {"loss = " + loss};
    return method;
}

/// A network with random parameters, those of two other models, and examples.
struct TaughtCase {
    TaughtCase(const ModelSpec& spec, const std::string& text, const direct::Kernels& kernels = direct::kernels())
        : network(spec, kernels),
          loss(OutputLoss::of(method_of(text), kNumClasses, feature_layer(spec).features)),
          parameters(drawn(11)),
          sent(drawn(12)),
          last(drawn(13)),
          gradient(network.layout().num_trainable()) {
        Stream stream(14, Purpose::ModelInit);
        examples.resize(kBatchSize * network.inputs());
        for (float& value : examples) value = fedhive::testing::draw_value(spec.input, stream);
        for (std::size_t i = 0; i < kBatchSize; ++i) labels.push_back(static_cast<std::int64_t>(i * 3 % kNumClasses));
        loss->set_counts(counts);
        for (OutputLoss::Other& other : loss->others()) {
            const Floats& model = other.at == "w_t" ? sent : last;
            other.model = {model.data(), model.size()};
        }
        loss->start();
        network.set_loss(loss.get());
    }
    Floats drawn(std::uint64_t seed) const {
        Stream stream(seed, Purpose::ModelInit);
        Floats values(network.layout().num_floats());
        for (const auto& entry : network.layout().entries())
            for (std::size_t i = 0; i < entry.size; ++i)
                values[entry.offset + i] = fedhive::testing::draw_parameter(entry, 0.4, stream);
        return values;
    }
    direct::Batch batch() const { return {examples.data(), labels.data(), kBatchSize}; }
    double train() { return network.train(parameters.data(), gradient.data(), batch(), 99); }

    direct::Network network;
    std::unique_ptr<OutputLoss> loss;
    Floats parameters, sent, last, gradient, examples;
    std::vector<std::int64_t> labels;
    std::vector<float> counts{7.0F, 0.0F, 3.0F, 20.0F, 1.0F};
};

ModelSpec small_mlp() {
    LayerList layers;
    layers.add("flatten").add("linear", {16}).add("relu").add("linear");
    return listed_model(layers, kInput, static_cast<std::int64_t>(kNumClasses));
}

using Row = std::vector<double>;

/// flatten, linear, relu, linear in double, of one example.
struct Mlp {
    explicit Mlp(const TaughtCase& one, const Floats& from) : inputs(one.network.inputs()) {
        for (const auto& entry : one.network.layout().entries()) {
            Row& to = tensors.emplace_back();
            for (std::size_t i = 0; i < entry.size; ++i) to.push_back(static_cast<double>(from[entry.offset + i]));
        }
    }
    static Row linear(const Row& weight, const Row& bias, const Row& x) {
        Row y = bias;
        for (std::size_t o = 0; o < y.size(); ++o)
            for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
        return y;
    }
    Row features(const Row& x) const {
        Row hidden = linear(tensors[0], tensors[1], x);
        for (double& value : hidden) value = std::max(value, 0.0);
        return hidden;
    }
    Row logits(const Row& z) const { return linear(tensors[2], tensors[3], z); }

    std::size_t inputs;
    std::vector<Row> tensors;  // weight and bias of both layers
};

double inner(const Row& a, const Row& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

Row log_probabilities(const Row& logits) {
    double total = 0.0;
    for (const double logit : logits) total += std::exp(logit);
    Row result = logits;
    for (double& value : result) value -= std::log(total);
    return result;
}

/// The papers' losses of one example.
using PaperLoss =
    std::function<double(const Row& logits, const Row& z, std::size_t label, const Mlp& sent, const Mlp& last, const Row& x)>;

double moon(const Row& logits, const Row& z, std::size_t label, const Mlp& sent, const Mlp& last, const Row& x) {
    const auto similar = [&](const Row& other) {
        return std::exp(inner(z, other) / std::sqrt(inner(z, z) * inner(other, other)) / 0.5);
    };
    const double near = similar(sent.features(x)), far = similar(last.features(x));
    return -log_probabilities(logits)[label] - 0.75 * std::log(near / (near + far));
}

double fedlc(const Row& logits, const Row&, std::size_t label, const Mlp&, const Mlp&, const Row&) {
    Row calibrated = logits;
    const Row counts{7.0, 1e-8, 3.0, 20.0, 1.0};
    for (std::size_t c = 0; c < counts.size(); ++c) calibrated[c] -= 0.75 * std::pow(counts[c], -0.25);
    return -log_probabilities(calibrated)[label];
}

double taught(const Row& logits, const Row&, std::size_t label, const Mlp& sent, const Mlp&, const Row& x) {
    const Row q = log_probabilities(logits), p = log_probabilities(sent.logits(sent.features(x)));
    double divergence = 0.0;
    for (std::size_t c = 0; c < p.size(); ++c) divergence += std::exp(p[c]) * (p[c] - q[c]);
    return -q[label] + 0.75 * divergence;
}

/// The slopes of a smooth function of one row, by central differences in double.
Row slopes(const std::function<double(const Row&)>& value, Row at) {
    Row result;
    for (double& moved : at) {
        const double before = moved, step = 1e-5;
        moved = before + step;
        const double above = value(at);
        moved = before - step;
        result.push_back((above - value(at)) / (2.0 * step));
        moved = before;
    }
    return result;
}

/// One step of plain SGD on the mean loss of the batch; returns that.
double step(Mlp& model, const TaughtCase& one, const PaperLoss& loss, const Mlp& sent, const Mlp& last, double rate) {
    double sum = 0.0;
    std::vector<Row> gradients;
    for (const Row& tensor : model.tensors) gradients.emplace_back(tensor.size(), 0.0);
    for (std::size_t r = 0; r < kBatchSize; ++r) {
        Row x;
        for (std::size_t i = 0; i < model.inputs; ++i) x.push_back(static_cast<double>(one.examples[r * model.inputs + i]));
        const auto label = static_cast<std::size_t>(one.labels[r]);
        const Row z = model.features(x), logits = model.logits(z);
        sum += loss(logits, z, label, sent, last, x);
        const Row to_logits = slopes([&](const Row& at) { return loss(at, z, label, sent, last, x); }, logits);
        Row to_z = slopes([&](const Row& at) { return loss(logits, at, label, sent, last, x); }, z);
        for (std::size_t c = 0; c < to_logits.size(); ++c) {
            gradients[3][c] += to_logits[c];
            for (std::size_t i = 0; i < z.size(); ++i) {
                gradients[2][c * z.size() + i] += to_logits[c] * z[i];
                to_z[i] += to_logits[c] * model.tensors[2][c * z.size() + i];
            }
        }
        for (std::size_t h = 0; h < z.size(); ++h) {
            if (z[h] <= 0.0) continue;
            gradients[1][h] += to_z[h];
            for (std::size_t i = 0; i < x.size(); ++i) gradients[0][h * x.size() + i] += to_z[h] * x[i];
        }
    }
    for (std::size_t t = 0; t < gradients.size(); ++t)
        for (std::size_t i = 0; i < gradients[t].size(); ++i)
            model.tensors[t][i] -= rate * gradients[t][i] / static_cast<double>(kBatchSize);
    return sum / static_cast<double>(kBatchSize);
}

}  // namespace

TEST_SUITE("FormulaLoss") {
    TEST_CASE("AVisitIsThatOfThePapers") {
        const std::vector<std::pair<const char*, PaperLoss>> losses{{kMoon, moon}, {kFedlc, fedlc}, {kTaught, taught}};
        for (const auto& [text, paper] : losses) {
            CAPTURE(std::string(text));
            TaughtCase one(small_mlp(), text);
            Mlp model(one, one.parameters);
            const Mlp sent(one, one.sent), last(one, one.last);
            for (int steps = 0; steps < 5; ++steps) {
                const double found = one.train(), expected = step(model, one, paper, sent, last, 0.125);
                CHECK(found == doctest::Approx(expected).epsilon(1e-5));
                for (std::size_t i = 0; i < one.gradient.size(); ++i) one.parameters[i] -= 0.125F * one.gradient[i];
            }
            double apart = 0.0, way = 0.0;
            const auto entries = one.network.layout().entries();
            for (std::size_t t = 0; t < entries.size(); ++t)
                for (std::size_t i = 0; i < entries[t].size; ++i) {
                    const auto found = static_cast<double>(one.parameters[entries[t].offset + i]);
                    apart += std::pow(found - model.tensors[t][i], 2.0);
                    way += std::pow(found - static_cast<double>(one.drawn(11)[entries[t].offset + i]), 2.0);
                }
            CHECK_MESSAGE(apart <= 1e-10 * way, std::sqrt(apart / way));
        }
    }

    TEST_CASE("GradientsToFeaturesPassThroughImagesAndOtherLayers") {
        LayerList images, dropped, beside;
        images.add("conv2d", {4, 3, 1, 1}).add("tanh").add("avg_pool", {2}).add("flatten").add("linear");
        dropped.add("flatten").add("linear", {9}).add("tanh").add("dropout", {0.4F}).add("linear");
        beside.add("flatten")
            .add("linear", {8})
            .add("residual")
            .add("linear", {8})
            .add("tanh")
            .end()
            .add("linear", {5})
            .add("tanh");
        for (const LayerList& layers : {images, dropped, beside}) {
            const ModelSpec spec = listed_model(layers, kInput, static_cast<std::int64_t>(kNumClasses));
            REQUIRE_EQ(feature_layer(spec).problem, "");
            for (const char* text : {kMoon, "sum(z * z) * (1 + norm(logits))"}) {
                CAPTURE(std::string(text));
                TaughtCase one(spec, text);
                one.train();
                const Floats gradient = one.gradient, before = one.parameters;
                Stream directions(3, Purpose::Sampling);
                for (const auto& entry : one.network.layout().entries()) {
                    CAPTURE(entry.name);
                    Floats direction(entry.size);
                    double along = 0.0, length = 0.0;
                    for (std::size_t i = 0; i < entry.size; ++i) {
                        direction[i] = static_cast<float>(directions.normal());
                        along += static_cast<double>(direction[i]) * static_cast<double>(gradient[entry.offset + i]);
                        length += static_cast<double>(direction[i]) * static_cast<double>(direction[i]);
                    }
                    const auto loss_at = [&](double size) {
                        for (std::size_t i = 0; i < entry.size; ++i)
                            one.parameters[entry.offset + i] =
                                before[entry.offset + i] + static_cast<float>(size / std::sqrt(length)) * direction[i];
                        return one.train();
                    };
                    const double size = 2e-3, slope = (loss_at(size) - loss_at(-size)) / (2.0 * size);
                    one.parameters = before;
                    CHECK(slope == doctest::Approx(along / std::sqrt(length)).epsilon(0.02).scale(0.05));
                }
            }
        }
    }

    TEST_CASE("EveryInstructionSetGivesTheSameBitsAndADescentThoseOfItsHalves") {
        for (const char* text : {kMoon, kFedlc, kTaught}) {
            CAPTURE(std::string(text));
            Floats wanted;
            double loss = 0.0;
            for (const direct::Kernels* kernels : fedhive::testing::all_kernels()) {
                TaughtCase one(small_mlp(), text, *kernels);
                const double found = one.train();
                if (wanted.empty()) {
                    wanted = one.gradient;
                    loss = found;
                }
                CHECK_EQ(found, loss);
                CHECK(fedhive::testing::same_bits(one.gradient, wanted));
            }
            TaughtCase halves(small_mlp(), text), whole(small_mlp(), text);
            aggregation::ClientOptimizer by_halves(aggregation::SgdOptions{.lr = 0.1F}, halves.gradient.size(),
                                                   aggregation::MemorySpace::Host),
                in_one(aggregation::SgdOptions{.lr = 0.1F}, whole.gradient.size(), aggregation::MemorySpace::Host);
            by_halves.begin({}, 1.0F);
            in_one.begin({}, 1.0F);
            halves.train();
            by_halves.begin_step();
            by_halves.step(aggregation::ParamSpan(halves.parameters.data(), halves.gradient.size()),
                           aggregation::ConstParamSpan(halves.gradient.data(), halves.gradient.size()));
            in_one.begin_step();
            whole.network.descend({whole.parameters.data(), &in_one, nullptr}, whole.gradient.data(), whole.batch(), 99);
            CHECK(fedhive::testing::same_bits(halves.parameters, whole.parameters));
        }
    }

    TEST_CASE("AtRestTheLossIsTheRunsOwn") {
        TaughtCase one(small_mlp(), kMoon);
        const double by_formula = one.train();
        one.loss->rest();
        const double at_rest = one.train();
        const Floats gradient = one.gradient;
        one.network.set_loss(nullptr);
        CHECK_EQ(one.train(), at_rest);
        CHECK(fedhive::testing::same_bits(one.gradient, gradient));
        CHECK_NE(by_formula, at_rest);
        CHECK(OutputLoss::of(method_of(kMoon, 0.0), kNumClasses, 16) == nullptr);  // by its key the cross-entropy
        const LossNeeds needs = loss_needs(method_of(kMoon)), none = loss_needs(method_of(kMoon, 0.0));
        CHECK((needs.formula && needs.features && needs.others));
        CHECK_FALSE((none.formula || none.features || none.others));
    }

    TEST_CASE("AModelHasFeaturesBeforeItsLastLinearLayer") {
        const auto problem = [](LayerList& layers) {
            return feature_layer(listed_model(layers, kInput, static_cast<std::int64_t>(kNumClasses))).problem;
        };
        LayerList one, ends_in_convolution, mlp;
        one.add("flatten").add("linear");
        CHECK(problem(one).starts_with("has only one layer with parameters (layer 1)"));
        ends_in_convolution.add("conv2d", {4, 3}).add("tanh").add("conv2d", {5, 1}).add("avg_pool").add("flatten");
        CHECK(problem(ends_in_convolution).starts_with("ends with conv2d (layer 2)"));
        mlp.add("flatten").add("linear", {6}).add("relu").add("linear", {5}).add("tanh");
        CHECK_EQ(problem(mlp), "");
        CHECK_EQ(feature_layer(small_mlp()).features, 16U);
    }

    TEST_CASE("AnotherModelWithoutBuffersHasThoseOfTheGlobalModel") {
        LayerList layers;
        layers.add("flatten").add("linear", {16}).add("batch_norm").add("relu").add("linear");
        TaughtCase one(listed_model(layers, kInput, static_cast<std::int64_t>(kNumClasses)), kTaught);
        const std::size_t trainable = one.network.layout().num_trainable();
        aggregation::ConstParamSpan& model = one.loss->others().front().model;
        const double by_its_own = one.train();
        model = {one.sent.data(), trainable};
        one.network.set_global(one.sent.data());
        CHECK(one.train() == by_its_own);
        one.network.set_global(one.last.data());
        const double by_others = one.train();
        CHECK(by_others != by_its_own);
        Floats mixed = one.last;
        std::copy_n(one.sent.begin(), trainable, mixed.begin());
        model = {mixed.data(), mixed.size()};
        CHECK(one.train() == by_others);
    }
}
