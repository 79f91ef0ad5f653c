// model.frozen in the real program: frozen parameters, from the config to the model file.
#include "sim/state/state_file.h"
#include "tests/process/finished_run.h"
#include "tests/support/exported_file.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kFrozen{"model={name: mlp, hidden: 32, frozen: [\"fc1.*\", fc2.bias]}"};
constexpr std::size_t kAll = 16 * 32 + 32 + 32 * 32 + 32 + 32 * 5 + 5, kKept = 16 * 32 + 32 + 32;

/// Concatenated bytes of the tensors whose names have that prefix.
std::string tensors_of(const std::filesystem::path& file, const std::string& prefix) {
    const sim::StateFile state = sim::read_state(file);
    std::string all;
    for (const sim::Tensor& tensor : state.tensors)
        if (tensor.name.starts_with(prefix)) all += tensor.data;
    return all;
}

void refused(const Options& options, const std::vector<std::string>& texts) {
    FedhiveRun run(small_config(), set(options));
    CHECK(run.end() == "exited with status 2");
    for (const std::string& text : texts) CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("FrozenRun") {
    TEST_CASE("FrozenParametersStayWhatTheyAreAndDoNotTravel") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        const auto before = first.out() / "model.safetensors";
        const Options from = kFrozen + Options{"model.init=" + before.string()};
        Finished run(set(from));
        const auto after = run.out() / "model.safetensors";
        for (const char* stays : {"fc1.", "fc2.bias"}) CHECK(tensors_of(after, stays) == tensors_of(before, stays));
        for (const char* trained : {"fc2.weight", "fc3.weight", "fc3.bias"})
            CHECK(tensors_of(after, trained) != tensors_of(before, trained));
        CHECK(tensors_of(after, "").size() == 4 * kAll);
        CHECK(run.manifest()["num_parameters"] == kAll - kKept);
        CHECK(run.manifest()["num_frozen"] == kKept);
        CHECK(run.said(fmt::format("{} parameters and {} frozen ones", kAll - kKept, kKept)));
        const auto rows = read_csv(run.out() / "rounds.csv");
        CHECK(std::stoul(rows.back().at("bytes_down")) == 11 * 4 * (kAll - kKept));
        // The initial file is no longer needed: checkpoints contain the whole model.
        const std::string kept = tensors_of(before, "fc1."), moved = tensors_of(after, "fc3.");
        std::filesystem::remove(before);
        CHECK(run.resume(set({"rounds=5"})) == "exited with status 0");
        CHECK(tensors_of(after, "fc1.") == kept);
        CHECK(tensors_of(after, "fc3.") != moved);
        std::filesystem::remove(run.folder() / "output");
        run.start({"evaluate", run.out().string()});
        CHECK(run.end() == "exited with status 0");
        CHECK_MESSAGE(run.said("test_accuracy " + read_csv(run.out() / "rounds.csv").back().at("test_accuracy")), run.output());
    }

    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterAKillAndAfterAResume") {
        const std::string two = sha_with(kFrozen);
        for (const Options& more : {Options{"workers=0"}, Options{"workers=3"},
                                    Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 1}]"}})
            CHECK(sha_with(kFrozen + more) == two);
        Finished run(set(kFrozen + Options{"rounds=1"}));
        CHECK(run.resume(set({"rounds=3"})) == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == two);
        CHECK(sha_with({"model={name: mlp, hidden: 32}"}) != two);
    }

    TEST_CASE("BothEnginesTrainWhatIsLeftAlike") {
        Finished direct(set(kFrozen + Options{"training.engine=direct"})),
            libtorch(set(kFrozen + Options{"training.engine=libtorch"}));
        const auto here = read_csv(direct.out() / "rounds.csv"), there = read_csv(libtorch.out() / "rounds.csv");
        REQUIRE(here.size() == 3);
        for (std::size_t row = 0; row < 3; ++row)
            for (const char* column : {"train_loss", "test_loss"})
                CHECK(std::abs(std::stod(here[row].at(column)) - std::stod(there[row].at(column))) < 1e-5);
        CHECK(sha_with(kFrozen) == direct.manifest()["model_sha256"]);
    }

    TEST_CASE("EveryModeThatDoesNotCutTheModelTrainsWhatIsLeft") {
        for (const Options& more :
             {Options{"mode={name: async}"}, Options{"mode={name: semi_async, quorum: 3}"},
              Options{"mode={name: gradient_averaging}", "data.partition={scheme: iid, clients: 2}", "training.cohort=2"},
              Options{"mode={name: hogwild}", "data.partition={scheme: iid, clients: 2}", "training.cohort=2"},
              Options{"training.clients_at_once=4"},
              Options{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"}}) {
            FedhiveRun run(small_config(), set(kFrozen + Options{"rounds=1"} + more));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            FedhiveRun other(small_config(), set(kFrozen + Options{"rounds=2"} + more));
            REQUIRE_MESSAGE(other.end() == "exited with status 0", other.output());
            const auto a = run.out() / "model.safetensors", b = other.out() / "model.safetensors";
            CHECK(tensors_of(a, "fc1.") == tensors_of(b, "fc1."));
            CHECK(tensors_of(a, "fc3.") != tensors_of(b, "fc3."));
        }
    }

    TEST_CASE("LowRankFactorsAreTrainedBesideAModelThatHasNone") {
        FedhiveRun first(small_config(), set({"model={layers: [flatten, {linear: 32}, relu, linear]}"}));
        REQUIRE(first.end() == "exited with status 0");
        const auto before = first.out() / "model.safetensors";
        const std::string model = fmt::format(
            "model={{init: {}, layers: [flatten, {{linear: {{out: 32, lora: 4}}}}, relu, {{linear: {{lora: 2, alpha: 4}}}}], "
            "frozen: [\"*.weight\", \"*.bias\"]",
            before.string());
        Finished direct(set({model + "}", "training.engine=direct"})), libtorch(set({model + "}", "training.engine=libtorch"}));
        CHECK(direct.manifest()["num_parameters"] == 4 * (16 + 32) + 2 * (32 + 5));
        const auto after = direct.out() / "model.safetensors";
        for (const char* stays : {"1.weight", "1.bias", "3.weight", "3.bias"})
            CHECK(tensors_of(after, stays) == tensors_of(before, stays));
        for (const char* begins_as_0 : {"1.B", "3.B"}) {
            const std::string values = tensors_of(after, begins_as_0);
            CHECK(values.size() > 0);
            CHECK(values != std::string(values.size(), '\0'));
        }
        const auto here = read_csv(direct.out() / "rounds.csv"), there = read_csv(libtorch.out() / "rounds.csv");
        for (std::size_t row = 0; row < here.size(); ++row)
            CHECK(std::abs(std::stod(here[row].at("test_loss")) - std::stod(there[row].at("test_loss"))) < 1e-5);
        // FedSA-LoRA: each client keeps its own B.
        Finished own(set({model + ", local: [\"*.B\"]}", "evaluation.clients={every: 1}", "data.partition.holdout=0.25"}));
        const std::string shared = tensors_of(own.out() / "model.safetensors", "1.B");
        CHECK(shared == std::string(4 * 32 * 4, '\0'));
        // A factor may be missing in the file, but nothing else.
        refused({model + "}", "model.layers=[flatten, {linear: {out: 32, bias: false, lora: 4}}, relu, linear]"},
                {"has the tensor '1.bias', which the model does not have"});
        refused({fmt::format("model={{init: {}, layers: [flatten, {{linear: 32}}, relu, {{linear: 32}}, linear]}}",
                             before.string())},
                {"has no tensor '4.weight', '4.bias'"});
    }

    TEST_CASE("GraphsParametersAreFrozenByTheirNamesOrByPyTorch") {
        const std::string file = fmt::format("file: {}", golden_file("kept.pt2").string());
        const Options graph{
            "data={format: synthetic, shape: [1, 12, 12], num_classes: 4, num_train: 150, num_test: 40, partition: {clients: "
            "4}}",
            "training={cohort: 4, batch_size: 16, optimizer: {name: sgd, lr: 0.05}}"};
        FedhiveRun own(small_config(), set(graph + Options{"model={" + file + "}"}));
        REQUIRE_MESSAGE(own.end() == "exited with status 0", own.output());
        FedhiveRun named(small_config(), set(graph + Options{"model={" + file + ", frozen: [\"head.*\"]}"}));
        REQUIRE_MESSAGE(named.end() == "exited with status 0", named.output());
        const auto a = own.out() / "model.safetensors", b = named.out() / "model.safetensors";
        CHECK(tensors_of(a, "frozen") == tensors_of(b, "frozen"));
        CHECK(tensors_of(a, "frozen").size() == 4 * 6);
        CHECK(tensors_of(a, "head.weight") != tensors_of(b, "head.weight"));
        CHECK(tensors_of(a, "a.weight") != tensors_of(b, "a.weight"));
        CHECK(named.manifest()["num_frozen"] == 6 + 6 * 4 + 4);
        CHECK(sha_with(graph + Options{"model={" + file + ", frozen: [\"head.*\"]}", "workers=4"}) ==
              named.manifest()["model_sha256"]);
    }

    TEST_CASE("WhatCannotBeFrozenIsRefused") {
        refused({"model={name: mlp, hidden: 32, frozen: [\"fc1.*\", conv1.weight]}"},
                {"model.frozen[1]:", "the model has: fc1.weight, fc1.bias, "});
        refused({"model={name: mlp, hidden: 32, frozen: [fc1.wieght]}"}, {"model.frozen[0]: ", "did you mean 'fc1.weight'? "});
        refused({"model={name: resnet18, frozen: [head]}", "data.shape=[3, 8, 8]"}, {"conv1.weight, ", " and 50 more"});
        refused({"model={name: mlp, hidden: 32, frozen: [\"*\"]}"}, {"model.frozen:"});
        refused({"model={name: mlp, hidden: 32, frozen: [\"\"]}"}, {"model.frozen", "a pattern is empty"});
        refused(kFrozen + Options{"mode={name: split, cut: fc1}", "training.cohort=2"},
                {"mode.name: mode 'split'", "model.frozen"});
    }
}
