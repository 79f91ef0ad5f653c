// Frozen parameters: the others are trained as in the whole model, and the frozen ones stay unchanged.
#include "clients/data/formats/glyphs.h"
#include "clients/models/flat_model.h"
#include "clients/models/model_plan.h"
#include "tests/clients/visit/batched_clients.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using fedhive::testing::Clients;
using Floats = aggregation::testing::Floats;

namespace {

constexpr aggregation::SgdOptions kSgd{0.05F, 0.0F, 0.0F, false};

/// A model with some parameters frozen, and the initial values of the whole one.
struct Frozen {
    Frozen(const ModelSpec& whole, const std::vector<std::string>& patterns) : spec(whole) {
        spec.frozen = NamePatterns::of(patterns);
        const aggregation::Layout layout = model_layout(whole);
        Floats first(layout.num_floats(), 0.0F);
        initial_parameters(whole, layout, 3, first);
        global = aggregation::part_of(layout, first, model_layout(spec));
        frozen = aggregation::part_of(layout, first, frozen_layout(spec));
    }

    ModelSpec spec;
    Floats global, frozen;
};

struct Case {
    ModelSpec spec;
    std::vector<std::string> patterns;
};

std::vector<Case> cases() {
    const auto named = [](const char* name) { return fedhive::testing::small_model(name, {1, 28, 28}, 10, false); };
    LayerList factors;
    factors.add("flatten").add("linear", {16, 1, 3, 6}).add("relu").add("linear", {0, 1, 2});
    return {{named("mnist_cnn"), {"conv*"}},
            {named("mnist_cnn"), {"conv2.weight", "fc1.*"}},
            {named("mlp"), {"fc3.weight"}},
            {named("cnn_m"), {"*.bias"}},
            {fedhive::testing::listed_model(factors, {1, 28, 28}), {"*.weight", "*.bias"}}};
}

}  // namespace

TEST_SUITE("Frozen") {
    TEST_CASE("WhatIsLeftStepsAsInTheWholeModelAndWhatIsFrozenStays") {
        for (const Case& one : cases()) {
            CAPTURE(one.spec.name.get());
            CAPTURE(one.patterns.front());
            Clients whole(one.spec);
            const Frozen part(whole.spec, one.patterns);
            const Floats before = part.frozen;
            FlatModel model(part.spec, MemorySpace::Host, part.frozen);
            LibtorchStep step(model, whole.train, {}, kSgd);
            const auto client = whole.clients({12}).front();
            ClientStart start;
            start.global = part.global;
            step.begin(start);
            step.step(client.shard);
            ClientStart whole_start;
            whole_start.global = whole.global;
            whole.step.begin(whole_start);
            whole.step.step(client.shard);
            CHECK(step.loss_sum() == whole.step.loss_sum());
            const aggregation::Layout layout = model_layout(whole.spec);
            const Floats expected = aggregation::part_of(layout, whole.model.parameters(), model.layout());
            CHECK(aggregation::testing::download(model.parameters()) == expected);
            CHECK(part.frozen == before);
            CHECK(expected != part.global);
            CHECK(model.layout().num_values() + frozen_layout(part.spec).num_values() == layout.num_values());
        }
    }

    TEST_CASE("RowsThatAreTrainedAtOnceShareWhatIsFrozen") {
        for (const Case& one : cases()) {
            CAPTURE(one.spec.name.get());
            CAPTURE(one.patterns.front());
            Clients whole(one.spec);
            const Frozen part(whole.spec, one.patterns);
            const auto clients = whole.clients({9, 6});
            FlatModel model(part.spec, MemorySpace::Host, part.frozen);
            LibtorchStep step(model, whole.train, {}, kSgd);
            VmapStep rows(part.spec, 2, MemorySpace::Host, whole.train, {}, kSgd, part.frozen);
            fedhive::testing::train_rows(rows, whole.plan, {}, whole.round, clients, part.global);
            for (std::size_t row = 0; row < clients.size(); ++row) {
                Floats update(part.global.size());
                train_client(step, whole.plan, {}, whole.round, clients[row].client_id, clients[row].shard, part.global,
                             update);
                const Floats at_once = aggregation::testing::download(rows.parameters_of(row));
                CHECK(testing::largest_difference(at_once, update) < 1e-5);
                CHECK(testing::largest_difference(at_once, Floats(update.size())) > 1e-4);
            }
        }
    }

    TEST_CASE("FrozenValuesOfAnotherSizeAreAFault") {
        const Clients whole("mlp");
        const Frozen part(whole.spec, {"fc1.*"});
        CHECK_THROWS_AS(FlatModel(part.spec, MemorySpace::Host), Fault);
        CHECK_THROWS_AS(FlatModel(whole.spec, MemorySpace::Host, part.frozen), Fault);
    }
}
