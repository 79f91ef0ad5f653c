// Visits in Python (strategy.visit): FedAvg written so beside fedhive's own, the bits of any workers, a kill, a resume, ranks and a replay,
// what a client keeps, and what a file can do wrong.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"
#include "tests/support/python.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

bool visits_may_run() {
    if (python_has_numpy()) return true;
    MESSAGE("skipped: no NumPy in .deps/python (scripts/setup --tests)");
    return false;
}

struct WrittenVisit {
    explicit WrittenVisit(const std::string& text) { std::ofstream(file()) << "import numpy as np, fedhive as fh\n\n" << text; }
    std::filesystem::path file() const { return folder.path() / "own.py"; }
    Options options(const Options& more = {}) const { return Options{"strategy={visit: " + file().string() + "}"} + more; }

    TemporaryFolder folder;
};

const Options kLogistic{"model={name: lr}", "training.optimizer={name: sgd, lr: 0.125}", "training.local_epochs=2"};

Options of_example(const char* name) {
    return {"strategy={visit: " + (source_folder() / "configs/visits" / name).string() + "}"};
}

// Moves each weight by what the client draws, what it keeps, and its batches: a change of any of them changes the bits.
const std::string kKeeps =
    "fh.memory('drift', of='client')\nfh.memory('rounds', of='client', shape='number')\nfh.memory('seen', of='client', "
    "shape='classes')\n"
    "def visit(vector, batches, client):\n"
    "    client.memory['rounds'] += 1\n"
    "    for place, (x, y) in enumerate(batches):\n"
    "        client.memory['seen'] += np.bincount(y, minlength=5)\n"
    "        client.add_loss(1 / client.memory['rounds'][0], len(y))\n"
    "        vector += client.rng.normal(size=vector.size) * 0.001 * (1 + place) + x.mean() * 0.01\n"
    "    drift = client.memory['drift']\n"
    "    vector[:drift.size] += 0.5 * drift + 0.0001 * client.memory['seen'][0] / client.memory['rounds'][0]\n"
    "    drift[:] = 0.5 * drift + client.lr\n";

void visited_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// How a run with the visit ends, what it says, and its events.
std::string ending_of_visit(const std::string& text, const Options& more = {}) {
    const WrittenVisit visit(text);
    FedhiveRun run(small_config(), set(visit.options(more)));
    const std::string end = run.end();
    const std::filesystem::path events = run.out() / "events.jsonl";
    return end + ": " + run.output() + (std::filesystem::exists(events) ? read_text(events) : "");
}

void check_tells(const std::string& found, const std::string& end, const std::string& text) {
    CHECK_MESSAGE(found.starts_with(end), found);
    CHECK_MESSAGE(found.find(text) != std::string::npos, found);
}

/// The columns of both tables agree to `most`, relative to numbers above 1.
void check_near(const std::filesystem::path& one, const std::filesystem::path& other, const std::vector<std::string>& columns,
                double most) {
    const auto rows = read_csv(one), others = read_csv(other);
    REQUIRE(rows.size() == others.size());
    REQUIRE_FALSE(rows.empty());
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (const std::string& column : columns) {
            const double a = std::stod(rows[i].at(column)), b = std::stod(others[i].at(column));
            CHECK_MESSAGE(std::abs(a - b) <= most * std::max(1.0, std::abs(b)), column, " in row ", i, ": ", a, " and ", b);
        }
}

void check_as_fedavg(const Options& visit, const Options& more, double most) {
    CAPTURE(more);
    FedhiveRun own(small_config(), set(more));
    visited_well(own);
    FedhiveRun run(small_config(), set(visit + more));
    visited_well(run);
    check_near(run.out() / "rounds.csv", own.out() / "rounds.csv", {"test_loss"}, most);
    check_near(run.out() / "clients.csv", own.out() / "clients.csv", {"client_id", "steps", "train_loss", "update_norm"}, most);
}

}  // namespace

