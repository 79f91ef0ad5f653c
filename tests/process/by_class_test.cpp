// Memories by class of method files in whole runs: bits, bytes, records, engines, and what is refused.
#include "tests/process/kept_by_clients.h"
#include "tests/process/model_after.h"
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options by_class(const std::string& name, const std::string& keys = "") {
    const std::string file = (source_folder() / "configs/methods" / (name + ".py")).string();
    return {"strategy={file: " + file + (keys.empty() ? "" : ", " + keys) + "}"};
}

/// A client keeps the means of its own features, and is pulled to the client's of its last round.
constexpr const char* kOwnMeans = R"(
memories: [{name: own, owner: client, shape: features}, {name: S, owner: visit, up: true, shape: features},
           {name: seen, owner: client, shape: classes}]
loss: loss = cross_entropy(logits, y) + pick(seen, y) * mean((z - pick(own, y))^2)
measure: S = z
end:
  - own = S / maximum(counts, 1)
  - seen = counts > 0
server: w = w + u
)";

struct ClassMethod {
    explicit ClassMethod(const std::string& text) { std::ofstream(file()) << text; }
    std::filesystem::path file() const { return folder.path() / "method.yaml"; }
    Options options() const { return {"strategy={file: " + file().string() + "}"}; }
    TemporaryFolder folder;
};

void by_class_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// The tensor of that name in a checkpoint.
std::vector<float> tensor_after(const std::filesystem::path& run, std::int64_t round, const std::string& name) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run, round));
    std::string there;
    for (const sim::TensorPlace& tensor : file.state.tensors()) {
        if (tensor.name == "model." + name) return floats_of(file.state, tensor);
        there += tensor.name + " ";
    }
    FAIL_CHECK("no tensor " << name << " among " << there);
    return {};
}

void refused_by_class(const Options& options, const std::string& says) {
    FedhiveRun run(small_config(), set(options));
    const std::string ended = run.end();
    CHECK_MESSAGE(ended == "exited with status 2", run.output());
    CHECK_MESSAGE(run.output().find(says) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out() / "rounds.csv"));
}

}  // namespace

