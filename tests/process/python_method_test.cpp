// Method files whose functions Python runs (python=True): keys, formulas beside them, reports, resume and replay.
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

bool methods_may_run() {
    if (python_has_numpy()) return true;
    MESSAGE("skipped: no NumPy in .deps/python (scripts/setup --tests)");
    return false;
}

struct OwnFile {
    explicit OwnFile(const std::string& text) { std::ofstream(file()) << "import numpy as np, fedhive as fh\n" << text; }
    std::filesystem::path file() const { return folder.path() / "own.py"; }
    Options as(const std::string& key, const std::string& keys = "", const Options& more = {}) const {
        return Options{"strategy={" + key + ": " + file().string() + keys + "}"} + more;
    }
    Options options(const Options& more = {}) const { return as("file", "", more); }

    TemporaryFolder folder;
};

const Options kLr{"model={name: lr}", "training.optimizer={name: sgd, lr: 0.125}", "training.local_epochs=2"};

const std::string kTrimmed =
    "cut = fh.key('cut', 1, least=0, integer=True)\nscale = fh.key('scale', 1.0, above=0, doc='of the update')\n";
const std::string kTrim =
    "    ordered = np.sort(updates, axis=0)\n    return np.float32(scale) * ordered[cut:len(ordered) - cut].mean(axis=0)\n";
const std::string kMarked = kTrimmed + "@fh.server(python=True)\ndef server(updates, cut):\n" + kTrim;
const std::string kUnmarked = kTrimmed + "def aggregate(updates, cut):\n" + kTrim;

// What the client tells weighs its update, and so does a memory that it keeps: a change of either changes the bits.
const std::string kTells =
    "pull = fh.key('pull', 0.5)\nagree = fh.report('agree', 'how far it agrees')\nvisits = fh.memory('visits', of='client', "
    "shape='number')\n"
    "@fh.visit(python=True)\ndef visit(vector, client):\n    client.memory[visits] += 1\n"
    "    vector += client.rng.normal(size=vector.size) * pull\n    client.report('agree', client.id + client.memory[visits][0] "
    "/ 8)\n";
const std::string kWeighs = kTells + "@fh.weight\ndef weight(k):\n    return k.agree / fh.sum(k.agree)\n";
const std::string kRules =
    kTells +
    "@fh.server(python=True)\ndef server(updates, clients):\n"
    "    share = np.float32(clients['agree'] / clients.agree.sum())\n    return (share[:, None] * updates).sum(axis=0)\n";

/// SCAFFOLD, option II, whose visit is a function for `model: {name: lr}`; what travels and the server's step are formulas.
const std::string kScaffold = R"(
c = fh.memory("c", of="server", down=True)
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)

@fh.visit(python=True)
def visit(weights, vector, tensors, batches, client):
    sent, kept = vector.copy(), client.memory
    correction = kept["c"] - kept["c_k"]
    of = {name: correction[place].reshape(shape) for name, (place, shape) in tensors.items()}
    w, b = weights["linear.weight"], weights["linear.bias"]
    for x, y in batches:
        x, rows = x.reshape(len(x), -1), np.arange(len(y))
        scores = x @ w.T + b
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        client.add_loss(-np.log(p[rows, y]).mean(), len(y))
        p[rows, y] -= 1
        w -= client.lr * (p.T @ x / len(y) + of["linear.weight"])
        b -= client.lr * (p.mean(axis=0) + of["linear.bias"])
    kept["d"][:] = (sent - vector) / (len(batches) * client.lr) - kept["c"]
    kept["c_k"] += kept["d"]

@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients}
)";

void own_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

std::string ending(const Options& options) {
    FedhiveRun run(small_config(), set(options));
    const std::string end = run.end();
    const std::filesystem::path events = run.out() / "events.jsonl";
    return end + ": " + run.output() + (std::filesystem::exists(events) ? read_text(events) : "");
}

void check_ending(const std::string& found, const std::string& end, const std::string& text) {
    CHECK_MESSAGE(found.starts_with(end), found);
    CHECK_MESSAGE(found.find(text) != std::string::npos, found);
}

}  // namespace

