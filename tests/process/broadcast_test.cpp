// A compressed download in the real program: the same bits for any number of workers, after failures, stops and over ranks; bytes.
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"
#include "tests/process/rank_runs.h"

#include <doctest/doctest.h>

#include <csignal>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kChanges = "download=[{name: error_feedback}, {name: top_k, kept: 0.1}, {name: quantize, bits: 8}]";
const std::string kModels = "download=[{name: eden, bits: 4}]";

// 16 · 32 + 32, 32 · 32 + 32, 32 · 5 + 5 parameters.
constexpr std::uint64_t kModelBytes = std::uint64_t{4} * (544 + 1056 + 165);

}  // namespace

TEST_SUITE("DownloadRuns") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterFailuresAResumeAndInAReplay") {
        for (const std::string& download : {kChanges, kModels})
            for (const char* engine : {"direct", "libtorch"}) {
                CAPTURE(download);
                CAPTURE(engine);
                const Options chain{download, std::string("training.engine=") + engine, "training.cohort=6"};
                Finished run(set(chain + Options{"workers=3", "training.clients_per_slot=2"}));
                FedhiveRun whole(small_config(), set(chain + Options{"workers=0", "rounds=5"}));
                REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
                REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
                CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
                CHECK(comparable(run.out() / "rounds.csv") == comparable(whole.out() / "rounds.csv"));
                CHECK(sha_with(chain + Options{"rounds=5", "faults=[{kind: kill, rate: 0.2}]",
                                               "failures={policy: retry, attempts: 9}"}) == whole.manifest()["model_sha256"]);
                CHECK(sha_with({"training.cohort=6", "rounds=5", std::string("training.engine=") + engine}) !=
                      whole.manifest()["model_sha256"]);
                check_last_visit_replays(run);
            }
    }

    TEST_CASE("ARunThatWasStoppedWithinARoundGoesOnFromWhatItsClientsHave") {
        const Options options{kChanges, "training.cohort=4", "rounds=5", "checkpoint.every=100"};
        FedhiveRun whole(small_config(), set(options));
        REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
        const auto clients = read_csv(whole.out() / "clients.csv");
        const auto in_third = std::ranges::find_if(clients, [](const auto& row) { return row.at("round") == "3"; });
        REQUIRE(in_third != clients.end());
        const std::string hangs =
            fmt::format("faults=[{{kind: hang, round: 3, client: {}, attempts: first}}]", in_third->at("client_id"));
        FedhiveRun run(small_config(), set(options + Options{hangs, "failures={policy: retry, deadline_s: 600}"}));
        REQUIRE(eventually(60.0, [&] { return run.rounds() == 2; }));
        kill(run.pid(), SIGINT);
        REQUIRE_MESSAGE(run.end() == "exited with status 130", run.output());
        run.start({"run", "--resume", run.out().string(), "--set", "failures.deadline_s=2"});
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
        CHECK(comparable(run.out() / "rounds.csv") == comparable(whole.out() / "rounds.csv"));
    }

    TEST_CASE("SameBitsOverRanks") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string& download : {kChanges, kModels}) {
            const Options options = set({download, "rounds=4", "mode={name: synchronous, quorum: 9}"});
            FedhiveRun whole(small_config(), options);
            REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
            RankedRun run(2, small_config(), options);
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            check_same_run(run.out(), whole.out());
        }
    }

    TEST_CASE("ChangesOfWhichNothingIsLostAreFedAvg") {
        const std::string bare = sha_with({"training.cohort=6", "rounds=4"});
        CHECK(sha_with({"training.cohort=6", "rounds=4", "download=[{name: error_feedback}, {name: top_k, kept: 1}]"}) == bare);
    }

    TEST_CASE("EveryStepGivesBitsOfItsOwn") {
        std::set<std::string> seen{sha_with({"workers=1"})};
        for (const char* chain :
             {"{name: quantize}", "{name: sign}", "{name: fp16}", "{name: terngrad}", "{name: drive}", "{name: eden}",
              "{name: error_feedback}, {name: top_k}", "{name: error_feedback}, {name: random_k}",
              "{name: error_feedback}, {name: stc}", "{name: error_feedback}, {name: quantize}"})
            CHECK_MESSAGE(seen.insert(sha_with({fmt::format("download=[{}]", chain), "workers=1"})).second, chain);
    }

    TEST_CASE("BytesDownAreThoseOfTheCompressedModelAndClientsHaveItSooner") {
        const auto last = [](const Options& more) {
            FedhiveRun run(small_config(), set(more + Options{"devices.link={upload: 1000000, download: 1000}"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return read_csv(run.out() / "rounds.csv").back();
        };
        const auto bare = last({}), half = last({"download=[{name: fp16}]"});
        CHECK(bare.at("bytes_down") == std::to_string(11 * kModelBytes));
        CHECK(half.at("bytes_down") == std::to_string(11 * kModelBytes / 2));
        CHECK(half.at("bytes_up") == bare.at("bytes_up"));
        CHECK(std::stod(half.at("virtual_s")) == doctest::Approx(std::stod(bare.at("virtual_s")) - 3 * 3.530));
        // SCAFFOLD's control variate goes down whole.
        CHECK(last({"download=[{name: fp16}]", "strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"})
                  .at("bytes_down") == std::to_string(11 * (kModelBytes / 2 + kModelBytes)));
    }

    TEST_CASE("WhoSkippedRoundsGetsTheirChangesTooAndWhoHasNoneTheModel") {
        FedhiveRun run(small_config(),
                       set({"download=[{name: error_feedback}, {name: sign}]", "training.cohort=3", "rounds=12"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK_MESSAGE(run.output().find("models      error_feedback, sign · 245 B of 6.9 KiB each, whole to clients that have "
                                        "none; who skipped rounds gets theirs, too\n") != std::string::npos,
                      run.output());
        constexpr std::uint64_t kChange = 221 + 6 * 4;
        std::map<std::string, std::uint64_t> heard;
        std::map<std::uint64_t, std::uint64_t> down;
        bool one_skipped = false;
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            const std::uint64_t round = std::stoull(row.at("round"));
            const auto before = heard.find(row.at("client_id"));
            const std::uint64_t behind = before == heard.end() ? 0 : round - before->second;
            one_skipped = one_skipped || behind > 1;
            down[round] += behind == 0 ? kModelBytes : behind * kChange;
            heard[row.at("client_id")] = round;
        }
        CHECK(one_skipped);
        for (const auto& row : read_csv(run.out() / "rounds.csv"))
            CHECK(row.at("bytes_down") == std::to_string(down.at(std::stoull(row.at("round")))));
    }

    TEST_CASE("TheServersExactModelIsEvaluatedAndStored") {
        // The first round's clients have the first model whole, so only the second round's train from another one.
        const auto first_rows = [](const Options& more) {
            FedhiveRun run(small_config(), set(more + Options{"rounds=1"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return std::pair(read_csv(run.out() / "rounds.csv").front().at("test_loss"), run.manifest()["model_sha256"]);
        };
        CHECK(first_rows({"download=[{name: error_feedback}, {name: sign}]"}) == first_rows({}));
    }
}
