// Memory of workers: computed for the host, measured for a device. Workers run the toy trainer.
#include "sim/plan/memory_plan.h"
#include "sim/config/load_config.h"

#include "clients/direct/network.h"
#include "sim/plan/experiment.h"
#include "tests/support/golden_messages.h"
#include "tests/support/skip.h"
#include "tests/support/small_model.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <malloc.h>
#include <cstdlib>
#include <fstream>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

LoadedConfig config(const std::vector<std::string>& overrides = {}) {
    static const testing::TemporaryFolder folder;
    const auto file = folder.path() / "plan.yaml";
    std::ofstream(file) << "data: {format: synthetic, num_train: 100, num_test: 20, num_features: 4, partition: {scheme: "
                           "contiguous, clients: 3}}\nmodel: {name: lr}\ndevice: cpu\n";
    return load_config(file, overrides);
}

const aggregation::Memories kNone;

}  // namespace

TEST_SUITE("MemoryPlan") {
    TEST_CASE("WorkerTakesItsProcessAndItsVectors") {
        RunConfig run;
        CHECK(host_bytes_of_worker(run, kNone, 1000, 1) == (64U << 20) + 2 * 4000);
        run.strategy.parts.local = {"prox"};  // needs the gradient in one piece
        CHECK(host_bytes_of_worker(run, kNone, 1000, 1) == (64U << 20) + 3 * 4000);
        run.strategy.parts.local = {"plain"};
        run.training.optimizer.values.set("momentum", 0.9);
        CHECK(host_bytes_of_worker(run, kNone, 1000, 1) == (64U << 20) + 3 * 4000);
        CHECK(host_bytes_of_worker(run, kNone, 1000, 8) == (64U << 20) + (3 + 3) * 4000);  // log2(8) partial sums
        run.training.clients_at_once = 4;  // each has a local model, a gradient and its momentum
        CHECK(host_bytes_of_worker(run, kNone, 1000, 8) == (64U << 20) + (3 + 3 + 4 * 3) * 4000);
    }

    TEST_CASE("WorkerHasAVectorForEachMemory") {
        using aggregation::MemoryOwner;
        const auto vectors = [](const std::vector<aggregation::MemorySpec>& specs, const RunConfig& run = {}) {
            aggregation::Memories memories;
            for (const aggregation::MemorySpec& spec : specs) memories.add(spec, {.trainable = 1000});
            return (host_bytes_of_worker(run, memories, 1000, 1) - (64U << 20)) / 4000;
        };
        CHECK(vectors({}) == 2);
        CHECK(vectors({{.name = "of a strategy", .up = true}}) == 3);
        const aggregation::MemorySpec kept{
            .name = "another", .owner = MemoryOwner::Client, .change = aggregation::MemoryChange::Set};
        CHECK(vectors({{.name = "of a strategy", .owner = MemoryOwner::Server, .down = true}, kept}) == 4);
        RunConfig corrected;
        corrected.strategy.name = "scaffold";
        const std::vector<aggregation::MemorySpec> variates = local_rule_spec("scaffold").memories;  // c, c_k, d
        CHECK(vectors(variates, corrected) == 2 + 1 + 3);  // and the gradient that is corrected, in one piece
        RunConfig clipped = corrected;
        clipped.training.clip_norm = 1.0;  // which wants the gradient, too, and zeros
        CHECK(vectors(variates, clipped) == vectors(variates, corrected) + 1);
        RunConfig feedback;
        feedback.upload = {{"error_feedback"}, {"sign"}};
        CHECK(vectors({kept}, feedback) == 4);
        feedback.strategy.name = "scaffold";
        CHECK(vectors(variates, feedback) == vectors(variates, corrected) + 1);  // the update that a step reads
        const Experiment scaffold = Experiment::to_inspect(config({"strategy={name: scaffold}"}));
        const Experiment fedavg = Experiment::to_inspect(config());
        CHECK(host_bytes_of_worker(scaffold) - host_bytes_of_worker(fedavg) == 4 * 4 * scaffold.model.layout.num_floats());
    }

    TEST_CASE("AWorkerAddsHistoriesToARangeOfColumnsOfEachUpdate") {
        RunConfig run;
        run.strategy.name = "foolsgold";
        run.training.cohort = 7;
        constexpr std::uint64_t kFewer = 1000, kMore = 100'000;
        const auto beside = [&](std::uint64_t floats) {
            RunConfig mean = run;
            mean.strategy.name = "fedavg";
            return host_bytes_of_worker(run, kNone, floats, 1) - host_bytes_of_worker(mean, kNone, floats, 1);
        };
        CHECK(beside(kFewer) == 7 * kFewer * 4);
        CHECK(beside(kMore) == 7 * 32'768 * 4);
        CHECK(device_bytes_beyond_rehearsal(run, kNone, kMore, 1) == 7 * 32'768 * 4);
    }

    TEST_CASE("MeasuredGradientsHaveVectors") {
        const auto vectors = [](const RunConfig& run) {
            return (host_bytes_of_worker(run, kNone, 1000, 1) - (64U << 20)) / 4000;
        };
        RunConfig run;
        run.training.measure = {"loss"};
        CHECK(vectors(run) == 2);
        run.training.measure = {"loss", "gradient_norm"};
        CHECK(vectors(run) == 4);
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 1) == 0);  // the rehearsal measures it
        run.sampling.name = "gradient_norm";
        CHECK(vectors(run) == 6);
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 1) == 2 * 4000);
    }

    TEST_CASE("WhatLiesBetweenTheLayersIsThatOfABatchOrOfAnEvaluation") {
        const clients::ModelSpec model = clients::named_model("mlp", {4, 1, 1}, 3, {{"hidden", std::int64_t{5}}});
        constexpr std::uint64_t kAll = 4 + 5 + 5 + 5 + 5 + 3;
        RunConfig run;
        run.training.batch_size = 100;
        CHECK(activation_bytes_of_worker(run, model, clients::Engine::Direct) == 100 * kAll * 4);
        run.training.batch_size = 10;
        CHECK(activation_bytes_of_worker(run, model, clients::Engine::Direct) == 64 * kAll * 4);
        run.evaluation.chunk_size = 200;
        CHECK(activation_bytes_of_worker(run, model, clients::Engine::Libtorch) == 200 * 5 * 5 * 4);
        run.training.clients_at_once = 8;
        run.training.batch_size = 100;
        CHECK(activation_bytes_of_worker(run, model, clients::Engine::Libtorch) == 8 * 100 * kAll * 4);
    }

    TEST_CASE("GatesSharesAndGradientsOfAWholeBatchArePlanned") {
        const auto bytes_of_example = [](const clients::LayerList& layers, const clients::ExampleShape& input) {
            RunConfig run;
            run.training.batch_size = 100;
            return activation_bytes_of_worker(run, testing::listed_model(layers, input, 3), clients::Engine::Direct) / 400;
        };
        const clients::ExampleShape tokens{5, 1, 1, 9};
        using clients::LayerList;
        // Outputs, gates and states of 5 positions, gradients between layers, and twice the largest output's gradient.
        CHECK(bytes_of_example(LayerList().add("embedding", {4}).add("lstm", {6}).add("linear"), tokens) ==
              5 * 4 + 6 + 3 + 5 * 7 * 6 + 2 * 5 * 6 + 2 * 5 * 4);
        CHECK(
            bytes_of_example(
                LayerList().add("embedding", {4}).add("gru", {6, 2, 1, 1, 0.5F}).add("last_position").add("linear"), tokens) ==
            5 * 4 + 5 * 12 + 12 + 3 + 2 * 5 * (2 * 7 * 6 + 3 * 6) + 5 * 4 + 5 * 12 + 2 * 5 * 12 + 5 * 12 + 2 * 5 * 12);
        CHECK(bytes_of_example(LayerList().add("embedding", {4}).add("attention", {2}).add("last_position").add("linear"),
                               tokens) == 5 * 4 + 5 * 4 + 4 + 3 + 8 * 5 * 4 + 2 * 5 * 5 + 2 * 5 * 4);
        CHECK(bytes_of_example(LayerList().add("conv2d", {2, 1}).add("batch_norm").add("flatten").add("linear"), {1, 4, 4}) ==
              3 * 2 * 16 + 3 + 2 * 2 * 16);
    }

    TEST_CASE("PlanOfABatchIsNearWhatTheDirectEngineAllocates") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        FEDHIVE_SKIP("a sanitizer's allocator does not say what is allocated");
