// What cannot be sampled, and by which message.
#include "sim/selection/sampler.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("SamplingErrors");

TEST_CASE("SamplersThatCannotSample") {
    const std::string line = "c.yaml:7: sampling";
    check_errors(
        {
            {"sampling: {name: unifrom}\n",
             line + ".name: unknown value 'unifrom'; allowed: " + names_in(sampler_catalog()) + "; did you mean 'uniform'?"},
            {"sampling: fixed\n", line + ": wants keys below it, found 'fixed'; write sampling: {name: fixed}"},
            {"sampler: {name: fixed}\n", "c.yaml:7: sampler: unknown key; did you mean 'sampling'?"},
            {"sampling: {name: fixed}\n", "c.yaml: sampling.clients: is missing; sampling 'fixed' needs it"},
            {"sampling: {clients: [0, 1]}\n",
             line + ".clients: 'clients' belongs to sampling 'fixed'; the sampling here is 'uniform'; known keys: name"},
            {"sampling:\n  name: fixed\n  clients:\n  - 3\n  - 0\n  - 1\n  - 4\n",
             "c.yaml:13: sampling.clients[3]: there is no client 4; allowed: 0 to 3"},
            {"sampling: {name: fixed, clients: [0.5, 1, 2, 3]}\n",
             line + ".clients[0]: there is no client 0.5; allowed: 0 to 3"},
            {"sampling: {name: fixed, clients: [-1, 1, 2, 3]}\n", line + ".clients[0]: -1 is out of range; allowed: 0 to 1e9"},
            {"sampling: {name: fixed, clients: [0, 1, 2, 1]}\n",
             line + ".clients[3]: client 1 is in the list twice; take one out"},
            {"sampling: {name: fixed, clients: [2]}\n",
             line + ".clients: 1 client is fewer than a cohort of 4; list 4 or more, or lower training.cohort"},
            {"sampling: {name: fixed, clients: [2, 3]}\ntraining: {cohort: 3}\n",
             line + ".clients: 2 clients are fewer than a cohort of 3; list 3 or more, or lower training.cohort"},
            {"sampling: {name: examples}\nmode: {name: gradient_averaging}\n",
             line + ".name: in mode gradient_averaging all clients work together in every round, so that 'examples' has no "
                    "choice; allowed: uniform"},
        },
        kMinimal);
    CHECK_EQ(error_of(kMinimal + "sampling: {name: fixed, clients: [3, 0]}\ntraining: {cohort: 2}\n"), "");
    for (const char* mode : {"synchronous", "{name: semi_async, quorum: 1}", "async", "hogwild", "parameter_server"}) {
        CAPTURE(mode);
        const std::string text = *mode == '{' ? mode : fmt::format("{{name: {}}}", mode);
        CHECK_EQ(error_of(kMinimal + "sampling: {name: examples}\nmode: " + text + "\n"), "");
    }
}

TEST_SUITE_END();
