// The direct engine on a GPU in the real program: from the YAML file to the tables, with worker processes, and with arena and
// data behind IPC handles. On the emulated GPU (tests/support/cuda_on_host) it runs everywhere, without LibTorch.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"
#include "tests/support/exported_file.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <iterator>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string device_config() {
    return R"(
name: blocks
rounds: 2
device: cuda
workers: 2
data: {format: synthetic, num_train: 160, num_test: 40, num_classes: 5, num_features: 16, partition: {scheme: dirichlet, clients: 9, alpha: 1.0, min_examples: 5}}
model: {name: mlp, hidden: 8}
training: {cohort: 7, local_epochs: 1, batch_size: 8, engine: direct, optimizer: {name: sgd, lr: 0.05, momentum: 0.5}}
)";
}

/// Small images, for a model with a pool fused with its convolution on the host, dropout of both kinds, a residual and norms, one of them of a whole batch.
std::string images() { return "data={format: glyphs, num_train: 40, num_test: 10, partition: {scheme: iid, clients: 9}}"; }
std::string convolutions() {
    return "model={layers: [{avg_pool: 4}, {conv2d: {out: 4, kernel: 3, padding: 1}}, batch_norm, {dropout2d: 0.25}, relu, "
           "{residual: "
           "[{conv2d: {out: 4, kernel: 3, "
           "padding: 1}}, {group_norm: 2}, tanh]}, {max_pool: 2}, flatten, {dropout: 0.25}, linear]}";
}

struct DeviceFolder : FedhiveRun {
    explicit DeviceFolder(const Options& overrides, const Environment& environment = {},
                          const char* end = "exited with status 0") {
        begin(overrides, environment);
        const std::string ended = this->end();
        CHECK_MESSAGE(ended == end, output());
    }
    DeviceFolder() = default;
    void begin(const Options& overrides, const Environment& environment = {}) {
        std::ofstream(folder() / "test.yaml") << device_config();
        start(Options{"run", (folder() / "test.yaml").string(), "--out", out().string()} + set(overrides), environment);
    }
    std::string sha() const { return manifest()["model_sha256"]; }
    bool said(const std::string& text) const { return output().find(text) != std::string::npos; }

    /// The clients' results in clients.csv without workers and slots, and the rounds' test results.
    std::string found() const {
        std::string text;
        for (const auto& row : read_csv(out() / "clients.csv"))
            for (const char* column : {"round", "client_id", "steps", "train_loss", "update_norm", "update_hash"})
                text += row.at(column) + ",";
        for (const auto& row : read_csv(out() / "rounds.csv"))
            for (const char* column : {"train_loss", "test_loss", "test_accuracy"}) text += row.at(column) + ",";
        return text;
    }
};

/// The host's engine gives the same losses up to rounding.
void check_like_the_host(const DeviceFolder& run, const Options& options) {
    const DeviceFolder host(options + Options{"device=cpu"});
    const auto found = read_csv(run.out() / "rounds.csv"), expected = read_csv(host.out() / "rounds.csv");
    REQUIRE(found.size() == expected.size());
    for (std::size_t round = 0; round < found.size(); ++round)
        for (const char* loss : {"train_loss", "test_loss"})
            CHECK(std::stod(found[round].at(loss)) == doctest::Approx(std::stod(expected[round].at(loss))).epsilon(1e-5));
}

/// Reason why `device: cuda` is refused; empty if it works.
std::string refusal() {
    DeviceFolder run;
    run.begin({"rounds=1"});
    return run.end() == "exited with status 2" ? run.output() : "";
}

/// Whether the GPU is emulated; then the environment sets its memory, driver and IPC.
bool emulated() { return std::string(FEDHIVE_PROGRAM) == "fedhive_plain"; }

