// Rules in Python (strategy.rule): the bits of the same rule in C++, state in checkpoints, and what a file can do wrong.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"
#include "tests/support/python.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

bool may_run_python() {
    if (python_has_numpy()) return true;
    MESSAGE("skipped: no NumPy in .deps/python (scripts/setup --tests)");
    return false;
}

struct WrittenRule {
    explicit WrittenRule(const std::string& text) { std::ofstream(file()) << "import numpy as np\n\n" << text; }
    std::filesystem::path file() const { return folder.path() / "own.py"; }
    Options options(const Options& more = {}) const { return Options{"strategy={rule: " + file().string() + "}"} + more; }

    TemporaryFolder folder;
};

const std::string kMedian = "def aggregate(updates):\n    return np.median(updates, axis=0)\n";

// Halves what came before; the half is exact, so that two runs of two rounds are one of four.
const std::string kWithState =
    "def aggregate(updates, clients, state, round, num_clients):\n"
    "    before = state.get('before', np.zeros(updates.shape[1], np.float32))\n"
    "    assert state.get('round', round - 1) == round - 1 and num_clients == 13\n"
    "    share = clients.n.astype(np.float32) / clients.n.sum()\n"
    "    state['before'] = before / 2 + (share[:, None] * updates).sum(axis=0)\n"
    "    state['round'] = round\n"
    "    return state['before']\n";

void rule_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// How a run with the rule ends, and what it says.
std::string ending_of(const std::string& text, const Options& more = {}) {
    const WrittenRule rule(text);
    FedhiveRun run(small_config(), set(rule.options(more)));
    const std::string end = run.end();
    return end + ": " + run.output();
}

void check_says(const std::string& found, const std::string& end, const std::string& text) {
    CHECK_MESSAGE(found.starts_with(end), found);
    CHECK_MESSAGE(found.find(text) != std::string::npos, found);
}

}  // namespace

TEST_SUITE("PythonRule") {
    TEST_CASE("TheMedianInPythonHasTheBitsOfTheMedianForAnyWorkersAndAfterAKill") {
        if (!may_run_python()) return;
        const WrittenRule median(kMedian);
        const Options odd{"training.cohort=5"};  // of an even number, NumPy takes the mean of two in f32
        const std::string in_cpp = sha_with(Options{"strategy={name: median}"} + odd);
        for (const Options& more :
             std::vector<Options>{{"workers=0"},
                                  {"workers=1"},
                                  {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"}})
            CHECK(sha_with(median.options(odd + more)) == in_cpp);
        CHECK(sha_with(Options{"strategy={name: fedadam, rule: " + median.file().string() + "}"} + odd) ==
              sha_with(Options{"strategy={name: fedadam, aggregator: median}"} + odd));
    }

    TEST_CASE("WhatItWritesBetweenTensorsIsLeftOut") {
        if (!may_run_python()) return;
        const WrittenRule rule(
            "def aggregate(updates, tensors):\n    median = np.median(updates, axis=0)\n    result = np.full_like(median, 7)\n"
            "    for place, shape in tensors.values():\n        assert median[place].size == np.prod(shape)\n"
            "        result[place] = median[place]\n    return result\n");
        // Weight decay would move what is between tensors, and the norm of an update would show it.
        const Options odd{"training.cohort=5", "training.optimizer={name: sgd, lr: 0.05, weight_decay: 0.125}"};
        FedhiveRun by_rule(small_config(), set(rule.options(odd)));
        rule_ended_well(by_rule);
        FedhiveRun in_cpp(small_config(), set(Options{"strategy={name: median}"} + odd));
        rule_ended_well(in_cpp);
        CHECK(comparable(by_rule.out() / "clients.csv") == comparable(in_cpp.out() / "clients.csv"));
    }

    TEST_CASE("ItsStateIsInTheCheckpointAndRanksAgree") {
        if (!may_run_python()) return;
        FEDHIVE_NEEDS_RANKS();
        const WrittenRule rule(kWithState);
        FedhiveRun whole(small_config(), set(rule.options({"rounds=4"})));
        rule_ended_well(whole);
        RankedRun ranked(2, small_config(), set(rule.options({"rounds=2"})));
        rule_ended_well(ranked);
        std::filesystem::remove(rule.file());  // its copy in the run's folder goes on
        ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
        rule_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
        CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
    }

    TEST_CASE("AViewOfTheUpdatesCannotBeWritten") {
        if (!may_run_python()) return;
        check_says(ending_of("def aggregate(updates):\n    updates[0] = 0\n    return updates[0]\n"), "exited with status 2",
                   "own.py:4: ValueError: assignment destination is read-only");
    }

    TEST_CASE("WhatAFileDoesWrongIsSaidBeforeTheRunOrWithItsLine") {
        if (!may_run_python()) return;
        const std::string refused = "exited with status 2";
        check_says(ending_of("def agregate(updates):\n    return updates[0]\n"), refused, "no function `aggregate`");
        check_says(
            ending_of("def aggregate(update):\n    return update[0]\n"), refused,
            "own.py:3: aggregate's argument 'update' is not known; did you mean 'updates'? There are: clients, num_clients");
        check_says(ending_of("def aggregate(updates)\n"), refused, "own.py:3: SyntaxError");
        check_says(ending_of("def aggregate(updates):\n    return updates\n"), refused,
                   "aggregate returns an array of shape [");
        check_says(ending_of("def aggregate(updates):\n    updates.sum()\n"), refused, "aggregate returns nothing");
        check_says(ending_of("def aggregate(updates):\n    return updates[0] * np.nan\n"), refused,
                   "aggregate returns nan at position 0");
        check_says(ending_of("def aggregate(updates, clients):\n    return updates[len(clients.id)]\n"), refused,
                   "own.py:4: IndexError");
        check_says(ending_of("def aggregate(updates, state):\n    state['x'] = print\n    return updates[0]\n"), refused,
                   "state['x'] is builtin_function_or_method");
        check_says(ending_of("import os\ndef aggregate(updates):\n    os._exit(3)\n"), "exited with status 1",
                   "exited with status 3");
        check_says(ending_of(kMedian, {"strategy.aggregator=krum"}), refused, "'rule' and 'aggregator' are both given");
        check_says(ending_of(kMedian, {"training.clients_per_slot=4"}), refused, "clients_per_slot");
        check_says(ending_of(kMedian, {"strategy.rule_sha256=00"}), refused, "has changed since");
    }
}
