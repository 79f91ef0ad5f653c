// A method's server and weights: memories from step to step, where they are stored, and the cohort's numbers.
#include "aggregation/formulas/formula_server.h"

#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

namespace fedhive::aggregation::formulas {
namespace {

using Floats = std::vector<float>;

/// A model of 16 parameters, then c of the server, which goes down, and d of a visit, which comes up.
struct Scene {
    explicit Scene(const Lines& server, const std::vector<MethodMemory>& kept = {}) {
        method.keys = {{"rate", 0.5}};
        method.memories = {{.name = "c", .owner = MemoryOwner::Server, .down = true},
                           {.name = "d", .owner = MemoryOwner::Visit, .up = true}};
        method.memories.insert(method.memories.end(), kept.begin(), kept.end());
        method.lines[Place::Server] = server;
        layout.add("w", {16});
        for (const MethodMemory& memory : method.memories)
            if (memory.is_declared()) memories.add(memory.spec(), {.trainable = 16, .parameters = 16});
        optimizer = make_formula_server(method, {layout, memories, 12}, numbers);
    }

    /// One step from a region of model 1 and c 2, with an aggregate of u 4 and d 8, of three clients.
    const Floats& step() {
        Floats global(16, 1.0F), aggregate(16, 4.0F);
        global.resize(memories.floats_behind() + 16, 2.0F);
        aggregate.resize(global.size(), 8.0F);
        next.assign(global.size(), 0.0F);
        optimizer->step(next, global, {.values = aggregate, .weight = 1.0, .clients = 3, .round = 7});
        return next;
    }

