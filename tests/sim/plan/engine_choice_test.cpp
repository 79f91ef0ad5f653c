// Resolving training.engine, and errors for features that the direct engine lacks.
#include "sim/plan/engine_choice.h"
#include "sim/config/load_config.h"

#include "aggregation/memory/param_span.h"
#include "clients/engine/features.h"
#include "sim/plan/experiment.h"
#include "sim/run/run_plan.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr const char* kLayers =
    "model={layers: [{conv2d: {out: 4, kernel: 3}}, {conv2d: {out: 4, kernel: 3, padding: 3}}, flatten, linear]}";

struct Outcome {
    std::string engine, why, plan;
};

Outcome chosen_with(const std::vector<std::string>& overrides) {
    const testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "run.yaml") << R"(
device: cpu
data: {format: glyphs, num_train: 40, num_test: 10, partition: {scheme: iid, clients: 4}}
model: {name: mlp}
training: {cohort: 4, engine: auto}
)";
    const Experiment run = Experiment::to_inspect(load_config(folder.path() / "run.yaml", overrides));
    CHECK((run.worker_plan.engine == run.resources.engine_choice.engine));
    CHECK(
        honoured_by(way_of(run.worker_plan.engine, run.resources.space, run.worker_plan.asked)).has_all(run.worker_plan.asked));
    return {word_of(run.worker_plan.engine), run.resources.engine_choice.why, describe_plan(run, "folder")};
}

std::string engine_of(const std::vector<std::string>& overrides) { return chosen_with(overrides).engine; }

std::string refusal(std::vector<std::string> overrides) {
    overrides.emplace_back("training.engine=direct");
    try {
        engine_of(overrides);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("EngineChoice") {
    TEST_CASE("AutoIsDirectWhereNothingStandsInItsWay") {
        CHECK(engine_of({}) == "direct");
        CHECK(engine_of({"model={name: mnist_cnn}"}) == "direct");
        CHECK(engine_of({"training.precision=tf32"}) == "direct");
        CHECK(engine_of({"model={name: resnet20, norm: batch}"}) == "direct");
        CHECK(engine_of({"model.frozen=[\"fc1.*\"]"}) == "direct");
        CHECK(engine_of({"training.engine=libtorch"}) == "libtorch");
        CHECK(engine_of({kLayers}) == "libtorch");
        CHECK(engine_of({"threads=2"}) == "libtorch");
        CHECK(engine_of({"training.precision=bf16"}) == "libtorch");
        CHECK(engine_of({"training.clients_at_once=4"}) == "libtorch");
        CHECK(engine_of({"mode={name: split, cut: fc1}", "workers=2"}) == "libtorch");
    }

    TEST_CASE("WhereItIsAskedForItSaysWhatItCannotDo") {
        for (const auto& [change, reason] :
             std::vector<std::pair<std::string, std::string>>{{kLayers, "conv2d"},
                                                              {"threads=2", "threads is 2"},
                                                              {"training.precision=bf16", "training.precision is bf16"},
                                                              {"training.clients_at_once=4", "training.clients_at_once is 4"},
                                                              {"mode={name: split, cut: fc1}", "mode 'split'"}}) {
            const std::string text = refusal({change, "workers=2"});
            CAPTURE(text);
            CHECK(text.starts_with("--set training.engine=direct: training.engine: "));
            CHECK(says(text, reason));
            CHECK_MESSAGE_IS("plan", change, text);
        }
    }

    TEST_CASE("PlanSaysWhoTrainsAndWhy") {
        for (const std::string change : {kLayers, "threads=2", "training.engine=libtorch"}) {
            const Outcome chosen = chosen_with({change});
            CHECK(chosen.engine == "libtorch");
            CHECK_MESSAGE_IS("plan", change, chosen.why);
            CHECK_MESSAGE(says(chosen.plan, "\nsteps       by LibTorch: " + chosen.why + "\n"), chosen.plan);
        }
        const Outcome direct = chosen_with({});
        CHECK(direct.why.empty());
        CHECK(says(direct.plan, "\nsteps       by the direct engine, "));
    }

    TEST_CASE("NoWayOfTrainingHonoursWhatItDoesNotList") {
        using clients::Engine;
        using clients::Feature;
        using clients::Way;
        constexpr auto kFirstUnknown = static_cast<Feature>(static_cast<std::uint32_t>(Feature::Halves) + 1);
        for (const Way way :
             {Way::Direct, Way::DirectOnGpu, Way::DirectBlocks, Way::Libtorch, Way::LibtorchRows, Way::LibtorchHalves}) {
            CHECK_FALSE(honoured_by(way).has(kFirstUnknown));
            CHECK_FALSE(honoured_by(way).has_all({kFirstUnknown}));
            CHECK(honoured_by(way).has(Feature::RateOfRound));
        }
        // Features that the GPU's direct engine lacks are trained step by step, or by LibTorch.
        const auto on_gpu = aggregation::MemorySpace::Cuda;
        CHECK(way_of(Engine::Direct, on_gpu, {Feature::OneClass, Feature::ElementFormula}) == Way::DirectBlocks);
        CHECK(way_of(Engine::Direct, on_gpu, {Feature::OneClass, Feature::ClippedGradient}) == Way::DirectOnGpu);
        CHECK_FALSE(honoured_by(Way::DirectOnGpu).has(Feature::IgnoredTargets));
        CHECK(honoured_by(Way::Direct).has(Feature::IgnoredTargets));
        CHECK_FALSE(honoured_by(Way::LibtorchRows).has(Feature::BFloat16));
    }
}
