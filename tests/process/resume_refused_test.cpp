// Refused resumes: of another experiment, of a folder in use by another process, or from a changed file.
#include "tests/process/finished_run.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

namespace fs = std::filesystem;
/// A data set of 20 examples in the IDX format; `shift` varies its contents.
void write_idx(const fs::path& folder, int shift) {
    fs::create_directories(folder);
    for (const auto& [part, count] : {std::pair<std::string, int>{"train", 20}, {"t10k", 10}}) {
        std::ofstream images(folder / (part + "-images-idx3-ubyte"), std::ios::binary);
        const std::string image_header{0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, 2, 0, 0, 0, 2};
        images << image_header;
        for (int i = 0; i < count * 4; ++i) images.put(static_cast<char>(i * 7 + shift));
        std::ofstream labels(folder / (part + "-labels-idx1-ubyte"), std::ios::binary);
        const std::string label_header{0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
        labels << label_header;
        for (int i = 0; i < count; ++i) labels.put(static_cast<char>(i % 2));
    }
}

}  // namespace

TEST_SUITE("ResumeRefused") {
    TEST_CASE("FolderThatIsNoRun") {
        const TemporaryFolder folder;
        FedhiveRun run;
        const auto refused = [&](const fs::path& path) {
            run.start({"run", "--resume", path.string()});
            CHECK(run.end() == "exited with status 2");
            const std::string message =
                path.string() + ": is not the folder of a run; start one with: fedhive run CONFIG --out";
            CHECK_MESSAGE(run.output().find(message) != std::string::npos, run.output());
        };
        refused(folder.path() / "missing");
        refused(folder.path());
        std::ofstream(folder.path() / "config.yaml") << small_config();  // a user's own file
        refused(folder.path());
        CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
    }

    TEST_CASE("ArgumentsThatDoNotGoTogether") {
        FedhiveRun run;
        for (const Options& arguments : {Options{"run"},
                                         {"run", "--resume", "x", "--out", "y"},
                                         {"run", "--resume", "x", "--overwrite"},
                                         {"run", "--resume", "x", "--init", "y"},
                                         {"run", "x.yaml", "--allow-other-bits"}}) {
            run.start(arguments);
            CHECK(run.end() == "exited with status 2");
        }
        CHECK(run.output().find("config, or --resume DIR, is required") != std::string::npos);
    }

    TEST_CASE("ChangedKeysAreAllNamedWithBothValues") {
        Finished run;
        const std::string list =
            "A resumed run may change: rounds, workers, mps, client_state, data.root, data.train, data.test, data.shared, "
            "model.file, "
            "training.clients_per_slot, "
            "training.graph, strategy.file, strategy.rule, strategy.visit, "
            "stop.test_accuracy, stop.test_top5_accuracy, stop.test_balanced_accuracy, stop.test_macro_f1, stop.test_mse, "
            "stop.test_mae, stop.test_perplexity, failures.policy, "
            "failures.attempts, failures.deadline_s, checkpoint.every, "
            "checkpoint.keep";
        run.refuses({"--set", "seed=2", "--set", "training.batch_size=8", "--set", "rounds=9"},
                    {"  seed: 1 -> 2\n", "  training.batch_size: 16 -> 8\n", list});
        run.refuses({"--set", "strategy={name: fedadam}"},
                    {"strategy.name: fedavg -> fedadam", "strategy.beta1: (not given) -> 0.9"});
        // Equal values are no change; the run is finished, so there is nothing to do.
        CHECK(run.resume({"--set", "seed=1", "--set", "training.batch_size=16"}) == "exited with status 0");
        run.replace_in("config.yaml", "batch_size: 16", "batch_size: 4");
        run.refuses({}, {"training.batch_size: 16 -> 4", list});
        run.refuses({"--set", "rounds=9"}, {"training.batch_size: 16 -> 4"});
    }

    TEST_CASE("ConfigGivenBesideTheFolderIsCompared") {
        Finished run;
        const fs::path config = run.folder() / "test.yaml";
        const auto with_config = [&](const Options& more) {
            Options arguments{"run", config.string(), "--resume", run.out().string(), "--set", "checkpoint.every=1"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            run.start(std::move(arguments));
            return run.end();
        };
        CHECK(with_config({"--set", "rounds=4"}) == "exited with status 0");
        CHECK(run.rounds() == 4);
        CHECK(with_config({"--set", "rounds=5", "--set", "seed=3"}) == "exited with status 2");
        CHECK(run.said("seed: 1 -> 3"));
        // `device: auto` accepts the device that the run had.
        CHECK(with_config({"--set", "rounds=5", "--set", "device=auto"}) == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_of({"--set", "rounds=5"}));
    }

    TEST_CASE("FewerRoundsThanAreDone") {
        Finished run;
        run.refuses({"--set", "rounds=2"}, {"rounds: 2 is less than the 3 rounds already done; allowed: 3 or more"});
    }

    TEST_CASE("OtherDataUnderTheOldNameOrTheOldDataUnderAnother") {
        FedhiveRun first;
        write_idx(first.folder() / "a", 0);
        write_idx(first.folder() / "b", 1);
        Finished run({"--set",
                      fmt::format("data={{format: idx, root: {}, partition: {{clients: 2}}}}", (first.folder() / "a").string()),
                      "--set", "training.cohort=2"});
        const std::string other = "data.root=" + (first.folder() / "b").string();
        run.refuses({"--set", "rounds=4", "--set", other}, {"the data set differs from ", "--set data.root=PATH"});
        fs::rename(first.folder() / "b", first.folder() / "c");
        fs::rename(first.folder() / "a", first.folder() / "b");
        CHECK(run.resume({"--set", "rounds=4", "--set", other}) == "exited with status 0");
        CHECK(run.rounds() == 4);
        CHECK(read_text(run.out() / "config.yaml").find((first.folder() / "b").string()) != std::string::npos);
    }

    TEST_CASE("OtherBitsUnlessTheyAreAllowed") {
        Finished run;
        const std::vector<std::pair<std::string, std::string>> plain{{"ATEN_CPU_CAPABILITY", "default"}};
        if (run.manifest()["cpu_capability"] == "DEFAULT") FEDHIVE_SKIP("this processor has one CPU capability only");
        run.refuses({"--set", "rounds=4"},
                    {"would give different last bits", "CPU capability ", " then, DEFAULT now", "--allow-other-bits"}, plain);
        CHECK(run.resume({"--set", "rounds=4", "--allow-other-bits"}, plain) == "exited with status 0");
        REQUIRE(run.manifest()["other_bits"].size() == 1);
        CHECK(run.manifest()["cpu_capability"] == "DEFAULT");
        // The change stays recorded, and so does the new capability.
        run.refuses({"--set", "rounds=5"}, {"CPU capability DEFAULT then, "});
        CHECK(run.resume({"--set", "rounds=5", "--allow-other-bits"}) == "exited with status 0");
        CHECK(run.manifest()["other_bits"].size() == 2);
    }

    TEST_CASE("FilesOfAnotherVersion") {
        Finished run;
        run.replace_in("manifest.json", "\"schema\": 1", "\"schema\": 7");
        run.refuses({"--set", "rounds=4"}, {"manifest.json: has schema 7, but this"});
        run.replace_in("manifest.json", "\"schema\": 7", "\"schema\": 1");
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
    }

    TEST_CASE("TablesThatAreNotThoseOfTheCheckpoint") {
        Finished run;
        const std::string rounds = read_text(run.out() / "rounds.csv");
        const auto with_table = [&](const std::string& text, const std::string& problem) {
            std::ofstream(run.out() / "rounds.csv") << text;
            run.refuses({"--set", "rounds=4"}, {"rounds.csv: " + problem});
        };
        with_table("", fmt::format("has 0 bytes, but at the checkpoint of round 3 it had {}", rounds.size()));
        with_table("x" + rounds, "its columns differ from those");
        std::string shifted = rounds;
        shifted.insert(shifted.find('\n') + 1, "0,0,0\n");
        with_table(shifted, "its first");
        std::ofstream(run.out() / "rounds.csv") << rounds;
        fs::remove(run.out() / "clients.csv");
        run.refuses({"--set", "rounds=4"}, {"clients.csv: no such file; restore the file"});
    }

    TEST_CASE("RowThatWasChangedIsNoticed") {
        Finished run;
        for (const char* table : {"rounds.csv", "clients.csv"}) {
            const std::string rows = read_text(run.out() / table);
            std::string changed = rows;
            const std::size_t digit = changed.find_first_of("0123456789", changed.find('\n', changed.find('\n') + 1) + 3);
            changed[digit] = changed[digit] == '1' ? '2' : '1';
            std::ofstream(run.out() / table) << changed;
            run.refuses({"--set", "rounds=4"}, {std::string(table) + ": its first ", "differ from those that the run wrote"});
            std::ofstream(run.out() / table) << rows;
        }
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
    }

    TEST_CASE("ManifestWithValuesOfAnotherTypeIsNamed") {
        Finished run;
        const std::string manifest = read_text(run.out() / "manifest.json");
        for (const char* key :
             {"round", "resumed", "exit_status", "data_fingerprint", "started", "other_bits", "workers", "cores"}) {
            auto changed = nlohmann::json::parse(manifest);
            changed[key] = {{"x", 1}};
            std::ofstream(run.out() / "manifest.json") << changed.dump();
            run.refuses({},
                        {fmt::format("manifest.json: is damaged: its '{}' is of type object, expected ", key), "remove it"});
        }
        std::ofstream(run.out() / "manifest.json") << manifest.substr(0, manifest.size() / 2);
        run.refuses({}, {"manifest.json: is damaged: it is not a"});
        fs::remove(run.out() / "manifest.json");
        REQUIRE(mkfifo((run.out() / "manifest.json").c_str(), 0600) == 0);
        run.refuses({}, {"manifest.json: is not a regular file but a pipe"});
        fs::remove(run.out() / "manifest.json");
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
    }

    TEST_CASE("RunThatIsGoingOn") {
        FedhiveRun going(small_config(), {"--set", "rounds=1000000", "--set", "evaluation.every=1000000"});
        REQUIRE(eventually(30.0, [&] { return going.rounds() >= 2; }));
        FedhiveRun second;
        std::ofstream(second.folder() / "test.yaml") << small_config();
        const std::string message =
            fmt::format("{}: another run is using this folder; wait for its end (process {}), or stop it with: kill -INT {}",
                        going.out().string(), going.pid(), going.pid());
        for (const Options& arguments :
             {Options{"run", "--resume", going.out().string()},
              {"run", (second.folder() / "test.yaml").string(), "--out", going.out().string(), "--overwrite"}}) {
            second.start(arguments);
            CHECK(second.end() == "exited with status 2");
            CHECK_MESSAGE(second.output().find(message) != std::string::npos, second.output());
            fs::remove(second.folder() / "output");
        }
        kill(going.pid(), SIGKILL);
        going.end();
        CHECK(fs::exists(going.out() / ".lock"));  // a killed process leaves the file, but not the lock
        going.start({"run", "--resume", going.out().string()});
        const std::size_t before = going.rounds();
        REQUIRE(eventually(30.0, [&] { return going.rounds() > before; }));
        kill(going.pid(), SIGINT);
        CHECK(going.end() == "exited with status 130");
        CHECK_FALSE(fs::exists(going.out() / ".lock"));
    }
}
