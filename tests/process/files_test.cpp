// Paths that are not the kind of file that a run expects: each is named in the error, none blocks the run,
// nothing else is changed.
#include "sim/screen/screen_text.h"
#include "tests/process/finished_run.h"
#include "tests/process/remains.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace fedhive;
using namespace fedhive::testing;
namespace fs = std::filesystem;

namespace {

/// Each command must end with status 2 within seconds and say `text`.
void refused_at_once(const std::vector<std::string>& arguments, const std::string& text) {
    CAPTURE(text);
    FedhiveRun run;
    const std::int64_t start = now_ns();
    run.start(arguments);
    CHECK(run.end() == "exited with status 2");
    CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK(seconds_between(start, now_ns()) < 60.0);
}

/// Limits the size of files of child processes started during its lifetime.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        const rlimit limit{bytes, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

}  // namespace

TEST_SUITE("Files") {
    TEST_CASE("PipesAndDevicesInPlaceOfFilesAreNeverWaitedFor") {
        const TemporaryFolder folder;
        const std::string pipe = (folder.path() / "pipe").string();
        REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
        const std::string config = (folder.path() / "c.yaml").string();
        std::ofstream(config) << small_config();
        const std::string is_pipe = pipe + ": is not a regular file but a pipe";
        for (const char* command : {"run", "validate", "show-config", "sweep"}) refused_at_once({command, pipe}, is_pipe);
        refused_at_once({"run", "/dev/zero"}, "/dev/zero: is not a regular file but a device");
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.begin(), {"validate", config});
            return more;
        };
        refused_at_once(with({"--set", "model.init=" + pipe}), is_pipe);
        refused_at_once(with({"--set", "clock=wall", "--set", "arrivals=" + pipe}), is_pipe);
        refused_at_once(with({"--set", "devices={trace: " + pipe + "}"}), is_pipe);
        const fs::path sweep = folder.path() / "sweep";
        fs::create_directory(sweep);
        REQUIRE(mkfifo((sweep / "sweep.json").c_str(), 0600) == 0);
        refused_at_once({"sweep", "--resume", sweep.string()}, "sweep.json: is not a regular file but a pipe");
    }

    TEST_CASE("EmptyNamesAreErrors") {
        const TemporaryFolder folder;
        const std::string config = (folder.path() / "c.yaml").string();
        std::ofstream(config) << small_config();
        for (const char* option : {"--out", "--resume", "--init", "--arrivals"})
            refused_at_once({"run", config, option, ""}, std::string(option) + ": is empty; expected a name");
        refused_at_once({"sweep", config, "--out", ""}, "--out: is empty; expected a name");
        refused_at_once({"run", ""}, "is empty; expected a name");
    }

    TEST_CASE("NothingSpeaksToTheTerminal") {
        const TemporaryFolder folder;
        const std::string config = (folder.path() / "c\x1b[2J.yaml").string();
        std::ofstream(config) << "\"seed\\e[2J\\u202e\\u009b\": 1\n" << small_config();
        for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", config},
                                                          {"run", config, "--set", "a\x1b]0;x\x07=1"},
                                                          {"run", config, "--a\x1b[2J"}}) {
            FedhiveRun run;
            run.start(arguments);
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find("\\x1b") != std::string::npos, run.output());
            for (const char* byte : {"\x1b", "\x07", "\u202e", "\u009b"}) CHECK(run.output().find(byte) == std::string::npos);
        }
    }

    TEST_CASE("LimitOnTheSizeOfFilesEndsTheRunWithTheFilesName") {
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        int named = 0;
        for (const rlim_t kib : {0, 8, 64, 1024}) {
            fs::remove(run.folder() / "output");
            fs::remove_all(run.out());
            {
                // The limit applies to its output file, too.
                const FileSizeLimit limit(kib * 1024);
                run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string(), "--quiet", "--set",
                           "rounds=100000", "--set", "evaluation.every=100000"});
            }
            CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
            if (run.output().find("File too large") != std::string::npos) ++named;
            if (fs::exists(run.out())) check_no_leftovers(run.out());
        }
        CHECK(named >= 3);  // where no byte may be written, no message can be either
        CHECK_MESSAGE(run.output().find(".csv: File too large") != std::string::npos, run.output());
        CHECK(run.manifest()["exit_status"].get<std::string>().find("File too large") != std::string::npos);
        CHECK(run.rounds() > 0);
    }

    TEST_CASE("TablesThatOthersChangeEndTheRunAsFailed") {
        const auto changed = [](const char* table, const char* how, const std::function<void(const fs::path&)>& change) {
            CAPTURE(table);
            CAPTURE(how);
            FedhiveRun run(small_config(), set({"rounds=400", "evaluation.every=400", "checkpoint.every=400"}));
            REQUIRE(eventually(30.0, [&] { return run.rounds() >= 2; }));
            change(run.out() / table);
            CHECK(run.end() == "exited with status 1");
            const std::string problem = std::string(table) + ": was " + how + " while the run wrote it";
            CHECK_MESSAGE(run.output().find(problem) != std::string::npos, run.output());
            CHECK(run.manifest()["exit_status"].get<std::string>().find(problem) != std::string::npos);
            CHECK_FALSE(fs::exists(run.out() / "model.safetensors"));
        };
        changed("rounds.csv", "changed", [](const fs::path& file) { fs::resize_file(file, 10); });
        changed("clients.csv", "removed", [](const fs::path& file) { fs::remove(file); });
        changed("partition.csv", "removed", [](const fs::path& file) { fs::remove(file); });
        changed("events.jsonl", "replaced by another file", [](const fs::path& file) {
            fs::copy_file(file, file.string() + ".new");
            fs::rename(file.string() + ".new", file);
        });
    }

    TEST_CASE("CheckpointOfHolesOrAFolderIsPassedOver") {
        const std::string wanted = sha_of({"--set", "rounds=4"});
        for (const bool is_folder : {false, true}) {
            CAPTURE(is_folder);
            Finished run;
            const fs::path newest = sim::checkpoint_path(run.out(), 3);
            if (is_folder) {
                fs::remove(newest);
                fs::create_directories(newest / "somebody's");
            } else {
                std::ofstream(newest, std::ios::trunc) << "";
                fs::resize_file(newest, std::uintmax_t{1} << 40);
            }
            CHECK_MESSAGE(run.resume({"--set", "rounds=4"}) == "exited with status 0", run.output());
            CHECK(run.said("damaged     "));
            CHECK(run.said("resumed     after round 2 of 4, from checkpoints/round-00000002.safetensors"));
            const auto events = events_of(run.out());
            CHECK(std::count(events.begin(), events.end(), "damaged_checkpoint") == 1);
            CHECK(run.manifest()["model_sha256"] == wanted);
            CHECK(sim::checkpoint_rounds(run.out()) == std::vector<std::int64_t>{3, 4});
            CHECK(fs::exists(newest.string() + ".damaged" + "/somebody's") == is_folder);
        }
    }

    TEST_CASE("LinksInTheFolderAreNotFollowed") {
        for (const char* name : {".lock", "config.yaml.part", "checkpoints", "logs"}) {
            CAPTURE(name);
            const TemporaryFolder other;
            std::ofstream(other.path() / "precious") << "mine";
            FedhiveRun run;
            fs::create_directory(run.out());
            const bool is_folder = std::string(name) == "checkpoints" || std::string(name) == "logs";
            fs::create_symlink(is_folder ? other.path() : other.path() / "precious", run.out() / name);
            std::ofstream(run.folder() / "test.yaml") << small_config();
            run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()});
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find("the folder is not empty") != std::string::npos, run.output());
            CHECK(read_text(other.path() / "precious") == "mine");
            CHECK(std::distance(fs::directory_iterator(other.path()), {}) == 1);
        }
    }

    TEST_CASE("ModelBeyondTheMemoryIsRefusedBeforeItIsBuilt") {
        const TemporaryFolder folder;
        const std::string config = (folder.path() / "c.yaml").string();
        std::ofstream(config) << small_config();
        const std::int64_t start = now_ns();
        refused_at_once({"validate", config, "--set", "model.hidden=1000000"}, "mlp has 1000023000005 parameters, 4e+12 bytes");
        // Each tensor and the model fit into memory, but the arena does not.
        refused_at_once({"validate", config, "--set", "data.num_classes=1000000", "--set", "data.num_features=1000000"},
                        "1000000 classes of 1000000 features need 8e+12 bytes");
        CHECK(seconds_between(start, now_ns()) < 60.0);
    }

    TEST_CASE("InterruptWhileManyWorkersStartIsAnsweredSoon") {
        const auto seconds = [] {
            // A fifth of a second per start: 24 s until all have started.
            FedhiveRun run(small_config(), set({"workers=120", "rounds=1000"}),
                           {{"LD_PRELOAD", beside_tests("libslow_birth.so").string()}, {"BIRTH_MS", "200"}});
            REQUIRE(eventually(60.0, [&] { return run.workers().size() >= 4; }));
            const std::int64_t start = now_ns();
            kill(run.pid(), SIGINT);
            CHECK(run.end() == "exited with status 130");
            const double answered = seconds_between(start, now_ns());
            CHECK(run.manifest()["exit_status"] == "interrupted by SIGINT");
            check_no_leftovers(run.out());
            return answered;
        };
        CHECK(least_of_six(3.0, seconds) < 3.0);  // half a second on an idle machine
    }
}
