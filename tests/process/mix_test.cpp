// What a method's server mixes for each client (peers and mix of strategy.file): bits of methods that say the same in other ways, for any number
// of workers and ranks, after a kill under retry, a dropped client, and a resume.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kEverybody{"training.cohort=13", "data.partition.holdout=0.25",
                         "evaluation.clients={every: 1, personalized: true}"};

struct WrittenMix {
    explicit WrittenMix(const std::string& text) { std::ofstream(file()) << text; }
    std::filesystem::path file() const { return folder.path() / "mixed.yaml"; }
    Options options(const Options& more = {}) const { return Options{"strategy={file: " + file().string() + "}"} + more; }

    TemporaryFolder folder;
};

// Shares of the examples, and the same sum at the server and at each client.
const std::string kShares = "cohort: weight = k.n / sum_k(k.n)\nserver: w = w + u\n";
const std::string kMixOfShares = kShares +
                                 "memories: [{name: start_at, owner: client, first: w_t}]\nstart: start_at\n"
                                 "peers: k.n / sum_k(k.n)\nmix: start_at = w_t + u\n";
// A client's own model, by its visit and by the server.
const std::string kOwnByVisit =
    "memories: [{name: own, owner: client, first: w_t}]\nstart: own\nend: own = w_t + u\njudge: own\n";
const std::string kOwnByServer =
    "memories: [{name: own, owner: client, first: w_t}]\nstart: own\npeers: k.me\nmix: own = w_t + u\njudge: own\n";

void mix_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

std::string tables_of(const FedhiveRun& run) {
    return comparable(run.out() / "clients.csv") + read_text(run.out() / "fairness.csv") +
           run.manifest()["model_sha256"].get<std::string>();
}

std::string tables_with(const WrittenMix& method, const Options& more) {
    FedhiveRun run(small_config(), set(method.options(more)));
    mix_ended_well(run);
    return tables_of(run);
}

}  // namespace

TEST_SUITE("Mix") {
    TEST_CASE("ClientsThatBeginAtTheMixtureOfAllAreFedAvg") {
        const WrittenMix shares(kShares), mixed(kMixOfShares);
        const std::string plain = sha_with(shares.options(kEverybody));
        for (const Options& more :
             std::vector<Options>{{"workers=0"},
                                  {"workers=1"},
                                  {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"},
                                  {"training.engine=libtorch"}}) {
            CAPTURE(more.front());
            const std::string expected =
                more.front() == "training.engine=libtorch" ? sha_with(shares.options(kEverybody + more)) : plain;
            CHECK(sha_with(mixed.options(kEverybody + more)) == expected);
        }
    }

    TEST_CASE("AClientGetsItsOwnMixture") {
        const WrittenMix by_visit(kOwnByVisit), by_server(kOwnByServer);
        for (const Options& more :
             std::vector<Options>{{"training.cohort=5", "rounds=5"},
                                  {"workers=3", "training.cohort=5", "rounds=5", "client_state=file"},
                                  {"failures={policy: drop}", "faults=[{kind: kill, round: 1, client: 3}]"}}) {
            const Options options = kEverybody + more;
            CHECK(tables_with(by_server, options) == tables_with(by_visit, options));
        }
    }

    TEST_CASE("AMixtureReadsWhatTheClientKeptBefore") {
        const WrittenMix by_visit(
            "memories: [{name: own, owner: client, first: w_t}, {name: sum, owner: client}]\nstart: own\n"
            "end: [own = 0.5 * own + 0.5 * (w_t + u), sum = sum + u]\njudge: own + 0.001 * sum\n");
        const WrittenMix by_server(
            "memories: [{name: own, owner: client, first: w_t}, {name: sum, owner: client}]\nstart: own\n"
            "peers: k.me\nmix: [own = 0.5 * own + 0.5 * (w_t + u), sum = sum + u]\njudge: own + 0.001 * sum\n");
        const Options options = kEverybody + Options{"training.cohort=5", "rounds=6"};
        CHECK(tables_with(by_server, options) == tables_with(by_visit, options));
    }

    TEST_CASE("RanksAgreeAndAResumeGoesOn") {
        FEDHIVE_NEEDS_RANKS();
        const std::filesystem::path methods = source_folder() / "configs/methods";
        for (const char* name : {"fedamp", "pfedgraph", "dpsgd"}) {
            CAPTURE(name);
            const Options method =
                Options{"strategy={file: " + (methods / (std::string(name) + ".py")).string() + "}"} + kEverybody;
            FedhiveRun whole(small_config(), set(method + Options{"rounds=4"}));
            mix_ended_well(whole);
            RankedRun ranked(2, small_config(), set(method + Options{"rounds=2"}));
            mix_ended_well(ranked);
            ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
            mix_ended_well(ranked);
            CHECK(tables_of(ranked) == tables_of(whole));
        }
    }

    TEST_CASE("AWeightThatIsNotFiniteEndsTheRunAndIsNamed") {
        const WrittenMix method(
            "memories: [{name: own, owner: client, first: w_t}]\nstart: own\npeers: k.n / (k.n - k.n)\nmix: own = w_t + u\n");
        FedhiveRun run(small_config(), set(method.options()));
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(run.output().find("`mix` gives client") != std::string::npos, run.output());
    }
}
