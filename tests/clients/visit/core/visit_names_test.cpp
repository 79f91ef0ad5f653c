// What the names of a visit's formulas stand for, and what is written where.
#include "clients/visit/formula_visit.h"

#include "clients/models/model_plan.h"
#include "tests/support/plain_engine/steps.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemoryOwner;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::Place;

namespace {

using VisitFloats = std::vector<float>;

constexpr std::size_t kValues = 8, kFirstOfBias = 16, kTrainable = 32;  // a weight of six, padding, a bias of two, padding

/// A step whose gradient is 3 everywhere.
struct ThreeStep final : OneRowStep<> {
    aggregation::ParamSpan parameters_of(std::size_t) override { return local; }
    aggregation::ParamSpan gradient() override { return slope; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const ClientStart& start) override { aggregation::copy(local, start.global); }
    void compute_gradients(std::span<const RowBatch>) override { slope.assign(kTrainable, 3.0F); }
    void apply_gradients() override {}
    double loss_of(std::size_t) override { return 0.0; }

    VisitFloats local = VisitFloats(kTrainable), slope = VisitFloats(kTrainable);
};

/// A method for a softmax regression with a memory c of the server (10), own of a client, begun as the model (first), d of a visit.
struct NamedVisit {
    explicit NamedVisit(const std::map<Place, aggregation::formulas::Lines>& lines,
                        const std::vector<std::string>& local = {}) {
        if (!local.empty()) spec.local = NamePatterns::of(local);
        method.lines = lines;
        method.reports = {"told"};
        method.memories = {{.name = "c", .owner = MemoryOwner::Server, .down = true},
                           {.name = "own", .owner = MemoryOwner::Client},
                           {.name = "first", .owner = MemoryOwner::Client, .begins_as_model = true},
                           {.name = "d", .owner = MemoryOwner::Visit, .up = true}};
        for (const auto& memory : method.memories)
            memories.add(memory.spec(), {.trainable = kTrainable, .parameters = kValues});
        reports.add("told");
        MethodText text;
        text.set(method.text());
        visit.emplace(text, memories, model_layout(spec), LocalPart(spec), reports, aggregation::MemorySpace::Host);
        visit->add_to(step);
        region.resize(kTrainable + memories.floats_behind(), 10.0F);
        std::fill_n(region.begin(), kTrainable, 1.0F);
        slot.assign(region.size(), kOld);
        beside.assign(memories.floats_beside(), kOld);
    }

    aggregation::VisitMemories all() { return {&memories, region, record, slot, beside}; }
    aggregation::ConstParamSpan begin(std::uint32_t round = 0) {
        began = visit->begin(all(), aggregation::ConstParamSpan(region).part(0, kTrainable), {round, 40, 4, 0.5});
        ClientStart start;
        start.global = began;
        step.begin(start);
        return began;
    }
    float gradient() {
        const RowBatch batch;
        step.compute_gradients({&batch, 1});
        return engine.slope[0];
    }
    double end(double loss = 0.75) {
        ReportValues told{};
        const VisitFloats trained(kTrainable, 5.0F);
        visit->end(all(), trained, {.steps = 4}, loss, told);
        return told[0];
    }
    float written(const char* name, std::size_t i = 0) { return all().written(name).data[i]; }

    static constexpr float kOld = 99.0F;
    ModelSpec spec = named_model("lr", {3, 1, 1}, 2);
    MethodFormulas method;
    aggregation::Memories memories;
    Reports reports;
    ThreeStep engine;
    LocalStep step{engine};
    std::optional<FormulaVisit> visit;
    VisitFloats region, record, slot, beside;
    aggregation::ConstParamSpan began;
};

}  // namespace

TEST_SUITE("VisitNames") {
    TEST_CASE("AStepsGradientReadsTheVisitsNames") {
        const auto of = [](const char* formula) {
            NamedVisit visit({{Place::Start, {"w = w_t + 1"}}, {Place::Gradient, {formula}}});
            visit.begin(6);
            return visit.gradient();
        };
        CHECK(of("g = g + 100 * w + 1000 * w_t") == 3.0F + 200.0F + 1000.0F);
        CHECK(of("g = w_0") == 2.0F);
        CHECK(of("g = c - g") == 7.0F);
        CHECK(of("g = round * n + lr + 0 * g") == 240.5F);
    }

    TEST_CASE("StepsCountFromZeroInEachVisit") {
        NamedVisit visit({{Place::Gradient, {"g = g + step"}}});
        for (int client = 0; client < 2; ++client) {
            visit.begin();
            for (int step = 0; step < 3; ++step) CHECK(visit.gradient() == 3.0F + static_cast<float>(step));
        }
    }

    TEST_CASE("AClientsMemoriesAreThoseOfItsRecordAndAtFirstZeroOrTheModel") {
        NamedVisit visit({{Place::Gradient, {"g = own + 100 * first"}}});
        visit.begin();
        CHECK(visit.gradient() == 100.0F);
        visit.record.assign(visit.memories.record_floats(), 2.0F);
        visit.begin();
        CHECK(visit.gradient() == 202.0F);
        visit.record.clear();  // another client, who has none
        visit.begin();
        CHECK(visit.gradient() == 100.0F);
    }

    TEST_CASE("TheEndWritesMemoriesAndReportsOfTheVisit") {
        NamedVisit visit({{Place::Start, {"w = w_t + 1"}},
                          {Place::End, {"own = w + w_0", "first = u", "d = w_t + steps + n + lr", "told = loss + norm(c)"}}});
        visit.begin();
        CHECK(visit.end() == doctest::Approx(0.75 + 10.0 * std::sqrt(8.0)));
        CHECK(visit.written("own") == 7.0F);
        CHECK(visit.written("first") == 4.0F);
        CHECK(visit.written("d") == 45.5F);
    }

    TEST_CASE("PaddingAndWhatAClientDoesNotShareAreZero") {
        NamedVisit shared({{Place::End, {"d = w", "own = w", "first = w", "told = 1"}}});
        shared.begin();
        shared.end();
        for (const std::size_t inside : {0U, 5U, 16U, 17U}) CHECK(shared.written("d", inside) == 5.0F);
        for (const std::size_t padding : {6U, 15U, 18U, 31U}) {
            CHECK(shared.written("d", padding) == 0.0F);
            CHECK(shared.written("own", padding) == 0.0F);
        }
        NamedVisit parted({{Place::End, {"d = w", "own = w", "first = w", "told = 1"}}}, {"*bias"});
        parted.begin();
        parted.end();
        CHECK(parted.written("d", 5) == 5.0F);
        for (std::size_t i = kFirstOfBias; i < kTrainable; ++i) CHECK(parted.written("d", i) == 0.0F);
    }

    TEST_CASE("TheMeanGradientIsThatAtTheModelThatWasSent") {
        const char* names[] = {"g = g_t", "g = g + g_t"};
        for (const char* formula : names) {
            NamedVisit visit(
                {{Place::Gradient, {formula}}, {Place::End, {"d = 2 * g_t", "own = w", "first = w", "told = norm(g_t)"}}});
            ThreeStep bare;
            visit.visit->take_gradient(bare, {.batch_size = 2}, {0, 0, std::vector<std::uint32_t>{4, 5, 6}},
                                       aggregation::ConstParamSpan(visit.region).part(0, kTrainable));
            visit.begin();
            CHECK(visit.gradient() == (formula == names[0] ? 3.0F : 6.0F));
            CHECK(visit.end() == doctest::Approx(3.0 * std::sqrt(8.0)));
            CHECK(visit.written("d") == 6.0F);
        }
    }
}
