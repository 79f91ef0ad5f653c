// Unsupported settings of the modes are refused before the start, with their place and what is allowed.
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Expects status 2, "test.yaml" with `place`, all of `texts`, and no folder. `lines` precede the config and replace its keys.
void check_refused(const std::string& lines, const std::string& place, const std::vector<std::string>& texts) {
    std::string config = lines;
    std::istringstream rest(mode_config());
    for (std::string line; std::getline(rest, line);) {
        const std::string key = line.substr(0, line.find(':') + 1);
        if (key.empty() || ("\n" + lines).find("\n" + key) == std::string::npos) config += line + "\n";
    }
    FedhiveRun run(config);
    CHECK(run.end() == "exited with status 2");
    CAPTURE(run.output());
    CHECK(run.output().find("test.yaml:" + place + ": ") != std::string::npos);
    for (const std::string& text : texts) CHECK_MESSAGE(run.output().find(text) != std::string::npos, text);
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("ModesRefused") {
    TEST_CASE("CutsThatCannotBeAreRefused") {
        const std::string split = "mode:\n  name: split\n";
        check_refused(split + "  cut: conv7\n", "3: mode.cut", {});
        check_refused(split + "  cut: fc3\n", "3: mode.cut", {});
        check_refused(split, " mode.cut", {});
        check_refused(split + "  cut: fc1\nmodel: {name: lr}\n", "3: mode.cut", {"lr cannot be cut"});
        check_refused(split + "  cut: fc1\nworkers: 1\n", "4: workers", {"1 is too few", "allowed: 2 or more"});
    }

    TEST_CASE("ReplicasThatCannotBeAreRefused") {
        const std::string averaging = "mode: {name: gradient_averaging}\n";
        for (const char* workers : {"0", "2", "3"})
            check_refused(averaging + "workers: " + workers + "\n", "2: workers",
                          {std::string(workers) + " is too few", "allowed: 4 or more"});
        check_refused(averaging + "workers: 4\nfailures:\n  policy: drop\n", "4: failures.policy", {"allowed", "abort, retry"});
        check_refused(
            averaging + "workers: 4\ndata: {format: glyphs, num_train: 600,\n  partition: {scheme: dirichlet, clients: 4}}\n",
            "4: data.partition.scheme", {"allowed in mode gradient_averaging: iid"});
        check_refused(
            averaging +
                "workers: 4\ndata: {format: glyphs, num_train: 600,\n  partition: {clients: 4, sizes: [0.1, 0.2, 0.3, 0.4]}}\n",
            "4: data.partition.sizes", {});
        check_refused(averaging + "workers: 4\ntraining:\n  cohort: 3\n", "4: training.cohort", {"allowed: 4"});
        check_refused(averaging + "workers: 4\ndevices:\n  availability: {scheme: probability}\n",
                      "4: devices.availability.scheme", {"always"});
        check_refused("strategy: {name: fedadam}\n" + averaging, "2: mode.name", {"allowed: synchronous"});
    }

    TEST_CASE("RatesAndPoliciesOfOtherModesAreRefused") {
        check_refused("mode: {name: parameter_server}\nstrategy: {name: fedavg,\n  server_lr: 0.5}\n", "3: strategy.server_lr",
                      {"parameter_server has no server rate", "allowed: 1"});
        check_refused("mode: {name: hogwild}\nfailures: {policy: retry}\n", "2: failures.policy", {"abort, drop"});
        check_refused("mode: {name: hogwild}\nstrategy: {name: median}\n", "1: mode.name", {"allowed: synchronous"});
    }

    TEST_CASE("RunningStatisticsThatCannotBeAveragedAreRefused") {
        const std::string statistics = "model: {layers: [flatten, {residual: [batch_norm]}, linear]}\n";
        for (const char* mode :
             {"semi_async, quorum: 2", "hogwild", "parameter_server", "gradient_averaging", "split, cut: '1'"})
            check_refused(statistics + "workers: 4\nmode: {name: " + mode + "}\n", "3: mode.name", {});
        check_refused(statistics + "training: {cohort: 4, clients_at_once: 2}\n", "2: training.clients_at_once",
                      {"layer 1.0 (batch_norm)", "allowed:"});
    }

    TEST_CASE("KeysOfAnotherModeAreRefused") {
        check_refused("mode:\n  name: hogwild\n  alpha: 0.5\n", "3: mode.alpha", {"async"});
        check_refused("mode: {name: synchronous, max_staleness: 1}\n", "1: mode.max_staleness", {"parameter_server"});
        check_refused("mode: {name: hogwild, data: all}\n", "1: mode.data", {"partitioned, full"});
        check_refused("mode: {name: gossip}\n", "1: mode.name", {"gradient_averaging", "hogwild", "split"});
    }
}
