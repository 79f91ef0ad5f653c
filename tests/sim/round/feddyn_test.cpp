// FedDyn's parts together, on two clients with one parabola each, with numbers computed by hand.
#include "clients/visit/formula_visit.h"
#include "sim/strategies/strategy.h"
#include "tests/aggregation/server_steps.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// F(w) = a / 2 * (w - b)^2, one parameter; a step of rate 1 / (a + alpha) is at the minimum of what FedDyn makes of it.
class Parabola final : public clients::OneRowStep<> {
public:
    Parabola(float a, float b, float rate) : a_(a), b_(b), rate_(rate) {}
    aggregation::ParamSpan parameters_of(std::size_t) override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const clients::ClientStart& start) override { local_[0] = start.global.data[0]; }
    void compute_gradients(std::span<const clients::RowBatch>) override { gradient_[0] = a_ * (local_[0] - b_); }
    void apply_gradients() override { local_[0] -= rate_ * gradient_[0]; }
    double loss_of(std::size_t) override { return 0.0; }

private:
    float a_, b_, rate_;
    std::vector<float> local_ = {0.0F}, gradient_ = {0.0F};
};

/// A vector of one parameter as the arena stores it, with its padding.
std::vector<float> padded(float value = 0.0F) {
    std::vector<float> floats(16);
    floats[0] = value;
    return floats;
}

/// Two parabolas, 1/2 (w - 4)^2 and 3/2 w^2, with alpha 1. Their sum has its minimum at 1.
struct Two {
    Strategy strategy = make_strategy("feddyn", Weighting::Uniform, {.local = {"", {{"alpha", 1.0}}}});
    aggregation::formulas::ServerScene scene = aggregation::testing::scene_of(1);
    aggregation::Memories memories;
    std::unique_ptr<aggregation::ServerOptimizer> server;
    std::vector<float> model = padded();
    std::vector<float> kept = {0.0F, 0.0F};

    Two() {
        for (const aggregation::MemorySpec& spec : local_rule_spec("dynamic").memories) memories.add(spec, {.trainable = 1});
        scene.num_clients = 2;
        server = aggregation::testing::server_by(strategy.on_server, scene);
    }

    /// What a client's visit makes: its model, and what it keeps.
    struct Visit {
        float at_minimum = 0.0F, g_k = 0.0F;
    };

    /// One step reaches the minimum, and the next one stays there.
    Visit visit(std::size_t client) const {
        Parabola engine(client == 0 ? 1.0F : 3.0F, client == 0 ? 4.0F : 0.0F, client == 0 ? 0.5F : 0.25F);
        clients::LocalStep step(engine);
        clients::MethodText text;
        text.set(strategy.method.text());
        clients::FormulaVisit formulas(text, memories, scene.layout, {}, {}, aggregation::MemorySpace::Host);
        formulas.add_to(step);
        const std::vector<float> state = padded(kept[client]);
        std::vector<float> slot = padded(), written = padded();
        const aggregation::VisitMemories of_visit{
            .all = &memories, .region = model, .record = state, .slot = slot, .beside = written};
        clients::ClientStart start;
        start.global = formulas.begin(of_visit, model, {.steps = 2, .lr = 1.0});
        start.rate = strategy.rate_in(0);
        step.begin(start);
        const std::vector<std::uint32_t> batch = {0};
        step.step(batch);
        const float at_minimum = step.parameters().data[0];
        clients::ReportValues reports{};
        const std::vector<float> trained = padded(at_minimum);
        formulas.end(of_visit, trained, {.steps = 2}, 0.0, reports);
        step.step(batch);
        CHECK(static_cast<double>(step.parameters().data[0]) == doctest::Approx(static_cast<double>(at_minimum)).epsilon(1e-6));
        return {at_minimum, memories.of(aggregation::ParamSpan(written), "g_k").data[0]};
    }
    float trained(std::size_t client) const { return visit(client).at_minimum; }

    void round(const std::vector<std::size_t>& cohort) {
        std::vector<float> mean = padded(), next = padded();
        for (const std::size_t client : cohort) {
            const Visit visited = visit(client);
            mean[0] += (visited.at_minimum - model[0]) / static_cast<float>(cohort.size());
            kept[client] = visited.g_k;
        }
        server->step(next, model, {mean, static_cast<double>(cohort.size()), cohort.size()});
        model = next;
    }

    float h() { return server->moments(model.size(), aggregation::MemorySpace::Host).back().values.data[0]; }
};

}  // namespace

TEST_SUITE("FedDyn") {
    TEST_CASE("RoundsOfTwoParabolasAreThoseByHand") {
        Two run;
        CHECK(run.trained(0) == 2.0F);  // (1 * 4 + 0 + 1 * 0) / (1 + 1)
        CHECK(run.trained(1) == 0.0F);
        run.round({0, 1});
        CHECK(run.kept == std::vector<float>{-2.0F, 0.0F});  // their slopes at 2 and at 0
        CHECK(run.h() == -1.0F);                             // 0 - 1 * (1/2) * (2 + 0)
        CHECK(run.model[0] == 2.0F);                         // 1 + 1
        CHECK(run.trained(1) == 0.5F);                       // (3 * 0 + 0 + 1 * 2) / (3 + 1)
        run.round({1});
        CHECK(run.kept == std::vector<float>{-2.0F, 1.5F});
        CHECK(run.h() == -0.25F);  // -1 - 1 * (1/2) * (0.5 - 2)
        CHECK(run.model[0] == 0.75F);
    }

    TEST_CASE("ItComesToTheMinimumOfTheWholeWhichTheMeanOfMinimaIsNot") {
        Two run;
        for (int round = 0; round < 100; ++round) run.round({0, 1});
        CHECK(static_cast<double>(run.model[0]) == doctest::Approx(1.0).epsilon(1e-5));
        CHECK(static_cast<double>(run.kept[0]) == doctest::Approx(-3.0).epsilon(1e-5));  // 1 * (1 - 4)
        CHECK(static_cast<double>(run.kept[1]) == doctest::Approx(3.0).epsilon(1e-5));   // 3 * (1 - 0)
        CHECK(static_cast<double>(run.h()) == doctest::Approx(0.0).epsilon(1e-5));
    }
}