TEST_SUITE("PythonVisit") {
    TEST_CASE("FedAvgInNumPyIsFedhivesOwnToFiveDigits") {
        if (!visits_may_run()) return;
        check_as_fedavg(of_example("fedavg_numpy.py"), kLogistic, 1e-5);
        check_as_fedavg(of_example("fedavg_numpy.py"),
                        kLogistic + Options{"data={format: glyphs, num_train: 500, num_test: 100, partition: {clients: 13}}",
                                            "data.normalize={mean: [0.5], std: [0.25]}",
                                            "training.optimizer={name: sgd, lr: 0.0009765625}"},
                        1e-5);
        check_as_fedavg(
            of_example("fedavg_numpy.py"),
            {"model={name: lr}", "training={cohort: 11, batch_size: 16, local_steps: 3, optimizer: {name: sgd, lr: 0.125}}"},
            1e-5);
    }

    TEST_CASE("BitsAreEqualForAnyWorkersAKillUnderRetryAResumeAndAReplay") {
        if (!visits_may_run()) return;
        const WrittenVisit visit(kKeeps);
        FedhiveRun whole(small_config(), set(visit.options({"rounds=4", "checkpoint.every=1"})));
        visited_well(whole);
        check_last_visit_replays(whole);
        for (const Options& more :
             std::vector<Options>{{"workers=0"},
                                  {"workers=1"},
                                  {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"}}) {
            FedhiveRun run(small_config(), set(visit.options(Options{"rounds=4"} + more)));
            visited_well(run);
            CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
        }
        FedhiveRun begun(small_config(), set(visit.options({"rounds=2", "checkpoint.every=1"})));
        visited_well(begun);
        std::filesystem::remove(visit.file());  // its copy in the run's folder goes on
        begun.start({"run", "--quiet", "--resume", begun.out().string(), "--set", "rounds=4"});
        visited_well(begun);
        check_same_run(begun.out(), whole.out());
    }

    TEST_CASE("AClientCountsItsVisitsInItsMemory") {
        if (!visits_may_run()) return;
        const WrittenVisit counts(
            "fh.memory('rounds', of='client', shape='number')\ndef visit(vector, client):\n    client.memory['rounds'] += 1\n"
            "    client.add_loss(client.memory['rounds'][0], 1)\n");
        FedhiveRun run(small_config(), set(counts.options({"rounds=4"})));
        visited_well(run);
        const WrittenVisit elsewhere(
            "fh.memory('rounds', of='client', shape='number')\ndef visit(vector, client):\n"
            "    client.memory['rounds'] = client.memory['rounds'][0] + 1\n    client.add_loss(client.memory['rounds'], 1)\n");
        FedhiveRun brought(small_config(), set(elsewhere.options({"rounds=4"})));
        visited_well(brought);
        CHECK(comparable(brought.out() / "clients.csv") == comparable(run.out() / "clients.csv"));
        std::map<std::string, int> visits;
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            CHECK_EQ(std::stod(row.at("train_loss")), static_cast<double>(++visits[row.at("client_id")]));
        CHECK(visits.size() > 2);
    }

    TEST_CASE("RanksKeepWhatTheirClientsKeep") {
        if (!visits_may_run()) return;
        FEDHIVE_NEEDS_RANKS();
        const WrittenVisit visit(kKeeps);
        FedhiveRun alone(small_config(), set(visit.options()));
        visited_well(alone);
        RankedRun ranked(2, small_config(), set(visit.options()));
        visited_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == alone.manifest()["model_sha256"]);
    }

    TEST_CASE("AVisitThatDrawsFromElsewhereIsNamedByAReplay") {
        if (!visits_may_run()) return;
        const WrittenVisit visit(
            "import os\n\ndef visit(vector, batches):\n    vector += int.from_bytes(os.urandom(2), 'little') / 65536\n");
        FedhiveRun run(small_config(), set(visit.options({"checkpoint.every=1"})));
        visited_well(run);
        const auto row = read_csv(run.out() / "clients.csv").front();
        run.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(run.output().find("different bits") != std::string::npos, run.output());
    }

    TEST_CASE("AReturnedUpdateIsSentAndNothingElseIs") {
        if (!visits_may_run()) return;
        // Powers of two: the model that was sent stays, and each update is exact.
        const WrittenVisit visit(
            "def visit(weights, vector, client):\n    update = np.zeros_like(vector)\n    update[-1] = 4.0\n    update[0] = "
            "4.0\n"
            "    vector[:] = 99\n    return update\n");
        FedhiveRun run(small_config(), set(visit.options({"model={name: lr}"})));
        visited_well(run);
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            // linear.bias has 5 numbers, so that the last of its 16 places is padding.
            CHECK(std::abs(std::stod(row.at("update_norm")) - 4.0) < 1e-6);
            CHECK(row.at("steps") == "1");
        }
    }

    TEST_CASE("ValuesThatAreElsewhereAreBroughtBack") {
        if (!visits_may_run()) return;
        const std::string in_place = "def visit(weights):\n    weights['linear.bias'] += 1\n";
        const std::string elsewhere = "def visit(weights):\n    weights['linear.bias'] = weights['linear.bias'] + 1\n";
        const Options lr{"model={name: lr}"};
        CHECK(sha_with(WrittenVisit(in_place).options(lr)) == sha_with(WrittenVisit(elsewhere).options(lr)));
    }

    TEST_CASE("WhatAVisitRaisesOrReturnsFailsTheClientByThePolicy") {
        if (!visits_may_run()) return;
        const std::string failed = "exited with status 1";
        const std::string raises =
            "def step(y):\n    return y[1000]\n\ndef visit(batches, client):\n    if client.id == 3 and client.round == 2:\n"
            "        step(batches.y)\n";
        check_tells(ending_of_visit(raises), failed, "own.py:4: IndexError: index 1000 is out of bounds");
        check_tells(ending_of_visit(raises), failed, "(visit:8 > step:4)");
        check_tells(ending_of_visit(raises), failed, "\"client\":3,");
        check_tells(ending_of_visit(raises), failed, "\"round\":2,");
        check_tells(ending_of_visit(raises, {"failures.policy=drop"}), "exited with status 0", "own.py:4: IndexError");
        check_tells(ending_of_visit("def visit(vector):\n    return vector[:3]\n"), failed,
                    "visit returns an array of shape [3]; return nothing, or an update of shape [");
        check_tells(ending_of_visit("def visit(vector):\n    return 'done'\n"), failed, "visit returns str; return nothing");
        check_tells(ending_of_visit("def visit(weights):\n    weights['linear.weight'] = weights['linear.weight'].T\n",
                                    {"model={name: lr}"}),
                    failed, "visit leaves weights['linear.weight'] with shape [16, 5]; it has shape [5, 16]");
        check_tells(ending_of_visit("def visit(vector):\n    vector[0] = np.nan\n"), failed, "non_finite");
        check_tells(ending_of_visit("def visit(batches, client):\n    client.add_loss(np.inf, 1)\n"), failed,
                    "the loss that visit adds is a NaN or an infinity");
        check_tells(
            ending_of_visit(
                "fh.memory('m', of='client', shape='number')\ndef visit(client):\n    client.memory['m'][0] = np.nan\n"),
            failed, "what the client keeps holds a NaN");
        check_tells(ending_of_visit("fh.memory('m', of='client')\ndef visit(client):\n    client.memory['m'] = np.zeros(3)\n"),
                    failed, "visit leaves memory 'm' with shape [3]; it has shape [");
        check_tells(ending_of_visit("def visit(client):\n    client.memory['m'] = 1\n"), failed,
                    "client.memory has no 'm'; there are: none; fh.memory('m', of=\"client\") declares one");
        check_tells(ending_of_visit("import os\ndef visit(client):\n    if client.id == 3: os._exit(3)\n"), failed,
                    "own.py exited with status 3");
        // The next client gets a new process.
        check_tells(ending_of_visit("import os\ndef visit(client):\n    if client.id == 3: os._exit(3)\n",
                                    {"failures.policy=drop", "workers=1"}),
                    "exited with status 0", "own.py exited with status 3");
    }

    TEST_CASE("AVisitThatSleepsPastTheDeadlineIsEndedWithItsWorker") {
        if (!visits_may_run()) return;
        const std::string sleeps =
            "import time\ndef visit(vector, client):\n    vector += 1\n    if client.id == 3: time.sleep(600)\n";
        check_tells(ending_of_visit(sleeps, {"failures={policy: drop, deadline_s: 2}", "rounds=1"}), "exited with status 0",
                    "hung");
    }

    TEST_CASE("WhatAFileDoesWrongIsSaidBeforeTheRun") {
        if (!visits_may_run()) return;
        const std::string refused = "exited with status 2";
        const auto check = [&](const std::string& text, const std::string& said, const Options& more = {}) {
            check_tells(ending_of_visit(text, more), refused, said);
        };
        const std::string good = "def visit(weights):\n    pass\n";
        check("def visits(weights):\n    pass\n", "no function `visit`");
        check("def visit(wights):\n    pass\n",
              "own.py:3: visit's argument 'wights' is not known; did you mean 'weights'? There are: batches, client");
        check("def visit(weights)\n", "own.py:3: SyntaxError");
        check("import nothing_of_that_name\n", "own.py:3: ModuleNotFoundError");
        check("fh.memory('m', of='client', shape='logits')\n" + good,
              "own.py:3: memory 'm': shape=\"logits\" is for formulas of examples");
        check("fh.memory('residual', of='client')\n" + good, "own.py:3: 'residual' is a name of fedhive's own; choose another");
        check(good, "has changed since", {"strategy.visit_sha256=00"});
        check(good, "local rule 'prox' of strategy 'fedprox' would do nothing", {"strategy.name=fedprox"});
        check(good, "clip in the visit", {"training.clip_norm=1"});
        check(good, "trains one client at a time; allowed: 1", {"training.clients_at_once=2"});
        check(good, "which mode 'hogwild' does not; allowed: synchronous", {"mode={name: hogwild}", "training.cohort=13"});
        check(good, "no epoch can be trained before it",
              {"evaluation.clients={every: 1, personalized: true}", "data.partition.holdout=0.2"});
        check("fh.memory('m', of='client')\n" + good, "every client needs a slot of its own", {"training.clients_per_slot=2"});
        check("fh.memory('m', of='client')\n" + good, "which mode 'semi_async' does not have",
              {"mode={name: semi_async, quorum: 3}"});
    }
}
