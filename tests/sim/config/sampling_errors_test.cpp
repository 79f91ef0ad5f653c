// Sampling that is refused, with its place; tests/golden/messages has the wording.
#include "sim/selection/sampler.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("SamplingErrors");

TEST_CASE("SamplersThatCannotSample") {
    check_errors(
        {
            {"sampling: {name: unifrom}\n", "c.yaml:7: sampling.name"},
            {"sampling: fixed\n", "c.yaml:7: sampling"},
            {"sampler: {name: fixed}\n", "c.yaml:7: sampler"},
            {"sampling: {name: fixed}\n", "c.yaml: sampling.clients"},
            {"sampling: {clients: [0, 1]}\n", "c.yaml:7: sampling.clients"},
            {"sampling:\n  name: fixed\n  clients:\n  - 3\n  - 0\n  - 1\n  - 4\n", "c.yaml:13: sampling.clients[3]"},
            {"sampling: {name: fixed, clients: [0.5, 1, 2, 3]}\n", "c.yaml:7: sampling.clients[0]"},
            {"sampling: {name: fixed, clients: [-1, 1, 2, 3]}\n", "c.yaml:7: sampling.clients[0]"},
            {"sampling: {name: fixed, clients: [0, 1, 2, 1]}\n", "c.yaml:7: sampling.clients[3]"},
            {"sampling: {name: fixed, clients: [2]}\n", "c.yaml:7: sampling.clients"},
            {"sampling: {name: fixed, clients: [2, 3]}\ntraining: {cohort: 3}\n", "c.yaml:7: sampling.clients"},
            {"sampling: {name: examples}\nmode: {name: gradient_averaging}\n", "c.yaml:7: sampling.name"},
            {"sampling: {name: fedcs}\nclock: wall\n", "c.yaml:7: sampling.name"},
            {"sampling: {name: oort, preferred_s: 2}\nclock: wall\n", "c.yaml:7: sampling.name"},
            {"sampling: {name: gradient_norm}\nmode: {name: semi_async, quorum: 1}\n", "c.yaml:7: sampling.name"},
            {"sampling: {name: gradient_norm, candidates: 0}\n", "c.yaml:7: sampling.candidates"},
            {"sampling: {name: class_balanced, rarity: -1}\n", "c.yaml:7: sampling.rarity"},
            {"sampling: {name: with_replacement}\nmode: {name: semi_async, quorum: 1}\n", "c.yaml:8: mode.quorum"},
            {"sampling: {name: clustered}\nmode: {name: synchronous, quorum: 1}\n", "c.yaml:8: mode.quorum"},
            {"sampling: {name: clustered}\nmode: {name: hogwild}\n", "c.yaml:7: sampling.name"},
            {"sampling: {name: with_replacement}\nstrategy: {name: fedavg, aggregator: median}\n",
             "c.yaml:8: strategy.aggregator"},
            {"sampling: {name: with_replacement}\nstrategy: {name: scaffold}\n", "c.yaml:8: strategy.name"},
            {"sampling: {name: clustered}\nstrategy: {weighting: uniform}\nupload: [{name: clip}, {name: gaussian_noise, "
             "multiplier: 1}]\n",
             "c.yaml:9: upload"},
        },
        kMinimal);
    check_message(
        "config", "no classes",
        error_of("task: regression\ndata: {format: synthetic_linear}\nmodel: {name: linear_regression}\nsampling: {name: "
                 "class_balanced}\n"),
        "c.yaml:4: sampling.name");
    for (const char* sampler : {"with_replacement", "clustered"})
        CHECK_EQ(error_of(kMinimal + fmt::format("sampling: {{name: {}}}\nstrategy: {{aggregator: robust_rate}}\n", sampler)),
                 "");
    CHECK_EQ(error_of(kMinimal + "sampling: {name: fixed, clients: [3, 0]}\ntraining: {cohort: 2}\n"), "");
    CHECK_EQ(error_of(kMinimal + "sampling: {name: oort}\nclock: wall\n"), "");
    for (const char* mode : {"synchronous", "{name: semi_async, quorum: 1}", "async", "hogwild", "parameter_server"}) {
        CAPTURE(mode);
        const std::string text = *mode == '{' ? mode : fmt::format("{{name: {}}}", mode);
        CHECK_EQ(error_of(kMinimal + "sampling: {name: examples}\nmode: " + text + "\n"), "");
    }
}

TEST_SUITE_END();