    MethodFormulas method;
    Layout layout;
    Memories memories;
    std::shared_ptr<CohortNumbers> numbers = std::make_shared<CohortNumbers>();
    std::unique_ptr<ServerOptimizer> optimizer;
    Floats next;
};

std::vector<Sender> two_senders() {
    return {{.client_id = 3,
             .steps = 5,
             .update_norm = 2.0,
             .weight = 0.25,
             .sent_loss = 0.5,
             .num_examples = 10,
             .train_loss = 1.5,
             .reports = {7.0, 9.0}},
            {.client_id = 8,
             .steps = 6,
             .update_norm = 4.0,
             .weight = 0.75,
             .sent_loss = 1.0,
             .num_examples = 30,
             .train_loss = 2.5,
             .reports = {8.0, 11.0}}};
}

MethodFormulas weighing(const Lines& cohort) {
    MethodFormulas method;
    method.reports = {"first", "second"};
    method.lines[Place::Cohort] = cohort;
    return method;
}

TEST_SUITE("FormulaServer") {
    TEST_CASE("MemoriesByClassAreComputedRowByRowWhereTheyTravel") {
        MethodFormulas method;
        method.keys = {{"rate", 0.5}};
        const auto memory = [&](const char* name, MemoryOwner owner, MemoryShape shape) {
            const bool is_server = owner == MemoryOwner::Server;
            method.memories.push_back({.name = name, .owner = owner, .down = is_server, .up = !is_server, .shape = shape});
        };
        memory("P", MemoryOwner::Server, MemoryShape::ClassesByFeatures);
        memory("known", MemoryOwner::Server, MemoryShape::Classes);
        memory("S", MemoryOwner::Visit, MemoryShape::ClassesByFeatures);
        memory("m", MemoryOwner::Visit, MemoryShape::Classes);
        method.lines[Place::Server] = {"let seen = received * m", "w = w + rate * u",
                                       "P = where(seen > 0, received * S / seen + 0 * known, P)",
                                       "known = maximum(known, m > 0)"};
        Layout layout;
        layout.add("w", {16});
        Memories memories;
        for (const MethodMemory& one : method.memories)
            memories.add(one.spec(), {.trainable = 16, .parameters = 16, .classes = 3, .features = 2});
        const auto optimizer = make_formula_server(method, {layout, memories, 12}, std::make_shared<CohortNumbers>());
        Floats global(16 + memories.floats_behind(), 9.0F), aggregate(global.size(), 4.0F), next(global.size(), -1.0F);
        const auto put = [&](Floats& region, std::string_view name, const Floats& values) {
            copy(memories.of(ParamSpan(region), name), ConstParamSpan(values));
        };
        put(global, "P", {1, 2, 3, 4, 5, 6});
        put(global, "known", {0, 1, 0});
        put(aggregate, "S", {8, 16, 24, 32, 40, 48});
        put(aggregate, "m", {2, 0, 4});
        optimizer->step(next, global, {.values = aggregate, .weight = 1.0, .clients = 3, .round = 7});
        const auto found = [&](std::string_view name) {
            const ConstParamSpan values = memories.of(ConstParamSpan(next), name);
            return Floats(values.data, values.data + values.size);
        };
        CHECK(found("P") == Floats{4, 8, 3, 4, 10, 12});  // nobody has the second class
        CHECK(found("known") == Floats{1, 1, 1});
        CHECK(next[0] == 11.0F);
        CHECK(MethodFormulas::of(method.text()).memories[0].shape == MemoryShape::ClassesByFeatures);
    }

    TEST_CASE("MemoriesOfTheServerAndOfAVisitLieWhereTheyTravel") {
        Scene scene({"w = w + rate * u", "c = c + d / clients * received"});
        const Floats& next = scene.step();
        CHECK(next[0] == 1.0F + 0.5F * 4.0F);
        CHECK(next[16] == 2.0F + 8.0F / 12.0F * 3.0F);
    }

    TEST_CASE("WhatStaysAtTheServerIsKeptFromStepToStepAndInItsMoments") {
        Scene scene({"w = w + m", "m = 2 * m + u"}, {{.name = "m", .owner = MemoryOwner::Server, .first = 0.25}});
        const std::vector<Moment> moments = scene.optimizer->moments(scene.memories.floats_behind() + 16, MemorySpace::Host);
        REQUIRE(moments.size() == 1);
        CHECK(std::string(moments[0].name) == "m");
        CHECK(moments[0].values.data[0] == 0.25F);
        CHECK(scene.step()[0] == 1.25F);
        CHECK(moments[0].values.data[0] == 4.5F);
        CHECK(scene.step()[0] == 5.5F);
        CHECK(moments[0].values.data[15] == 13.0F);
    }

    TEST_CASE("NumbersOfTheCohortAndOfTheRoundAreRead") {
        Scene scene({"w = w * round"});
        CHECK(scene.step()[3] == 7.0F);
        MethodFormulas method = weighing({"x = sum_k(k.n)"});
        method.lines[Place::Server] = {"w = w * x"};
        const auto numbers = std::make_shared<CohortNumbers>();
        const auto optimizer = make_formula_server(method, {scene.layout, {}, 12}, numbers);
        const Floats global(16, 1.0F), aggregate(16, 0.0F);
        Floats next(16);
        for (const double x : {2.0, 5.0}) {
            (*numbers)["x"] = x;
            optimizer->step(next, global, {.values = aggregate, .weight = 1.0, .clients = 1});
            CHECK(next[9] == static_cast<float>(x));
        }
    }
}

TEST_SUITE("FormulaWeights") {
    TEST_CASE("WeightsAreTheFormulas") {
        const std::vector<Sender> senders = two_senders();
        const auto numbers = std::make_shared<CohortNumbers>();
        const RoundUpdates updates{.senders = senders, .num_clients = 12, .round = 4};
        for (const auto& [line, expected] :
             std::vector<std::pair<std::string, Numbers>>{{"weight = k.n / sum_k(k.n)", {0.25, 0.75}},
                                                          {"weight = k.steps + 10 * k.norm + 100 * k.loss", {175.0, 296.0}},
                                                          {"weight = k.second - k.first", {2.0, 3.0}},
                                                          {"weight = k.sent_loss * clients + round", {10.0, 16.0}},
                                                          {"weight = 1 / received", {0.5, 0.5}}})
            CHECK_MESSAGE(make_formula_weights(weighing({line}), numbers)->weigh(updates).of_updates == expected, line);
        CHECK(numbers->empty());
    }

    TEST_CASE("WithoutWeightsUpdatesKeepTheirsAndTheNumbersGoToTheServer") {
        const std::vector<Sender> senders = two_senders();
        const auto numbers = std::make_shared<CohortNumbers>(CohortNumbers{{"of an earlier round", 1.0}});
        const auto rule = make_formula_weights(weighing({"most = max_k(k.norm)"}), numbers);
        CHECK(rule->weigh({.senders = senders}).of_updates == Numbers{0.25, 0.75});
        CHECK(*numbers == CohortNumbers{{"most", 4.0}});
    }
}

}  // namespace
}  // namespace fedhive::aggregation::formulas