TEST_SUITE("PythonMethod") {
    TEST_CASE("AMarkedRuleHasTheBitsOfAnUnmarkedOneAndBothGetTheirKeys") {
        if (!methods_may_run()) return;
        const OwnFile marked(kMarked), unmarked(kUnmarked);
        const std::string keys = ", cut: 2, scale: 0.5";
        const std::string by_file = sha_with(marked.as("file", keys));
        CHECK(by_file == sha_with(unmarked.as("rule", keys)));
        CHECK(by_file == sha_with(marked.as("rule", keys)));
        CHECK(by_file == sha_with(marked.options({"strategy.cut=2", "strategy.scale=0.5"})));
        CHECK(by_file != sha_with(marked.as("file", ", cut: 1, scale: 0.5")));
        CHECK(by_file != sha_with(marked.as("file", ", cut: 2, scale: 0.25")));
        const std::string refused = "exited with status 2";
        check_ending(ending(marked.as("file", ", cute: 2")), refused, "strategy.cute: unknown key; did you mean 'cut'?");
        check_ending(ending(unmarked.as("rule", ", scale: 0")), refused, "strategy.scale: 0 is out of range; allowed: above 0");
        check_ending(ending(unmarked.as("rule", ", cut: 1.5")), refused, "strategy.cut: expected an integer");
    }

    TEST_CASE("FormulasOfTheGradientGoWithARuleInPython") {
        if (!methods_may_run()) return;
        const std::string prox =
            "mu = fh.key('mu', 0.25)\n@fh.gradient\ndef gradient(g, w, w_t):\n    return g + mu * (w - w_t)\n";
        const OwnFile formulas(prox),
            both(prox + "@fh.server(python=True)\ndef server(updates):\n    return np.median(updates, axis=0)\n");
        const Options odd{"training.cohort=5"};
        CHECK(sha_with(both.options(odd)) == sha_with(formulas.as("file", ", aggregator: median", odd)));
        CHECK(sha_with(both.as("file", ", mu: 1", odd)) != sha_with(both.options(odd)));
    }

    TEST_CASE("AVisitInPythonReadsWhatComesDownAndSendsWhatFormulasOfTheServerRead") {
        if (!methods_may_run()) return;
        const OwnFile own(kScaffold);
        FedhiveRun run(small_config(), set(own.options(kLr + Options{"rounds=4"})));
        own_ended_well(run);
        const std::string scaffold = (source_folder() / "configs/methods/scaffold.py").string();
        FedhiveRun traced(small_config(), set(Options{"strategy={file: " + scaffold + "}", "rounds=4"} + kLr));
        own_ended_well(traced);
        const auto rows = read_csv(run.out() / "clients.csv"), others = read_csv(traced.out() / "clients.csv");
        REQUIRE(rows.size() == others.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            CHECK(rows[i].at("client_id") == others[i].at("client_id"));
            for (const char* column : {"train_loss", "update_norm"})
                CHECK(std::abs(std::stod(rows[i].at(column)) - std::stod(others[i].at(column))) < 1e-5);
        }
        check_ending(ending(OwnFile(kScaffold).options(kLr + Options{"training.clients_per_slot=2"})), "exited with status 2",
                     "training.clients_per_slot");
    }

    TEST_CASE("WhatAClientReportsIsAColumnAndIsReadByFormulasAndByRules") {
        if (!methods_may_run()) return;
        const OwnFile weighs(kWeighs), rules(kRules);
        FedhiveRun by_formula(small_config(), set(weighs.options({"strategy.pull=0.25"})));
        own_ended_well(by_formula);
        std::map<std::string, int> visits;
        for (const auto& row : read_csv(by_formula.out() / "clients.csv"))
            CHECK_EQ(std::stod(row.at("agree")), std::stod(row.at("client_id")) + ++visits[row.at("client_id")] / 8.0);
        FedhiveRun by_rule(small_config(), set(rules.options({"strategy.pull=0.25"})));
        own_ended_well(by_rule);
        const double test_loss = std::stod(read_csv(by_formula.out() / "rounds.csv").back().at("test_loss"));
        CHECK(std::abs(std::stod(read_csv(by_rule.out() / "rounds.csv").back().at("test_loss")) - test_loss) < 1e-5);
    }

    TEST_CASE("BitsAreEqualForAnyWorkersAKillAResumeFromTheKeptSourceAndAReplay") {
        if (!methods_may_run()) return;
        const OwnFile own(kRules);
        FedhiveRun whole(small_config(), set(own.options({"rounds=4", "checkpoint.every=1"})));
        own_ended_well(whole);
        check_last_visit_replays(whole);
        for (const Options& more : std::vector<Options>{
                 {"workers=0"}, {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"}})
            CHECK(sha_with(own.options(Options{"rounds=4"} + more)) == whole.manifest()["model_sha256"]);
        FedhiveRun begun(small_config(), set(own.options({"rounds=2", "checkpoint.every=1"})));
        own_ended_well(begun);
        std::ofstream(own.file(), std::ios::app) << "# another text\n";
        begun.start({"run", "--quiet", "--resume", begun.out().string(), "--set", "rounds=4"});
        CHECK(begun.end() == "exited with status 2");
        CHECK_MESSAGE(begun.output().find("its run's folder keeps the former as method.py") != std::string::npos,
                      begun.output());
        std::filesystem::remove(own.file());
        begun.start({"run", "--quiet", "--resume", begun.out().string(), "--set", "rounds=4"});
        own_ended_well(begun);
        check_same_run(begun.out(), whole.out());
    }

    TEST_CASE("RanksTellTheRuleWhatAllClientsReport") {
        if (!methods_may_run()) return;
        FEDHIVE_NEEDS_RANKS();
        const OwnFile own(kRules);
        RankedRun ranked(2, small_config(), set(own.options()));
        REQUIRE_MESSAGE(ranked.end() == "exited with status 0", ranked.output());
        CHECK(ranked.manifest()["model_sha256"] == sha_with(own.options()));
    }

    TEST_CASE("ThePlanAndTheMethodCommandSayWhatPythonRuns") {
        if (!methods_may_run()) return;
        const OwnFile own(kRules);
        const std::string ended = "exited with status 0";
        FedhiveRun run(small_config(), {"--set", own.options()[0]});
        own_ended_well(run);
        const std::string plan = ended + ": " + run.output();
        check_ending(plan, ended, "visits      Python own.py");
        check_ending(plan, ended, "server      Python own.py combines the updates");
        run.start({"method", own.file().string(), "--python"});
        const std::string end = run.end(), method = end + ": " + run.output();
        check_ending(method, ended, "key         pull: 0.5");
        check_ending(method, ended, "remembers   visits: at each client, a number");
        check_ending(method, ended, "visit       Python: visit, a client's whole work");
        check_ending(method, ended, "server      Python: server, the update of the round");
        check_ending(method, ended, "nothing to compare: it has no formulas");
    }

    TEST_CASE("AMemoryMayBeginAsTheModelThatIsSent") {
        if (!methods_may_run()) return;
        const OwnFile own(
            "own = fh.memory('own', of='client', first='w_t')\n@fh.visit(python=True)\ndef visit(vector, client):\n"
            "    kept = client.memory['own']\n    client.add_loss(np.abs(kept - vector[:kept.size]).max(), 1)\n    kept += "
            "1\n");
        FedhiveRun run(small_config(), set(own.options({"rounds=3", "training.cohort=13"})));
        own_ended_well(run);
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            CHECK(std::abs(std::stod(row.at("train_loss")) - (std::stod(row.at("round")) - 1)) < 1e-5);
    }

    TEST_CASE("WhatAReportDoesWrongFailsTheClientWithItsLine") {
        if (!methods_may_run()) return;
        const std::string failed = "exited with status 1";
        const auto told = [](const std::string& line) {
            return ending(OwnFile("agree = fh.report('agree')\ndef visit(vector, client):\n    " + line + "\n").as("visit"));
        };
        check_ending(told("client.report('agre', 1)"), failed,
                     "own.py:4: ValueError: report 'agre' is not declared; did you mean 'agree'?");
        check_ending(told("client.report('agree', np.nan)"), failed,
                     "own.py:4: ValueError: report 'agree' is nan; a report is a finite number");
        check_ending(told("pass"), failed,
                     "own.py: visit: report 'agree' is declared and not told: client.report('agree', number)");
        check_ending(ending(OwnFile("def aggregate(updates, clients):\n    return clients.agre\n").as("rule")),
                     "exited with status 2",
                     "own.py:3: AttributeError: clients has no 'agre'; there are: id, loss, n, norm, steps, weight");
    }

    TEST_CASE("TwoWaysToTheSamePartAreRefused") {
        if (!methods_may_run()) return;
        const OwnFile marked(kMarked), unmarked(kUnmarked), visit(kTells);
        const std::string refused = "exited with status 2";
        check_ending(ending(marked.as("file", ", rule: " + unmarked.file().string())), refused, "has @fh.server(python=True)");
        check_ending(ending(visit.as("file", ", visit: " + visit.file().string())), refused,
                     "has @fh.visit(python=True); keep one");
        check_ending(ending(visit.as("file", ", local: prox")), refused, "local rule 'prox'");
        check_ending(ending(marked.as("file", ", aggregator: krum")), refused,
                     "'file' and 'aggregator' are both given; keep one");
        check_ending(ending(OwnFile(kRules).as("visit")), refused, "has @fh.server, too, which strategy.visit does not run");
        const OwnFile same_key("cut = fh.key('cut', 1)\n" + kTells);
        check_ending(ending(unmarked.as("rule", ", visit: " + same_key.file().string())), refused,
                     "both have a key 'cut'; rename one of them");
        const OwnFile tau("tau = fh.key('tau', 1)\n" + kTells);
        check_ending(ending(tau.as("visit", ", name: fedadam")), refused, "own.py has a key 'tau', and so has server 'adam'");
        check_ending(ending(tau.as("file", ", server: yogi")), refused, "strategy.server: ");
    }
}
