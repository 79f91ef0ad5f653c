// One visit of a client with clipped gradients, against plain loops: what is clipped is the whole direction of a step.
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "sim/strategies/strategy.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <optional>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::size_t kFloats = 16;
using Vector = std::array<double, kFloats>;

/// F(w) = sum of a_i / 2 * (w_i - 1)^2, by plain steps.
class Bowl final : public clients::OneRowStep<> {
public:
    static double slope(std::size_t i, double w) { return 0.25 * static_cast<double>(1 + i % 3) * (w - 1.0); }

    aggregation::ParamSpan parameters_of(std::size_t) override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const clients::ClientStart& start) override { aggregation::copy(local_, start.global); }
    void compute_gradients(std::span<const clients::RowBatch>) override {
        for (std::size_t i = 0; i < kFloats; ++i) gradient_[i] = static_cast<float>(slope(i, static_cast<double>(local_[i])));
    }
    void apply_gradients() override {
        for (std::size_t i = 0; i < kFloats; ++i) local_[i] -= kRate * gradient_[i];
    }
    double loss_of(std::size_t) override { return 0.0; }

    static constexpr float kRate = 2.0F;

private:
    std::vector<float> local_ = std::vector<float>(kFloats), gradient_ = local_;
};

double length(const Vector& of) {
    double squares = 0.0;
    for (const double value : of) squares += value * value;
    return std::sqrt(squares);
}

/// A strategy, a model of 0, the server's control c and the client's c_k.
struct Visit {
    explicit Visit(const std::string& name) : strategy(make_strategy(name, Weighting::Uniform)) {
        const bool keeps = name == "scaffold" || name == "feddyn";
        layout.add("weight", {static_cast<std::int64_t>(kFloats)});
        if (keeps)
            for (const aggregation::MemorySpec& spec : local_rule_spec(name == "feddyn" ? "dynamic" : "scaffold").memories)
                memories.add(spec, {.trainable = kFloats});
        region.resize(kFloats + memories.floats_behind());
        for (std::size_t i = 0; i < kFloats; ++i) {
            c[i] = name == "scaffold" ? 0.5 * std::cos(static_cast<double>(i)) : 0.0;
            c_k[i] = keeps ? 3.0 * std::sin(static_cast<double>(i)) : 0.0;
            state[i] = static_cast<float>(c_k[i]);
            if (memories.floats_behind() > 0) region[kFloats + i] = static_cast<float>(c[i]);
        }
    }

    std::vector<float> trained(double limit, int steps) const {
        Bowl engine;
        clients::LocalStep step(engine, limit);
        clients::MethodText text;
        text.set(strategy.method.text());
        std::optional<clients::FormulaVisit> formulas;
        if (strategy.method.any()) {
            formulas.emplace(text, memories, layout, clients::LocalPart(), clients::Reports(), aggregation::MemorySpace::Host);
            formulas->add_to(step);
            formulas->begin({.all = &memories, .region = region, .record = state, .slot = {}, .beside = {}},
                            aggregation::ConstParamSpan(region).part(0, kFloats), {});
        }
        clients::ClientStart start;
        start.global = aggregation::ConstParamSpan(region).part(0, kFloats);
        start.rate = strategy.rate_in(0);
        step.begin(start);
        const std::vector<std::uint32_t> batch = {0};
        for (int k = 0; k < steps; ++k) step.step(batch);
        const aggregation::ParamSpan local = step.parameters();
        return {local.data, local.data + local.size};
    }

    Vector by_hand(double limit, int steps) const {
        Vector w{};
        const double pull = strategy.name == "feddyn" || strategy.name == "fedprox" ? 0.01 : 0.0;
        for (int k = 0; k < steps; ++k) {
            Vector g{};
            for (std::size_t i = 0; i < kFloats; ++i) g[i] = Bowl::slope(i, w[i]) + pull * w[i] + c[i] - c_k[i];
            const double by = std::min(1.0, limit / length(g));
            for (std::size_t i = 0; i < kFloats; ++i) w[i] -= static_cast<double>(Bowl::kRate) * by * g[i];
        }
        return w;
    }

    Strategy strategy;
    aggregation::Layout layout;
    aggregation::Memories memories;
    Vector c{}, c_k{};
    std::vector<float> region, state = std::vector<float>(kFloats);
};

}  // namespace

TEST_SUITE("ClippedVisit") {
    TEST_CASE("GradientWithEveryTermOfTheStrategyIsClipped") {
        for (const char* strategy : {"fedavg", "fedprox", "scaffold", "feddyn"})
            for (const double limit : {0.05, 0.8, 1000.0}) {
                CAPTURE(strategy);
                CAPTURE(limit);
                const Visit visit(strategy);
                const std::vector<float> trained = visit.trained(limit, 4);
                const Vector expected = visit.by_hand(limit, 4);
                Vector difference{};
                for (std::size_t i = 0; i < kFloats; ++i) difference[i] = static_cast<double>(trained[i]) - expected[i];
                CHECK(length(difference) < 1e-5 * length(expected));
                CHECK(length(expected) <= 4 * 2.0 * limit * (1 + 1e-9));
            }
    }

    TEST_CASE("MeanGradientOfAllExamplesIsNotClipped") {
        const Visit visit("scaffold");
        Bowl engine;
        clients::LocalStep step(engine, 0.05);
        std::vector<float> mean(kFloats);
        const std::vector<std::uint32_t> shard = {0, 1, 2, 3, 4};
        clients::mean_gradient(step, {.batch_size = 2}, visit.strategy.rate_in(0), 0, 0, shard,
                               aggregation::ConstParamSpan(visit.region).part(0, kFloats), mean);
        for (std::size_t i = 0; i < kFloats; ++i)
            CHECK(static_cast<double>(mean[i]) == doctest::Approx(Bowl::slope(i, 0.0)).epsilon(1e-5));
        // The limit does not affect the next client.
        CHECK(visit.trained(0.05, 1) != visit.trained(0.0, 1));
        clients::ClientStart start;
        start.global = aggregation::ConstParamSpan(visit.region).part(0, kFloats);
        step.begin(start);
        const clients::RowBatch batch{shard};
        step.compute_gradients({&batch, 1});
        CHECK(static_cast<double>(step.one_row()->gradient().data[0]) != doctest::Approx(static_cast<double>(mean[0])));
    }
}
