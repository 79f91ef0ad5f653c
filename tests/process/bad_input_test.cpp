// Promise 5: an error that the user can mend ends with status 2, names what to mend, and changes no file.
#include "tests/process/run_process.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("BadInput") {
    /// Expects exit status 2, the message, and no folder.
    const auto refused = [](const std::string& config, const std::vector<std::string>& more, const std::string& message) {
        FedhiveRun run(config, more);
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find(message) != std::string::npos, run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    };

    TEST_CASE("TypoNamesFileLineAndSuggestion") {
        refused(small_config() + "trainig: {}\n", {}, "test.yaml:9: trainig: unknown key; did you mean 'training'?");
    }

    TEST_CASE("ModelThatDoesNotFitTheDataNamesTheLine") {
        refused(small_config(), {"--set", "model={name: cnn_m}"}, "model.name: cnn_m takes examples of at least 6 x 6");
        std::string config = small_config();
        config.replace(config.find("model: {name: mlp, hidden: 32}"), 30, "model: {name: mnist_cnn}");
        refused(config, {}, "test.yaml:7: model.name: mnist_cnn takes examples of 1 x 28 x 28");
    }

    TEST_CASE("MissingDataSaysHowToGetIt") {
        refused("data: {format: idx, root: nowhere/mnist}\nmodel: {name: lr}\n", {}, "fedhive data mnist");
    }

    TEST_CASE("CudaWithoutAGpuIsRefusedInOneLineThatSaysWhatIsMissing") {
        if (std::filesystem::exists("/dev/nvidia0")) FEDHIVE_SKIP("there is a GPU");
        FedhiveRun run(small_config(), {"--set", "device=cuda"});
        CHECK(run.end() == "exited with status 2");
        const std::string said = run.output();
        CHECK_MESSAGE(said.find("--set device=cuda: device: ") != std::string::npos, said);
        CHECK_MESSAGE(said.find("or use cpu or auto") != std::string::npos, said);
        CHECK_MESSAGE(std::count(said.begin(), said.end(), '\n') == 1, said);
        CHECK_FALSE(std::filesystem::exists(run.out()));
        run.start({"validate", (run.folder() / "test.yaml").string(), "--set", "device=cuda", "--set", "workers=0"});
        CHECK(run.end() == "exited with status 2");
    }

    TEST_CASE("ArenaThatDoesNotFitTellsWantedAndAvailableBytes") {
        refused(
            "data: {format: synthetic, num_train: 20000, num_test: 10, num_features: 4, partition: {scheme: iid, clients: "
            "20000}}\n"
            "model: {name: mlp, hidden: 20000}\n",
            {}, "bytes");
    }

    TEST_CASE("FolderThatIsNotEmptyIsKeptUnlessOverwritten") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        std::ofstream(run.out() / "notes.txt") << "mine";
        const std::string before = read_text(run.out() / "rounds.csv");
        const std::vector<std::string> again{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()};
        run.start(again);
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("not empty") != std::string::npos);
        CHECK(read_text(run.out() / "rounds.csv") == before);
        auto overwriting = again;
        overwriting.emplace_back("--overwrite");
        run.start(overwriting);
        CHECK(run.end() == "exited with status 0");
        CHECK(run.rounds() == 3);
        CHECK(read_text(run.out() / "notes.txt") == "mine");
    }

    TEST_CASE("FolderThatCannotBeWrittenIsRefused") {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "file") << "x";
        std::ofstream(folder.path() / "test.yaml") << small_config();
        FedhiveRun run;
        run.start({"run", (folder.path() / "test.yaml").string(), "--out", (folder.path() / "file").string()});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("is not a folder") != std::string::npos);
        run.start({"run", (folder.path() / "test.yaml").string(), "--out", (folder.path() / "file" / "below").string()});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("cannot be written") != std::string::npos, run.output());
    }

    TEST_CASE("OverwriteLeavesAFolderAloneThatHoldsNoRun") {
        FedhiveRun run;
        std::filesystem::create_directories(run.out() / "logs");
        std::ofstream(run.out() / "config.yaml") << "mine";
        std::ofstream(run.out() / "logs" / "mine.txt") << "mine";
        std::ofstream(run.folder() / "test.yaml") << small_config();
        run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string(), "--overwrite"});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("contains no run") != std::string::npos);
        CHECK(read_text(run.out() / "config.yaml") == "mine");
        CHECK(read_text(run.out() / "logs" / "mine.txt") == "mine");
    }

    TEST_CASE("MoreDataOrModelThanMemoryIsRefused") {
        refused(small_config(), {"--set", "data.num_train=1000000000", "--set", "data.num_features=1000"},
                "data.format: 1000000100 examples need 2.01e+12 bytes, ");
        refused(small_config(), {"--set", "model={name: mlp, hidden: 1000000}"},
                "model.name: mlp has 1000023000005 parameters, 4e+12 bytes");
    }

    TEST_CASE("FileOfDataThatIsMissingIsToldWithTheKeyThatNamesIt") {
        const TemporaryFolder folder;
        const std::string here = folder.path().string(), none = ": no such file";
        std::ofstream(here + "/train.csv") << "a,y\n1,0\n2,1\n";
        const auto of_data = [&](const std::string& data, const std::string& said) {
            refused(small_config(), {"--set", "data={" + data + ", partition: {clients: 2}}", "--set", "training.cohort=2"},
                    said);
        };
        const std::string tables = fmt::format("format: csv, target: y, train: {0}/train.csv, test: {0}/test.csv", here);
        of_data(tables, "data.test: " + here + "/test.csv" + none);
        of_data(fmt::format("format: npz, train: {0}/train.npz, test: {0}/test.npz", here),
                "data.train: " + here + "/train.npz" + none);
        of_data(fmt::format("format: idx, root: {}/mnist", here), "data.root: " + here + "/mnist: no such folder");
        refused(small_config(),
                {"--set", fmt::format("data.partition={{scheme: from_file, clients: 20, file: {}/who.csv}}", here)},
                "data.partition.file: " + here + "/who.csv" + none);
        const auto of_devices = [&](const std::string& keys, const std::string& key) {
            refused(small_config(),
                    {"--set", "devices={" + keys + ": " + here + "/t.csv}" + (keys.find('{') == std::string::npos ? "" : "}")},
                    key + ": " + here + "/t.csv" + none);
        };
        of_devices("trace", "devices.trace");
        of_devices("availability: {scheme: trace, trace", "devices.availability.trace");
        refused(small_config(), {"--set", "clock=wall", "--arrivals", here + "/a.csv"}, "arrivals: " + here + "/a.csv" + none);
    }

    TEST_CASE("UnknownSubcommandAndFlagExitWith2") {
        FedhiveRun run(small_config(), {"--nonsense"});
        CHECK(run.end() == "exited with status 2");
        run.start({"dance"});
        CHECK(run.end() == "exited with status 2");
    }
}

TEST_SUITE("Commands") {
    TEST_CASE("ValidateShowConfigDoctorAndReferenceWork") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const std::string file = (run.folder() / "test.yaml").string();
        run.start({"validate", file});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("valid; ") != std::string::npos);
        run.start({"show-config", file});
        CHECK(run.end() == "exited with status 0");
        run.start({"doctor"});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("libtorch") != std::string::npos);
        run.start({"reference"});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("proximal_mu") != std::string::npos);
    }
}