TEST_SUITE("ByClass") {
    TEST_CASE("BitsAreEqualForAnyWorkersWithRanksAfterAKillAndAfterAResume") {
        const ClassMethod own(kOwnMeans);
        for (const Options& method : {by_class("fedproto"), by_class("fd"), by_class("fedproc"), own.options()}) {
            CAPTURE(method.front());
            const std::string alone = sha_with(method + Options{"workers=1"});
            CHECK(sha_with(method + Options{"workers=0"}) == alone);
            CHECK(sha_with(method + Options{"workers=3", "failures={policy: retry}",
                                            "faults=[{kind: kill, round: 2, client: 3}]"}) == alone);
            FedhiveRun resumed(small_config(), set(method + Options{"rounds=1"}));
            by_class_ended_well(resumed);
            resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=3"});
            by_class_ended_well(resumed);
            CHECK(resumed.manifest()["model_sha256"] == alone);
            if (!why_no_ranks().empty()) continue;
            RankedRun ranked(2, small_config(), set(method));
            by_class_ended_well(ranked);
            CHECK(ranked.manifest()["model_sha256"] == alone);
        }
    }

    TEST_CASE("WithoutItsTermAMethodByClassIsFedAvgBitForBit") {
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            const Options of_engine{engine};
            CHECK(sha_with(by_class("fedproto", "pull: 0") + of_engine) == sha_with(of_engine));
            CHECK(sha_with(by_class("fedproto") + of_engine) != sha_with(of_engine));
            CHECK(sha_with(by_class("fd", "gamma: 0") + of_engine) ==
                  sha_with(Options{"strategy={name: fedavg, weighting: uniform}"} + of_engine));
        }
    }

    TEST_CASE("BothEnginesGiveTheSameTables") {
        for (const auto& [name, table] : {std::pair{"fedproto", "P"}, {"fd", "F"}}) {
            CAPTURE(name);
            FedhiveRun direct(small_config(), set(by_class(name))),
                libtorch(small_config(), set(by_class(name) + Options{"training.engine=libtorch"}));
            by_class_ended_well(direct);
            by_class_ended_well(libtorch);
            const std::vector<float> one = tensor_after(direct.out(), 3, table), other = tensor_after(libtorch.out(), 3, table);
            REQUIRE_EQ(one.size(), other.size());
            REQUIRE(!one.empty());
            for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == doctest::Approx(other[i]).epsilon(1e-4));
        }
    }

    TEST_CASE("BytesAreThoseOfTheTables") {
        const auto bytes = [](const Options& options) {
            FedhiveRun run(small_config(), set(options + Options{"rounds=1"}));
            by_class_ended_well(run);
            const auto row = read_csv(run.out() / "rounds.csv").back();
            return std::pair{std::stoll(row.at("bytes_down")), std::stoll(row.at("bytes_up"))};
        };
        constexpr long long kClients = 11, kClasses = 5, kFeatures = 32, kFloat = 4;
        const auto plain = bytes({});
        const auto [down, up] = bytes(by_class("fedproto"));
        CHECK_EQ(down - plain.first, kClients * kFloat * (kClasses * kFeatures + kClasses));
        CHECK_EQ(up - plain.second, kClients * kFloat * (kClasses * kFeatures + kClasses));
        const auto of_logits = bytes(by_class("fd"));
        CHECK_EQ(of_logits.second - plain.second, kClients * kFloat * (kClasses * kClasses + kClasses));
    }

    TEST_CASE("NoModelTravelsWhereAllOfItStaysWithTheClients") {
        const Options local{"model={name: mlp, hidden: 32, local: [\"*\"]}", "data.partition.holdout=0.25",
                            "evaluation.clients={every: 1}", "rounds=2"};
        for (const auto& [name, floats] : {std::pair{"fedproto", 5 * 32 + 5}, {"fd", 5 * 5 + 5}}) {
            CAPTURE(name);
            FedhiveRun run(small_config(), set(by_class(name) + local + Options{"workers=1"})),
                three(small_config(), set(by_class(name) + local + Options{"workers=3"}));
            by_class_ended_well(run);
            by_class_ended_well(three);
            for (const auto& row : read_csv(run.out() / "rounds.csv")) {
                CHECK_EQ(std::stoi(row.at("bytes_down")), 11 * 4 * floats);
                CHECK_EQ(std::stoi(row.at("bytes_up")), 11 * 4 * floats);
            }
            CHECK(comparable(run.out() / "fairness.csv") == comparable(three.out() / "fairness.csv"));
            CHECK(tensor_after(run.out(), 2, "known") == tensor_after(three.out(), 2, "known"));
        }
    }

    TEST_CASE("AVisitByClassIsReplayedBitForBit") {
        const ClassMethod own(kOwnMeans);
        for (const Options& method : {by_class("fedproto"), own.options()}) {
            CAPTURE(method.front());
            FedhiveRun run(small_config(), set(method));
            by_class_ended_well(run);
            check_last_visit_replays(run);
        }
    }

    TEST_CASE("TheVirtualClockCountsThePass") {
        const auto seconds = [](const Options& options) {
            FedhiveRun run(small_config(), set(options + Options{"rounds=1"}));
            by_class_ended_well(run);
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("virtual_s"));
        };
        const ClassMethod without(R"(
memories: [{name: P, owner: server, down: true, shape: features}, {name: known, owner: server, down: true, shape: classes},
           {name: S, owner: visit, up: true, shape: features}, {name: m, owner: visit, up: true, shape: classes}]
end: [S = P + known, m = counts / n]
server: [w = w + u, P = S, known = m]
)");
        CHECK(seconds(by_class("fedproto", "pull: 0")) > seconds(without.options()));
    }

    TEST_CASE("WhatCannotBeByClassIsRefusedBeforeTheRun") {
        refused_by_class(by_class("fedproto") + Options{"model={name: lr}"}, "memory 'P' of ");
        refused_by_class(by_class("fedproto") + Options{"model={name: lr}"},
                         "has a row of features (z) for each class, the input of the last layer with parameters, but the model "
                         "has only one layer with parameters");
        refused_by_class(by_class("fd") + Options{"task=regression",
                                                  "data={format: synthetic_linear, partition: {scheme: iid, clients: 13}}",
                                                  "model={name: linear_regression}"},
                         "is by class, but the task is 'regression', whose examples have none; allowed: classification");
        refused_by_class(by_class("fedproto") + Options{"mode={name: gradient_averaging}"}, "formulas of a client's visit");
        refused_by_class(by_class("fedproto") + Options{"training.clients_per_slot=4"}, "training.clients_per_slot: ");
        for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
                 {"memories: [{name: P, owner: server, down: true, shape: feature}]\ngradient: g\n",
                  "method.yaml:1: memory 'P': shape: 'feature'; allowed: model, features, logits, classes"},
                 {"memories:\n - {name: P, owner: server, shape: features}\ngradient: g\n",
                  "method.yaml:2: memory 'P': a memory by class of the server must be sent; add down: true"},
                 {"memories:\n - {name: P, owner: visit, shape: features}\ngradient: g\n",
                  "method.yaml:2: memory 'P': a memory by class of a visit must be sent; add up: true"},
                 {"memories:\n - {name: P, owner: client, shape: features, first: w_t}\ngradient: g\n",
                  "method.yaml:2: memory 'P': first: 'w_t'; a memory by class begins as 0"},
                 {"memories:\n - {name: counts, owner: client, shape: classes}\ngradient: g\n",
                  "method.yaml:2: memory 'counts' has a name that a loss reads; choose another"},
                 {"memories: [{name: P, owner: server, down: true, shape: features}]\ngradient: g + P\nserver: [w = w + u, P = "
                  "P]\n",
                  "method.yaml:2: gradient: 'P' has no value here"},
                 {"memories: [{name: P, owner: server, down: true, shape: features}]\nloss: sum(z * P)\nserver: [w = w + u, P "
                  "= P]\n",
                  "method.yaml:2: loss: a table by class is read by pick(TABLE, y)"},
                 {"memories: [{name: P, owner: server, down: true, shape: features}]\nloss: sum(dot(logits, P))\nserver: [w = "
                  "w + u, P = P]\n",
                  "method.yaml:2: loss: dot and cos of a number for each class and a table of features by class"},
                 {"memories: [{name: P, owner: server, down: true, shape: features}]\nloss: norm(pick(P, y) - z)\nserver: [w = "
                  "w + P, P = P]\n",
                  "method.yaml:3: server: cannot combine a vector of the model's shape with a table of features by class"},
                 {"memories: [{name: P, owner: server, down: true, shape: features}]\nloss: norm(pick(P, y) - z)\nserver: [w = "
                  "w + sum(P), P = P]\n",
                  "method.yaml:3: server: sum, mean, norm, dot, cos and threshold take vectors, found a table of features by "
                  "class"},
                 {"memories: [{name: S, owner: visit, up: true, shape: features}]\nmeasure: S = logits\nserver: [w = w + u]\n",
                  "method.yaml:2: measure: 'S' is a vector of features, but its formula gives a number for each class"}}) {
            CAPTURE(text);
            const ClassMethod method(text);
            refused_by_class(method.options(), says);
        }
    }
}
