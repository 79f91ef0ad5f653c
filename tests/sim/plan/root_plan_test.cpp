// Root examples in an experiment: who has them, what is refused, the slot, the estimate.
#include "sim/config/load_config.h"
#include "sim/plan/estimate.h"
#include "sim/plan/experiment.h"
#include "sim/plan/run_warnings.h"
#include "sim/round/slot_plan.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// 30 examples, four of them at the server.
LoadedConfig four_of_thirty(const testing::TemporaryFolder& folder, const std::vector<std::string>& overrides = {}) {
    const auto file = folder.path() / "root.yaml";
    std::ofstream(file)
        << "data: {format: synthetic, num_train: 30, num_test: 6, num_features: 4, num_classes: 2, root_examples: 4, "
           "partition: {clients: 3}}\nmodel: {name: lr}\nstrategy: {name: fltrust}\ndevice: cpu\nworkers: 2\n";
    return load_config(file, overrides);
}

Experiment inspected(const std::vector<std::string>& overrides = {}) {
    const testing::TemporaryFolder folder;
    return Experiment::to_inspect(four_of_thirty(folder, overrides));
}

std::string refusal_with_root(const std::vector<std::string>& overrides) {
    const testing::TemporaryFolder folder;
    try {
        Experiment::to_inspect(four_of_thirty(folder, overrides));
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

std::vector<std::uint32_t> list_of_shard(std::span<const std::uint32_t> indices) { return {indices.begin(), indices.end()}; }

}  // namespace

TEST_SUITE("RootPlan") {
    TEST_CASE("NoClientTrainsOnOrHoldsOutARootExample") {
        for (const char* holdout : {"0", "0.3"}) {
            const Experiment run = inspected({std::string("data.partition.holdout=") + holdout});
            const clients::SharedDataset& data = run.data.dataset;
            REQUIRE(data.map().num_root == 4);
            std::set<std::uint32_t> seen;
            for (std::size_t client = 0; client < data.map().num_shards(); ++client)
                for (const std::uint32_t index : data.shard(client)) CHECK(seen.insert(index).second);
            for (std::size_t client = 0; client < data.map().num_clients; ++client)
                for (const std::uint32_t index : data.held_out(client)) CHECK(seen.insert(index).second);
            CHECK(seen.size() == 30);
        }
    }

    TEST_CASE("TheyFollowTheSeedOfThePartitionAndNothingElse") {
        const auto root_of = [](const std::vector<std::string>& overrides) {
            const Experiment run = inspected(overrides);
            return list_of_shard(run.data.dataset.shard(3));
        };
        const std::vector<std::uint32_t> root = root_of({});
        CHECK(root_of({"seeds.data=7", "seeds.sampling=7", "seeds.training=7", "seeds.model=7"}) == root);
        CHECK(root_of({"strategy.name=zeno"}) == root);
        CHECK(root_of({"data.partition.scheme=contiguous"}) == root);
        CHECK(root_of({"seeds.partition=7"}) != root);
    }

    TEST_CASE("AnyNumberThatLeavesEachClientAnExample") {
        CHECK(refusal_with_root({"data.root_examples=27"}).empty());
        const std::string many = refusal_with_root({"data.root_examples=28"});
        CHECK_MESSAGE(many.find("data.root_examples: 28 ") != std::string::npos, many);
        CHECK_MESSAGE(many.find("allowed: 1 to 27") != std::string::npos, many);
        CHECK_MESSAGE_IS("plan", "too many", many);
        const std::string least =
            refusal_with_root({"data.root_examples=20", "data.partition={scheme: dirichlet, clients: 3, min_examples: 4}"});
        CHECK_MESSAGE(least.find("data.partition") != std::string::npos, least);
        const std::string more_clients = refusal_with_root({"data.partition.clients=30"});
        CHECK_MESSAGE(more_clients.find("data.root_examples: ") != std::string::npos, more_clients);
        CHECK_MESSAGE_IS("plan", "more clients", more_clients);
    }

    TEST_CASE("TheRootClientHasASlotAndCountsInTheEstimate") {
        const Experiment run = inspected();
        const Experiment krum = inspected({"strategy.name=median"});
        CHECK(run.resources.slots.root == 1);
        CHECK(run.resources.arena->geometry().num_slots == 4);
        CHECK(krum.resources.arena->geometry().num_slots == 3);
        CHECK(steps_per_round(run) == steps_per_round(krum) + 1.0);
    }

    TEST_CASE("WhereNobodyTrainsOnThemAWarningSaysSo") {
        CHECK(inspected().warnings().empty());
        const std::vector<std::string> lines = inspected({"strategy.name=fedavg"}).warnings();
        REQUIRE(lines.size() == 1);
        CHECK(lines.front().starts_with("data.root_examples: "));
        CHECK_MESSAGE_IS("plan", "", lines.front());
    }
}
