// Unreadable checkpoints and full disks: complete ones remain, and the run continues from there.
#include "tests/process/finished_run.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;
namespace fs = std::filesystem;

TEST_SUITE("ResumeDamaged") {
    TEST_CASE("DamagedCheckpointFallsBackToTheOneBefore") {
        const std::string wanted = sha_of({"--set", "rounds=5"});
        Finished run;
        run.damage_checkpoint(3);
        CHECK(run.resume({"--set", "rounds=5"}) == "exited with status 0");
        CHECK(run.said("damaged     "));
        CHECK(run.said("round-00000003.safetensors: its bytes do not match its sha256"));
        CHECK(run.said("resumed     after round 2 of 5, from checkpoints/round-00000002.safetensors"));
        CHECK(run.manifest()["model_sha256"] == wanted);
        CHECK(run.rounds() == 5);
        const auto events = events_of(run.out());
        CHECK(std::count(events.begin(), events.end(), "damaged_checkpoint") == 1);
        CHECK(sim::checkpoint_rounds(run.out()) == std::vector<std::int64_t>{4, 5});
    }

    TEST_CASE("DamagedCheckpointOfALaterRoundNeverPushesOutAWholeOne") {
        Finished run;
        // Rounds 8 and 9 look newest, while only two checkpoints are kept.
        for (const char* name : {"round-00000008.safetensors", "round-00000009.safetensors"})
            std::ofstream(run.out() / "checkpoints" / name) << "torn";
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
        CHECK(sim::checkpoint_rounds(run.out()) == std::vector<std::int64_t>{3, 4});
        CHECK(run.resume({"--set", "rounds=5"}) == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_of({"--set", "rounds=5"}));
    }

    TEST_CASE("WithoutAWholeCheckpointTheRunBeginsAgain") {
        Finished run;
        const std::string wanted = sha_of({"--set", "rounds=4"});
        run.damage_checkpoint(3);
        std::ofstream(sim::checkpoint_path(run.out(), 2), std::ios::trunc) << "";
        CHECK(run.resume({}) == "exited with status 0");  // it had finished: nothing to do
        CHECK(run.said("the run has finished after 3 rounds"));
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
        CHECK(run.said("resumed     from the beginning, because no checkpoint is usable"));
        CHECK(run.manifest()["model_sha256"] == wanted);
        CHECK(run.rounds() == 4);
        const auto events = events_of(run.out());
        CHECK(std::count(events.begin(), events.end(), "damaged_checkpoint") == 2);
    }

    TEST_CASE("WithoutItsCheckpointsTheRunBeginsAgainAndSaysWhichRoundsAreDoneAgain") {
        const std::string wanted = sha_of({"--set", "rounds=4"});
        Finished run;
        const auto resumed = [&] {
            for (const std::string& line : read_lines(run.out() / "events.jsonl"))
                if (auto event = nlohmann::json::parse(line); event["event"] == "resumed") return event;
            return nlohmann::json();
        };
        const auto loses = [&](std::vector<std::int64_t> rounds) {
            for (const std::int64_t round : rounds) fs::remove(sim::checkpoint_path(run.out(), round));
        };
        loses({2, 3});
        CHECK(run.resume({"--set", "rounds=4"}) == "exited with status 0");
        CHECK(
            run.said("resumed     from the beginning, because there is no checkpoint; 3 rounds of rounds.csv are done again"));
        CHECK(resumed()["done_again"] == 3);
        CHECK(resumed()["checkpoint"].is_null());
        CHECK(run.manifest()["model_sha256"] == wanted);
        CHECK(run.rounds() == 4);
        loses({4});
        CHECK(run.resume({"--set", "rounds=5"}) == "exited with status 0");
        CHECK(run.said("from checkpoints/round-00000003.safetensors; 1 round of rounds.csv is done again"));
        CHECK(run.manifest()["model_sha256"] == sha_of({"--set", "rounds=5"}));
    }

    TEST_CASE("ModelOfAFileWhoseCopyIsDamagedCannotBeginAgain") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        Finished run({"--init", (first.out() / "model.safetensors").string()});
        for (const std::int64_t round : {0, 2, 3}) run.damage_checkpoint(round);
        run.refuses({"--set", "rounds=4"}, {"its copy in checkpoints/ is missing"});
    }

    TEST_CASE("ModelFileOfAnotherModelNamesBothSides") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        const std::string model = (first.out() / "model.safetensors").string();
        FedhiveRun run(small_config(), {"--init", model, "--set", "model.hidden=16"});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("model.init: " + model) != std::string::npos, run.output());
        CHECK_MESSAGE(run.output().find("[32,16]") != std::string::npos, run.output());
        CHECK_MESSAGE(run.output().find("[16,16]") != std::string::npos, run.output());
        CHECK_FALSE(fs::exists(run.out()));
    }

    TEST_CASE("FullDiskEndsTheRunAndItGoesOnWhenThereIsRoom") {
        const TemporaryFolder folder;
        const fs::path disk = folder.path() / "disk";
        fs::create_directory(disk);
        if (std::system(fmt::format("mount -t tmpfs -o size=2m tmpfs {} 2>/dev/null", disk.string()).c_str()) != 0)
            FEDHIVE_SKIP("a small file system cannot be mounted here");
        struct Unmount {
            std::string command;
            ~Unmount() { [[maybe_unused]] const int ignored = std::system(command.c_str()); }
        } const unmount{fmt::format("umount -l {}", disk.string())};
        const std::string wanted = sha_of({"--set", "rounds=40"});
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        int failed = 0;
        for (const std::size_t free_kib : {0U, 4U, 12U, 24U, 40U, 60U, 80U}) {
            const fs::path out = disk / "out";
            fs::remove_all(out);
            std::ofstream(disk / "filler") << std::string((2048 - free_kib) * 1024, 'x');
            run.start({"run", (run.folder() / "test.yaml").string(), "--out", out.string(), "--set", "rounds=40", "--set",
                       "checkpoint={every: 3}"});
            const std::string end = run.end();
            if (end != "exited with status 0") {
                ++failed;
                CHECK_MESSAGE((end == "exited with status 1" || free_kib == 0), end);
                CHECK_MESSAGE(run.output().find("No space left on device") != std::string::npos, run.output());
                CHECK_MESSAGE(run.output().find(out.string()) != std::string::npos, run.output());
                // The error names the first thing that could not be written, not a later one.
                const bool going = fs::exists(out / "rounds.csv") && read_lines(out / "rounds.csv").size() > 1;
                CHECK_MESSAGE((!going || run.output().find("go on with: fedhive run --resume") != std::string::npos),
                              run.output());
            }
            fs::remove(disk / "filler");
            fs::remove(run.folder() / "output");
            if (fs::exists(out / "config.yaml"))
                run.start({"run", "--resume", out.string()});
            else
                run.start({"run", (run.folder() / "test.yaml").string(), "--out", out.string(), "--set", "rounds=40"});
            CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(manifest_of(out)["model_sha256"] == wanted);
            CHECK(read_lines(out / "rounds.csv").size() == 41);
            CHECK(read_lines(out / "clients.csv").size() == 1 + 40 * 11);
            events_of(out);
            check_no_leftovers(out);
        }
        CHECK(failed >= 5);
    }
}
