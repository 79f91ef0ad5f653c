#include "sim/plan/one_rank.h"
#include "sim/config/load_config.h"

#include "aggregation/base/error.h"
#include "sim/round/make_mode.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;
using fedhive::testing::in_ranks;
using fedhive::testing::TemporaryFolder;

namespace {

LoadedConfig with(const TemporaryFolder& folder, const std::vector<std::string>& overrides) {
    std::ofstream(folder.path() / "run.yaml")
        << "rounds: 1\ndata: {format: glyphs, partition: {scheme: iid, clients: 8}}\nmodel: {name: lr}\n"
           "training: {cohort: 8, local_epochs: 1, batch_size: 8, optimizer: {name: sgd, lr: 0.1}}\nstrategy: {name: fedavg}\n";
    return load_config(folder.path() / "run.yaml", overrides);
}

}  // namespace

TEST_SUITE("OneRank") {
    TEST_CASE("MpsIsRefusedWhereRanksShareAGpu") {
        const TemporaryFolder folder;
        const LoadedConfig on = with(folder, {"mps=on"});
        const LoadedConfig automatic = with(folder, {"mps=auto"});
        in_ranks(3, [&](Ranks& ranks) {
            ranks.name_devices(ranks.rank() == 1 ? "b" : "a");
            CHECK_NOTHROW(refuse_mps_of_several(automatic, ranks));
            if (ranks.rank() == 1)
                CHECK_NOTHROW(refuse_mps_of_several(on, ranks));
            else
                CHECK_THROWS_AS(refuse_mps_of_several(on, ranks), ConfigError);
        });
    }

    TEST_CASE("ModesWhoseClientsMeetAtEveryStepAreRefused") {
        const TemporaryFolder folder;
        for (const char* mode : {"gradient_averaging", "parameter_server", "hogwild"}) {
            CAPTURE(mode);
            const LoadedConfig loaded = with(folder, {std::string("mode.name=") + mode, "clock=virtual"});
            CHECK_THROWS_AS(refuse_what_needs_one_rank(loaded, make_mode(loaded.run)), ConfigError);
        }
        for (const char* mode : {"{name: synchronous}", "{name: semi_async, quorum: 2}", "{name: async}"}) {
            CAPTURE(mode);
            const LoadedConfig loaded = with(folder, {std::string("mode=") + mode, "clock=virtual"});
            CHECK_NOTHROW(refuse_what_needs_one_rank(loaded, make_mode(loaded.run)));
        }
    }
}
