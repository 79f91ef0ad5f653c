// The direct engine in the real program: the same bits for any number of workers and any kernel set.
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options cnn(const std::string& engine) {
    return {"data={format: glyphs, num_train: 160, num_test: 50, partition: {clients: 4}}", "training.cohort=4",
            "model={name: mnist_cnn}", "training.engine=" + engine};
}

/// Batch norm of images and of rows, in a residual and behind convolutions.
Options batch_norms(const std::string& engine) {
    return {"data={format: glyphs, num_train: 160, num_test: 50, partition: {clients: 4}}", "training.cohort=4",
            "model={layers: [{conv2d: {out: 16, kernel: 4, stride: 2}}, batch_norm, relu, {residual: [{conv2d: {out: 16, "
            "kernel: 3, padding: 1}}, batch_norm]}, relu, avg_pool, flatten, {linear: 8}, batch_norm, linear]}",
            "training.engine=" + engine};
}

nlohmann::json manifest_with(const Options& overrides, const std::string& kernels = "") {
    FedhiveRun run;
    std::ofstream(run.folder() / "test.yaml") << small_config();
    std::vector<std::string> arguments{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()};
    const std::vector<std::string> more = set(overrides);
    arguments.insert(arguments.end(), more.begin(), more.end());
    run.start(arguments, {{"FEDHIVE_KERNELS", kernels}});
    CAPTURE(run.output());
    REQUIRE(run.end() == "exited with status 0");
    return run.manifest();
}

}  // namespace

