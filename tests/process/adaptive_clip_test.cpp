// The upload step adaptive_clip in the real program: the norm that the server moves is that of every client of the next round,
// in any worker, after failures and a resume.
#include "sim/privacy/accountant.h"
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"
#include "tests/process/rank_runs.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kEqualWeights = "strategy={name: fedavg, weighting: uniform}";

std::string adaptive_clip(const std::string& keys, const std::string& behind = "") {
    return "upload=[{name: adaptive_clip, " + keys + "}" + behind + "]";
}

std::vector<double> numbers_in(const FedhiveRun& run, const char* file, const std::string& column) {
    std::vector<double> cells;
    for (const auto& row : read_csv(run.out() / file)) cells.push_back(std::stod(row.at(column)));
    return cells;
}

const Options kPrivateNorm{adaptive_clip("norm: 0.3, count_noise: 0.6", ", {name: gaussian_noise, multiplier: 0.4}"),
                           kEqualWeights};

}  // namespace

TEST_SUITE("AdaptiveClip") {
    TEST_CASE("NormMovesByTheShareOfUpdatesWithinItAndBoundsTheNextRound") {
        FedhiveRun run(small_config(), set({adaptive_clip("norm: 0.05, target_quantile: 0.7, clip_lr: 0.5"), "rounds=12"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const std::vector<double> norms = numbers_in(run, "rounds.csv", "clip_norm");
        std::vector<double> within(norms.size()), clients(norms.size());
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            const auto round = std::stoul(row.at("round")) - 1;
            within[round] += std::stod(row.at("within_clip"));
            clients[round] += 1.0;
            CHECK(std::stod(row.at("update_norm")) <= norms[round] * (1 + 1e-5));
            if (row.at("within_clip") == "0") CHECK(std::stod(row.at("update_norm")) >= norms[round] * (1 - 1e-5));
        }
        CHECK(norms[0] == 0.05);
        for (std::size_t i = 0; i + 1 < norms.size(); ++i)
            CHECK(norms[i + 1] == doctest::Approx(norms[i] * std::exp(-0.5 * (within[i] / clients[i] - 0.7))).epsilon(1e-9));
        CHECK(*std::max_element(within.begin(), within.end()) > 0.0);
        CHECK(within[0] < clients[0]);
    }

    TEST_CASE("WithAHugeNormItIsAsIfThereWereNoClip") {
        const std::string huge = adaptive_clip("norm: 1e9, target_quantile: 1");
        const std::string bare = sha_with({"upload=[]", "rounds=4"});
        CHECK(sha_with({huge, "rounds=4"}) == bare);
        CHECK(sha_with({huge, "rounds=4", "workers=3", "training.clients_per_slot=4"}) == bare);
        CHECK(sha_with({adaptive_clip("norm: 0.05, target_quantile: 1"), "rounds=4"}) != bare);
        FedhiveRun run(small_config(), set({huge, "rounds=4"}));
        REQUIRE(run.end() == "exited with status 0");
        CHECK(numbers_in(run, "rounds.csv", "clip_norm") == std::vector<double>(4, 1e9));
    }

    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterFailuresAndAResume") {
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            const Options chain = kPrivateNorm + Options{std::string("training.engine=") + engine};
            Finished run(set(chain + Options{"workers=3", "training.clients_per_slot=4"}));
            FedhiveRun whole(small_config(), set(chain + Options{"workers=1", "rounds=5"}));
            REQUIRE(whole.end() == "exited with status 0");
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(numbers_in(run, "rounds.csv", "clip_norm") == numbers_in(whole, "rounds.csv", "clip_norm"));
            CHECK(sha_with(chain + Options{"rounds=5", "faults=[{kind: kill, rate: 0.2}]",
                                           "failures={policy: retry, attempts: 9}"}) == whole.manifest()["model_sha256"]);
        }
        const Options at_once = kPrivateNorm + Options{"training.clients_at_once=4", "rounds=3"};
        CHECK(sha_with(at_once + Options{"workers=0"}) == sha_with(at_once + Options{"workers=3"}));
        CHECK(sha_with(at_once) != sha_with(at_once + Options{"seeds={training: 2}"}));
    }

    TEST_CASE("SameBitsOverRanks") {
        FEDHIVE_NEEDS_RANKS();
        const Options options = set(kPrivateNorm + Options{"rounds=4", "mode={name: synchronous, quorum: 9}"});
        FedhiveRun whole(small_config(), options);
        REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
        RankedRun run(2, small_config(), options);
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("ReplayClipsToTheNormOfTheRound") {
        Finished run(set(kPrivateNorm + Options{"rounds=4"}));
        const auto last = read_csv(run.out() / "clients.csv").back();
        FedhiveRun again;
        again.start({"replay", run.out().string(), "--round", "4", "--client", last.at("client_id")});
        CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
        CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
    }

    TEST_CASE("EpsilonIsThatOfTheMultiplierAndUpdatesGetMoreNoise") {
        const auto run_with = [](const std::string& chain) {
            FedhiveRun run(small_config(), set({"privacy={delta: 1e-3}", kEqualWeights, chain}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(run.output().find("privacy     ε ") != std::string::npos);
            return std::pair(read_csv(run.out() / "rounds.csv").back().at("epsilon"), run.output());
        };
        const auto fixed = run_with("upload=[{name: clip, norm: 0.3}, {name: gaussian_noise, multiplier: 1.2}]");
        const auto moving = run_with(
            adaptive_clip("norm: 0.3, target_quantile: 1, count_noise: 1", ", {name: gaussian_noise, multiplier: 1.2}"));
        CHECK(fixed.first == moving.first);
        CHECK_MESSAGE(moving.second.find("multiplier 1.2, 1.5 in the updates beside a count with noise 1") != std::string::npos,
                      moving.second);
    }

    TEST_CASE("NoiseOfAStandingNormIsThatOfAClipWithTheMultiplierBesideTheCount") {
        const std::string still =
            adaptive_clip("norm: 0.3, clip_lr: 1e-30, count_noise: 1", ", {name: gaussian_noise, multiplier: 1.2}");
        const std::string fixed = fmt::format("upload=[{{name: clip, norm: 0.3}}, {{name: gaussian_noise, multiplier: {}}}]",
                                              sim::multiplier_beside_count(1.2, 1.0).value());
        for (const char* faults : {"faults=[]", "faults=[{kind: throw, rate: 0.3}]"}) {  // then the server adds what is missing
            CAPTURE(faults);
            const Options options{kEqualWeights, faults, "failures={policy: drop}"};
            CHECK(sha_with(options + Options{still}) == sha_with(options + Options{fixed}));
        }
    }
}