/// `start(run, environment)` starts a run. With growing memory, first the arena does not fit, then no worker fits beside it,
/// then all does.
template <typename Start>
void check_refusals_for_memory(Start start) {
    bool no_room_for_arena = false, no_room_for_workers = false, enough = false;
    for (int bytes = 3'000'000; !enough && bytes < 20'000'000; bytes += 200'000) {
        DeviceFolder run;
        start(run, {{"CUDA_ON_HOST_MEMORY", std::to_string(bytes)}});
        const std::string end = run.end();
        enough = end == "exited with status 0";
        CHECK_MESSAGE((enough || end == "exited with status 2"), run.output());
        if (!enough) CHECK_FALSE(std::filesystem::exists(run.out()));
        no_room_for_arena = no_room_for_arena || run.said("cudaMalloc of ");
        no_room_for_workers = no_room_for_workers || run.said("bytes of device memory (");
    }
    CHECK(enough);
    CHECK(no_room_for_arena == emulated());
    CHECK(no_room_for_workers == emulated());
}

#define FEDHIVE_NEEDS_CUDA() \
    if (const std::string why = refusal(); !why.empty()) FEDHIVE_SKIP(why)

}  // namespace

TEST_SUITE("Device") {
    TEST_CASE("Gpu: BlocksGiveTheSameTablesForAnyNumberOfWorkersAndSlots") {
        FEDHIVE_NEEDS_CUDA();
        for (const Options& model : {Options{"model={name: lr}"}, Options{}, Options{images(), convolutions()}}) {
            CAPTURE(fmt::format("{}", fmt::join(model, " ")));
            const DeviceFolder one(model + Options{"workers=1"});
            CHECK(one.manifest()["device"] == "cuda");
            CHECK(one.manifest()["engine"] == "direct");
            CHECK(one.manifest()["kernels"] == "cuda");
            CHECK(read_csv(one.out() / "rounds.csv").size() == 2);
            std::vector<Options> others{{"workers=2"}, {"workers=4"}};
            if (model.size() == 2)  // all variants, for the model with every kind of layer
                for (const char* other :
                     {"workers=0", "training.clients_per_slot=1", "training.clients_per_slot=4", "training.engine=auto"})
                    others.push_back({other});
            for (const Options& other : others) {
                const DeviceFolder same(model + other);
                CHECK(same.sha() == one.sha());
                CHECK(same.found() == one.found());
            }
            check_like_the_host(one, model);
        }
    }

    TEST_CASE("Gpu: ExportedNetworkThatIsAListOfLayersRunsInBlocksAndAGraphIsRefused") {
        FEDHIVE_NEEDS_CUDA();
        const auto exported = [](const std::string& name) -> Options {
            return {
                "data={format: synthetic, shape: [1, 12, 12], num_classes: 4, num_train: 60, num_test: 20, partition: "
                "{clients: 4}}",
                "training.cohort=4", fmt::format("model={{file: {}}}", golden_file(name + ".pt2").string())};
        };
        const DeviceFolder one(exported("bn_cnn") + Options{"workers=1"});
        CHECK(one.manifest()["device"] == "cuda");
        CHECK(one.manifest()["kernels"] == "cuda");
        CHECK(DeviceFolder(exported("bn_cnn") + Options{"workers=2"}).found() == one.found());
        check_like_the_host(one, exported("bn_cnn"));
        const Options any{"training.engine=auto"};
        const DeviceFolder graph(exported("residual") + any, {}, "exited with status 2");
        CHECK_MESSAGE(graph.said("device: a GPU needs a list of layers, but model.file is a graph: aten.silu.default"),
                      graph.output());
        const DeviceFolder open(exported("cnn") + Options{"device=auto"});
        CHECK(open.manifest()["device"] == "cpu");
        CHECK_MESSAGE(
            open.said("device: auto takes the CPU for a model.file; this one is a list of layers, which device: cuda"),
            open.output());
        CHECK_FALSE(one.said("device: auto"));
    }

    TEST_CASE("Gpu: BitsDependNeitherOnSharedMemoryNorOnWhetherStepsAreLaunchedOneByOne") {
        FEDHIVE_NEEDS_CUDA();
        const DeviceFolder whole(Options{});
        // A real GPU ignores the first two settings and repeats the run.
        CHECK(DeviceFolder(Options{}, {{"CUDA_ON_HOST_SHARED", "2000"}}).found() == whole.found());
        CHECK(DeviceFolder(Options{}, {{"CUDA_ON_HOST_SHARED", "300"}}).found() == whole.found());
        const Options normed{images(), convolutions()};
        CHECK(DeviceFolder(normed, {{"CUDA_ON_HOST_SHARED", "16000"}}).found() == DeviceFolder(normed).found());
        CHECK(DeviceFolder({"training.clip_norm=1000000"}).found() == whole.found());
        CHECK(DeviceFolder({"strategy={name: fedprox, proximal_mu: 0.5}"}).found() ==
              DeviceFolder({"strategy={name: fedprox, proximal_mu: 0.5}", "training.clip_norm=1000000"}).found());
        // Both ways of training are followed by the same upload chain.
        const Options chain{"upload=[{name: clip, norm: 0.02}, {name: gaussian_noise, multiplier: 0.3}]",
                            "strategy={name: fedavg, weighting: uniform}"};
        const DeviceFolder noisy(chain);
        CHECK(DeviceFolder(chain + Options{"training.clip_norm=1000000", "workers=3"}).found() == noisy.found());
        CHECK(noisy.found() != DeviceFolder({"strategy={name: fedavg, weighting: uniform}"}).found());
        const Options small{"upload=[{name: error_feedback}, {name: top_k, kept: 0.1}, {name: quantize, bits: 4}]"};
        CHECK(DeviceFolder(small + Options{"training.clip_norm=1000000", "workers=3"}).found() == DeviceFolder(small).found());
    }

    TEST_CASE("Gpu: EveryModeAndWhatLooksAtGradientsRunsInBlocks") {
        FEDHIVE_NEEDS_CUDA();
        const Options four{"data.partition={scheme: iid, clients: 4}", "training.cohort=4"};
        for (const std::string mode : {"synchronous, quorum: 3", "semi_async, quorum: 3", "async",
                                       "parameter_server, max_staleness: 2", "gradient_averaging"}) {
            CAPTURE(mode);
            const Options way = four + Options{"mode={name: " + mode + "}"};
            const std::string sha = DeviceFolder(way + Options{"workers=4"}).sha();
            CHECK(DeviceFolder(way + Options{"workers=5"}).sha() == sha);
            // Training whole clients gives the bits of training step by step.
            if (mode.find("sync") != std::string::npos)
                CHECK(DeviceFolder(way + Options{"workers=4", "training.clip_norm=1000000"}).sha() == sha);
        }
        CHECK(DeviceFolder(four + Options{"mode={name: hogwild}", "workers=2"}).sha().size() == 64);
        for (const char* way : {"training.optimizer={name: adam, lr: 0.01}", "strategy={name: median}"}) {
            CAPTURE(way);
            CHECK(DeviceFolder({way, "workers=1"}).sha() == DeviceFolder({way, "workers=2"}).sha());
        }
        const std::string methods = (source_folder() / "configs/methods").string() + "/";
        for (const char* method : {"scaffold", "fedacg", "adaptive_clip", "fedadam"}) {
            CAPTURE(method);
            const std::string file = "strategy={file: " + methods + method + ".py}";
            CHECK(DeviceFolder({file, "workers=1"}).sha() == DeviceFolder({file, "workers=2"}).sha());
        }
        CHECK(DeviceFolder({"strategy={file: " + methods + "fedprox.py, mu: 0.5}"}).found() ==
              DeviceFolder({"strategy={name: fedprox, proximal_mu: 0.5}"}).found());
        // The pass at the second point leaves batch norm's running statistics as they are.
        const Options twice{images(), convolutions(), "strategy={file: " + methods + "fedsam.py}"};
        check_like_the_host(DeviceFolder(twice), twice);
        const Options scaffold{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"};
        CHECK(DeviceFolder(scaffold + Options{"workers=1"}).sha() == DeviceFolder(scaffold + Options{"workers=2"}).sha());
        const Options heads{"model={name: mlp, hidden: 32, local: [\"fc3.*\"]}", "data.partition.holdout=0.25",
                            "evaluation.clients={every: 1}"};
        CHECK(DeviceFolder(heads + Options{"workers=0"}).sha() == DeviceFolder(heads + Options{"workers=2"}).sha());
    }

    TEST_CASE("Gpu: RanksOnOneGpuGiveTheModelAndTheTablesOfOneProcess") {
        FEDHIVE_NEEDS_CUDA();
        FEDHIVE_NEEDS_RANKS();
        const std::vector<Options> each{
            {"workers=1", "training.clients_per_slot=1"},
            {"rounds=3", "strategy={name: fedadam}", "training.clients_per_slot=2"},
            {"workers=0", "strategy={name: median}"},
            {"strategy={name: krum, byzantine: 1}"},
            {"training.optimizer={name: sgd, lr: 0.05}", "strategy={name: scaffold}"},
            {"rounds=6", "mode={name: async}", "devices={compute: {distribution: lognormal, sigma: 1.0}}"}};
        for (const Options& options : each) {
            CAPTURE(fmt::format("{}", fmt::join(options, " ")));
            const DeviceFolder alone(options);
            RankedRun run(2, device_config(), set(options));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            check_same_run(run.out(), alone.out());
            std::istringstream said(run.output());  // lines have different lengths
            const std::vector<std::string> words{std::istream_iterator<std::string>(said), {}};
            const std::vector<std::string> wanted{"2", "ranks", "on", "one"};
            CHECK_MESSAGE(std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end(), run.output());
            CHECK(run.manifest()["ranks"][0]["gpu"] == run.manifest()["ranks"][1]["gpu"]);
        }
    }

    TEST_CASE("Gpu: FailuresInBlocksAreGotOverWithTheSameBits") {
        FEDHIVE_NEEDS_CUDA();
        const DeviceFolder expected({"training.clients_per_slot=4"});
        for (const std::string kind : {"kill", "kill, at: update", "throw", "nan", "oom"}) {
            CAPTURE(kind);
            const DeviceFolder run({"training.clients_per_slot=4", "failures={policy: retry, attempts: 3}",
                                    "faults=[{kind: " + kind + ", round: 2, client: 3}]"});
            CHECK(run.sha() == expected.sha());
            const std::vector<std::string> events = events_of(run.out());
            CHECK(std::count(events.begin(), events.end(), "failure") == 1);
            CHECK(read_text(run.out() / "events.jsonl").find("\"client\":3") != std::string::npos);
        }
        // With one client dropped, the others have the bits of a run that never asked it.
        const DeviceFolder dropped(
            {"training.clients_per_slot=4", "failures={policy: drop}", "faults=[{kind: nan, round: 1, client: 3}]"});
        const DeviceFolder alone(
            {"training.clients_per_slot=1", "failures={policy: drop}", "faults=[{kind: nan, round: 1, client: 3}]"});
        CHECK(dropped.sha() == alone.sha());
        CHECK(dropped.sha() != expected.sha());
    }

    TEST_CASE("Gpu: KilledWorkersOfBlocksAreReplacedWithTheSameBits") {
        FEDHIVE_NEEDS_CUDA();
        const DeviceFolder expected({"rounds=25", "evaluation.every=25"});
        DeviceFolder run;
        run.begin({"rounds=25", "evaluation.every=25", "failures={policy: retry, attempts: 9}"});
        for (const std::size_t after : {2U, 5U}) {
            REQUIRE(eventually(60.0, [&] { return run.rounds() >= after && !run.workers().empty(); }));
            kill(run.workers()[0], SIGKILL);
        }
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.sha() == expected.sha());
    }

    TEST_CASE("Gpu: RunInBlocksIsResumedReplayedAndEvaluatedWithTheSameBits") {
        FEDHIVE_NEEDS_CUDA();
        const Options dropout{images(), convolutions(), "checkpoint.every=1"};
        const DeviceFolder whole(dropout + Options{"rounds=3"});
        DeviceFolder cut(dropout);
        cut.start(Options{"run", "--resume", cut.out().string(), "--set", "rounds=3", "--set", "workers=3"});
        CHECK_MESSAGE(cut.end() == "exited with status 0", cut.output());
        CHECK(cut.sha() == whole.sha());
        CHECK(cut.found() == whole.found());

        const std::string client = read_csv(whole.out() / "clients.csv").back().at("client_id");
        DeviceFolder again;
        again.start({"replay", whole.out().string(), "--round", "3", "--client", client});
        CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
        CHECK(again.said(": the same bits as in the run\n"));

        DeviceFolder judged;
        judged.start({"evaluate", whole.out().string(), "--json"});
        CHECK_MESSAGE(judged.end() == "exited with status 0", judged.output());
        CHECK(nlohmann::json::parse(judged.output())["test_loss"] == whole.manifest()["test_loss"]);
    }

    TEST_CASE("Gpu: EvaluationThatTheDeviceHasNoRoomForIsRefusedBeforeItBegins") {
        FEDHIVE_NEEDS_CUDA();
        const DeviceFolder run(Options{});
        check_refusals_for_memory([&](DeviceFolder& judged, const Environment& environment) {
            judged.start({"evaluate", run.out().string()}, environment);
        });
    }

    TEST_CASE("Gpu: RunThatTheDeviceHasNoRoomForIsRefusedBeforeItBegins") {
        FEDHIVE_NEEDS_CUDA();
        check_refusals_for_memory(
            [](DeviceFolder& run, const Environment& environment) { run.begin({"rounds=1"}, environment); });
    }

    TEST_CASE("Gpu: WhatTheMachineLacksIsRefusedInOneLine") {
        FEDHIVE_NEEDS_CUDA();
        const auto refused = [](const Environment& environment, const std::string& words) {
            const DeviceFolder run(Options{}, environment, "exited with status 2");
            CHECK_MESSAGE(run.said(words), run.output());
            const std::string text = run.output();
            CHECK_MESSAGE(std::count(text.begin(), text.end(), '\n') == 1, text);
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({{"CUDA_VISIBLE_DEVICES", "99"}, {"CUDA_ON_HOST_DEVICES", "0"}},
                "CUDA_VISIBLE_DEVICES=99 names no existing GPU");
        if (!emulated()) return;  // the rest needs an emulated machine
        refused({{"CUDA_ON_HOST_DEVICES", "0"}}, "the driver finds no GPU");
        refused({{"CUDA_ON_HOST_DRIVER", "0"}}, "no NVIDIA driver (libcuda.so.1 was not found)");
        refused({{"CUDA_ON_HOST_DRIVER", "12040"}}, "supports CUDA 12.4, but this build needs 13.0; update");
        const Environment no_ipc{{"CUDA_ON_HOST_FAIL", "cudaIpcOpenMemHandle:801"}};
        refused(no_ipc, "CUDA IPC, which does not work here: ");
        refused({{"CUDA_ON_HOST_FAIL", "cudaIpcGetMemHandle:801"}},
                "operation not supported (cudaErrorNotSupported); likely reason: ");
        CHECK(DeviceFolder({"workers=0"}, no_ipc).found() == DeviceFolder({"workers=0"}).found());
    }

    TEST_CASE("Gpu: WhatNoBlockCanTrainIsRefusedInWords") {
        FEDHIVE_NEEDS_CUDA();
        const auto refused = [](const Options& overrides, const std::string& words, const Environment& environment = {}) {
            const DeviceFolder run(overrides, environment, "exited with status 2");
            CHECK_MESSAGE(run.said(words), run.output());
            CHECK(!std::filesystem::exists(run.out()));
        };
        refused({images(), "model={layers: [{max_pool: {size: 2, stride: 1}}, flatten, linear]}"},
                "has no pools whose windows overlap, leave gaps or exceed the image on a GPU (layer 0)");
        refused({"training.precision=tf32"}, "training.precision is tf32");
        refused({"training.graph=true"}, "training.graph is true");
        refused({"mode={name: split, cut: fc1}"}, "does not cut models");
        if (!emulated()) return;  // the rest needs the emulated device and a build without LibTorch
        refused({}, "mlp needs 244 bytes, but this GPU has 100", {{"CUDA_ON_HOST_SHARED", "100"}});
        refused({"training.precision=bf16"}, "this build has no other engine for CUDA");
        refused({"training.engine=libtorch"}, "this build has no CUDA training");
    }
}