TEST_SUITE("Engine") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAndFromEveryKernel") {
        const nlohmann::json one = manifest_with(cnn("auto") + Options{"workers=1"});
        CHECK(one["engine"] == "direct");
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(manifest_with(cnn("direct") + Options{workers})["model_sha256"] == one["model_sha256"]);
        // Plain kernels run on any processor; the run above used the fastest ones of this one.
        const nlohmann::json plain = manifest_with(cnn("direct"), "plain");
        CHECK(plain["kernels"] == "plain");
        CHECK(plain["model_sha256"] == one["model_sha256"]);
        CHECK(plain["test_loss"] == one["test_loss"]);
    }

    TEST_CASE("RegressionHasTheSameBitsFromEveryKernel") {
        const Options regression{"task=regression",
                                 "data={format: synthetic_linear, num_train: 90, num_test: 20, num_targets: 3, partition: "
                                 "{scheme: lognormal_sizes, clients: 4}}",
                                 "model={name: mlp}", "training.cohort=4"};
        const nlohmann::json fastest = manifest_with(regression), plain = manifest_with(regression, "plain");
        CHECK(fastest["engine"] == "direct");
        CHECK(plain["kernels"] == "plain");
        for (const char* same : {"model_sha256", "test_loss", "test_mse", "test_mae"}) CHECK(plain[same] == fastest[same]);
        for (const char* workers : {"workers=0", "workers=4"})
            CHECK(manifest_with(regression + Options{workers})["model_sha256"] == fastest["model_sha256"]);
    }

    TEST_CASE("BatchNormHasTheSameBitsFromEveryKernelAfterAKillAndAfterAResume") {
        Finished run(set(batch_norms("auto")));
        const nlohmann::json whole = run.manifest();
        CHECK(whole["engine"] == "direct");
        for (const Options& way :
             {Options{"workers=0"}, Options{"workers=3"},
              Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 1}]", "workers=2"}})
            CHECK(manifest_with(batch_norms("direct") + way)["model_sha256"] == whole["model_sha256"]);
        const nlohmann::json plain = manifest_with(batch_norms("direct"), "plain");
        CHECK(plain["kernels"] == "plain");
        for (const char* same : {"model_sha256", "test_loss"}) CHECK(plain[same] == whole[same]);
        REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == manifest_with(batch_norms("direct") + Options{"rounds=4"})["model_sha256"]);
    }

    TEST_CASE("BatchNormTrainsAsLibtorchsDoes") {
        // Whole batches: the statistics of a few examples magnify rounding errors beyond any bound.
        const Options whole{"data.partition={scheme: iid, clients: 4}", "training.batch_size=20"};
        Finished ours(set(batch_norms("direct") + whole)), theirs(set(batch_norms("libtorch") + whole));
        CHECK(theirs.manifest()["engine"] == "libtorch");
        const auto here = read_csv(ours.out() / "rounds.csv"), there = read_csv(theirs.out() / "rounds.csv");
        REQUIRE(here.size() == 3);
        REQUIRE(there.size() == 3);
        for (const char* column : {"train_loss", "test_loss"})
            for (std::size_t row = 0; row < 3; ++row)
                CHECK(std::abs(std::stod(here[row].at(column)) - std::stod(there[row].at(column))) < 1e-5);
    }

    TEST_CASE("OtherEngineGivesOtherBitsAndIsRefusedInAResume") {
        Finished run(set(cnn("direct")));
        const nlohmann::json other = manifest_with(cnn("libtorch"));
        CHECK(other["engine"] == "libtorch");
        CHECK(run.manifest()["model_sha256"] != other["model_sha256"]);
        run.refuses(set({"training.engine=libtorch"}), {"training.engine: direct -> libtorch"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == manifest_with(cnn("direct") + Options{"rounds=4"})["model_sha256"]);
    }

    TEST_CASE("LibtorchIsLoadedByThoseWhoTrainWithItAlone") {
        const auto files_of_processes_with = [](const std::string& engine) {
            FedhiveRun run;
            std::ofstream(run.folder() / "test.yaml") << small_config();
            // The dynamic loader writes a log file per process.
            run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string(), "--set",
                       "training.engine=" + engine},
                      {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", (run.folder() / "loaded").string()}});
            CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
            std::vector<bool> loads;
            for (const auto& file : std::filesystem::directory_iterator(run.folder()))
                if (file.path().filename().string().starts_with("loaded."))
                    loads.push_back(read_text(file.path()).find("libtorch_cpu.so") != std::string::npos);
            return loads;
        };
        CHECK(files_of_processes_with("direct") == std::vector{false, false, false});
        const std::vector<bool> with = files_of_processes_with("libtorch");  // two workers; the coordinator does not need it
        CHECK(std::count(with.begin(), with.end(), true) >= 2);
    }

    TEST_CASE("LibtorchThatIsNotThereIsMissedWhereItIsNeededAlone") {
        const TemporaryFolder folder;
        std::filesystem::create_directory(folder.path() / "bin");
        std::filesystem::copy_file(fedhive_program(), folder.path() / "bin/fedhive");
        std::ofstream(folder.path() / "test.yaml") << small_config();
        const auto run = [&](const std::string& engine) {
            clients::SpawnOptions options;
            options.executable = (folder.path() / "bin/fedhive").string();
            options.arguments = {"run",   (folder.path() / "test.yaml").string(),
                                 "--out", (folder.path() / engine).string(),
                                 "--set", "training.engine=" + engine};
            options.log = folder.path() / "output";
            clients::ChildProcess process(options);
            process.wait_for(60.0);
            return process.end() ? process.end()->text : "still running";
        };
        CHECK(run("direct") == "exited with status 0");
        CHECK(run("libtorch") == "exited with status 2");
        const std::string said = read_text(folder.path() / "output");
        CHECK_MESSAGE(said.find("LibTorch cannot be loaded: ") != std::string::npos, said);
        CHECK_MESSAGE(said.find("lib/libfedhive_libtorch.so") != std::string::npos, said);
        CHECK(!std::filesystem::exists(folder.path() / "libtorch"));
    }

    TEST_CASE("KernelsThatThereAreNotAreRefusedBeforeAnybodyStarts") {
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()}, {{"FEDHIVE_KERNELS", "abacus"}});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("FEDHIVE_KERNELS=abacus: this processor does not support these") != std::string::npos);
        CHECK(!std::filesystem::exists(run.out()));
    }
}
