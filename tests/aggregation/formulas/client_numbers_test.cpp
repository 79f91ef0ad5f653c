// Numbers that formulas of a cohort keep for each client of the run.
#include "aggregation/formulas/client_numbers.h"
#include "aggregation/formulas/formula_server.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

std::vector<Sender> senders_with(const std::vector<std::uint32_t>& ids) {
    std::vector<Sender> senders;
    for (const std::uint32_t id : ids) senders.push_back({.client_id = id, .num_examples = id + 10});
    return senders;
}

/// One round of four clients' run: what `read` is before it, by these lines.
Numbers round_of(ClientNumbers& numbers, const std::vector<std::uint32_t>& ids, const std::vector<std::string>& lines,
                 const std::string& read = "k.a") {
    Scope scope{.given = {{"k.n", Shape::Cohort}}, .targets = {{"before", Shape::Cohort}}, .products = true};
    numbers.add_to(scope);
    std::vector<std::string> all = lines;
    all.push_back("before = " + read);
    Executor executor(parse(all, scope));
    const std::vector<Sender> senders = senders_with(ids);
    Numbers examples;
    for (const Sender& sender : senders) examples.push_back(static_cast<double>(sender.num_examples));
    const RoundUpdates updates{.senders = senders, .num_clients = 4};
    executor.set("k.n", examples);
    numbers.give(executor, updates);
    executor.run({});
    numbers.take(executor, updates);
    return executor.numbers("before");
}

}  // namespace

TEST_SUITE("ClientNumbers") {
    TEST_CASE("BeginAsZeroAndAreThoseOfTheClientWhereverItStandsInACohort") {
        ClientNumbers numbers({{.name = "a"}, {.name = "b"}});
        const std::vector<std::string> lines = {"k.a = k.a + k.n", "k.b = 1"};
        CHECK(round_of(numbers, {1, 3}, lines) == Numbers{0.0, 0.0});
        CHECK(round_of(numbers, {0, 1, 3}, lines, "k.a + 100 * k.b") == Numbers{0.0, 111.0, 113.0});
        CHECK(round_of(numbers, {3, 2}, lines) == Numbers{26.0, 0.0});
        CHECK(round_of(numbers, {3}, {}) == Numbers{39.0});  // not set: stays
        CHECK(round_of(numbers, {3}, {}) == Numbers{39.0});
    }

    TEST_CASE("EachBeginsAsItsFirst") {
        ClientNumbers numbers({{.name = "a", .first = 2.5}, {.name = "b", .first = -1.0}});
        CHECK(round_of(numbers, {1, 3}, {"k.b = k.b + 1"}, "k.a + 10 * k.b") == Numbers{-7.5, -7.5});
        CHECK(round_of(numbers, {0, 1}, {}, "k.a + 10 * k.b") == Numbers{-7.5, 2.5});
    }

    TEST_CASE("OnTheSimplexAllClientsMove") {
        ClientNumbers numbers({{.name = "a", .on_simplex = true}});
        CHECK(round_of(numbers, {2}, {"k.a = k.a + 0.4"}) == Numbers{0.25});
        const Numbers after = round_of(numbers, {0, 1, 2, 3}, {});
        for (const std::size_t other : {0U, 1U, 3U}) CHECK(after[other] == doctest::Approx(0.15));
        CHECK(after[2] == doctest::Approx(0.55));
    }

    TEST_CASE("AnotherProcessGoesOnFromTheirText") {
        ClientNumbers numbers({{.name = "a"}, {.name = "b"}}), others({{.name = "a"}, {.name = "b"}});
        CHECK(numbers.state().empty());
        round_of(numbers, {3, 1}, {"k.a = 1 / k.n"});
        CHECK(numbers.state() == "1,0.09090909090909091,0,3,0.07692307692307693,0,");
        REQUIRE(others.restore(numbers.state()));
        CHECK(others.state() == numbers.state());
        CHECK(round_of(others, {1, 2}, {}) == Numbers{1.0 / 11.0, 0.0});
        for (const char* wrong : {"1,0.5", "1,0.5,", "x,1,1,", "1,nan,0,", "-1,0,0,", "0.5,0,0,", "5000000000,0,0,", "7:"})
            CHECK_FALSE(others.restore(wrong));
        CHECK_FALSE(ClientNumbers({}).restore("1,"));
        CHECK(ClientNumbers({}).restore(""));
    }

    TEST_CASE("AMethodsWeightsGoOnFromTheirState") {
        MethodFormulas method;
        method.of_clients = {{.name = "a", .first = 0.5}};
        method.lines[Place::Cohort] = {"weight = k.a", "k.a = k.a + k.n"};
        const std::vector<Sender> senders = senders_with({1, 3});
        const RoundUpdates updates{.senders = senders, .num_clients = 4};
        const auto numbers = std::make_shared<CohortNumbers>();
        const auto rule = make_formula_weights(method, numbers), other = make_formula_weights(method, numbers);
        CHECK(rule->weigh(updates).of_updates == std::vector<double>{0.5, 0.5});
        REQUIRE(other->restore(rule->state()));
        CHECK(other->weigh(updates).of_updates == std::vector<double>{11.5, 13.5});
    }
}

}  // namespace fedhive::aggregation::formulas