#endif
        const clients::ExampleShape tokens{40, 1, 1, 9};
        using clients::LayerList;
        LayerList attention, both_ways;
        attention.add("embedding", {32})
            .add("residual")
            .add("attention", {4, 1, 0.1F})
            .end()
            .add("last_position")
            .add("linear");
        both_ways.add("embedding", {24}).add("gru", {32, 2, 1, 1, 0.2F}).add("lstm", {32, 1}).add("linear");
        for (const LayerList& layers : {attention, both_ways}) {
            const clients::ModelSpec model = testing::listed_model(layers, tokens, 3);
            const auto allocated_for = [&](std::size_t batch_size) {
                clients::direct::Network network(model);
                const std::vector<float> parameters(network.layout().num_floats(), 0.1F), examples(batch_size * 40, 1.0F);
                std::vector<float> gradient(network.layout().num_trainable());
                const std::vector<std::int64_t> labels(batch_size, 1);
                const struct mallinfo2 before = mallinfo2();
                network.train(parameters.data(), gradient.data(), {examples.data(), labels.data(), batch_size}, 1);
                const struct mallinfo2 after = mallinfo2();
                return static_cast<double>(after.uordblks + after.hblkhd) -
                       static_cast<double>(before.uordblks + before.hblkhd);
            };
            RunConfig run;
            run.training.batch_size = 400;
            const auto planned = static_cast<double>(activation_bytes_of_worker(run, model, clients::Engine::Direct));
            const double grown = allocated_for(420) - allocated_for(20);  // without what does not depend on the batch
            CAPTURE(planned);
            CAPTURE(grown);
            CHECK(grown <= 1.1 * planned);  // a residual's own gradients are not planned
            CHECK(grown >= 0.9 * planned);
        }
    }

    TEST_CASE("WorkerOnADeviceTakesWhatTheRehearsalDoesNotShow") {
        RunConfig run;
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 1) == 0);
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 8) == 3 * 4000);  // partial sums
        run.training.clients_at_once = 4;
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 8) == 1 * 4000);  // two of them and the rows are rehearsed
        run.strategy.parts.local = {"prox"};                                    // needs the gradient in one piece
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 8) == 2 * 4000);
        run.training.graph = true;  // a recording does not contain the proximal term
        CHECK(device_bytes_beyond_rehearsal(run, kNone, 1000, 8) == 2 * 4000);
        RunConfig server;
        server.mode.name = "parameter_server";
        CHECK(device_bytes_beyond_rehearsal(server, kNone, 1000, 1) == 2 * 4000);
        CHECK(device_bytes_for_workers(1000) == 950);
        CHECK(device_bytes_of_rows(1000, 1) == 3 * 4000);
        CHECK(device_bytes_of_rows(1000, 5) == 8 * 3 * 4000);
        CHECK(device_bytes_of_rows(1000, 1000) == 64 * 3 * 4000);
        CHECK(device_bytes_of_rows(5'000'000, 1000) == 4 * 3 * 20'000'000U);  // as many as fit into 256 MiB
        CHECK(device_bytes_of_rows(50'000'000, 1000) == 3 * 200'000'000U);
        CHECK(device_bytes_of_rows(1000, 1000, 5'000'000) == 8 * 20'012'000U);  // with the values of a whole batch each
    }

    TEST_CASE("AutoTakesWhatFitsAndANumberIsRefused") {
        CHECK(workers_that_fit(config(), 8, 100, 850, "host") == 8);
        CHECK(workers_that_fit(config(), 8, 100, 350, "host") == 3);
        CHECK(workers_that_fit(config({"workers=8"}), 8, 100, 850, "host") == 8);
        CHECK_THROWN_MESSAGE("plan", "--set workers=8: workers: 8 workers need 800 bytes", ConfigError,
                             workers_that_fit(config({"workers=8"}), 8, 100, 350, "device"));
        CHECK_THROWN_MESSAGE("plan", "workers: 8 workers need 3200 bytes", ConfigError,
                             workers_that_fit(config(), 8, 400, 350, "device"));
        CHECK_THROWN_MESSAGE("plan", "; held by process 7 (python3): 1.0 GiB", ConfigError,
                             workers_that_fit(config(), 8, 400, 350, "device", "; held by process 7 (python3): 1.0 GiB"));
    }

    TEST_CASE("ShapeMakesPixelsOfTheSameFeatures") {
        const Experiment flat = Experiment::to_inspect(config({"data.num_features=48"}));
        const Experiment pixels = Experiment::to_inspect(config({"data.shape=[3, 8, 2]"}));
        CHECK(flat.data.dataset.map().shape == clients::ExampleShape{48, 1, 1});
        CHECK(pixels.data.dataset.map().shape == clients::ExampleShape{3, 8, 2});
        const auto values = [](const Experiment& run) { return run.data.dataset.train().values; };
        CHECK(std::ranges::equal(values(flat), values(pixels)));
    }

    TEST_CASE("RehearsalMeasuresOneWorkerAndLeavesTheModelAlone") {
        const Experiment run = Experiment::to_inspect(config());
        const auto model = [&] {
            const auto values = run.server.global_model().host();
            return std::vector<float>(values.begin(), values.end());
        };
        const std::vector<float> before = model();
        unsetenv("TOY_FAULT");
        std::vector<std::uint64_t> free = {700, 1000};
        const auto free_bytes = [&] {
            const std::uint64_t now = free.back();
            free.pop_back();
            return now;
        };
        const Rehearsal one = rehearse_worker(run, free_bytes);
        CHECK(one.bytes == 300);
        CHECK(one.step_s > 0.0);
        CHECK(one.step_s < 1.0);
        CHECK(free.empty());
        CHECK(model() == before);
        CHECK(run.server.state.round == 0);
    }

    TEST_CASE("RehearsalTrainsAsManyAtOnceAsTheRunAndNobodyForAnEvaluation") {
        unsetenv("TOY_FAULT");
        const auto nothing = [] { return std::uint64_t{0}; };
        const Experiment evaluated = Experiment::to_inspect(config());
        CHECK(rehearse_worker(evaluated, nothing, true).step_s > 0.0);
        CHECK(rehearse_worker(evaluated, nothing, false).step_s == 0.0);
        // The toy cannot train several clients at once, so no step is measured.
        const Experiment at_once = Experiment::to_inspect(config({"training.clients_at_once=2"}));
        CHECK(rehearse_worker(at_once, nothing, true).step_s == 0.0);
    }
}
