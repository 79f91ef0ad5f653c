// The values of an experiment, each made by itself: no data file is read, no worker is started.
#include "sim/plan/server_side.h"
#include "sim/config/load_config.h"

#include "aggregation/memory/host_arena.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// lr over tables that do not exist.
LoadedConfig without_tables(const testing::TemporaryFolder& folder, const std::vector<std::string>& overrides = {}) {
    const auto file = folder.path() / "parts.yaml";
    std::ofstream(file)
        << "data: {format: csv, train: nowhere.csv, test: nowhere.csv, target: label, partition: {clients: 3}}\n"
           "model: {name: lr}\nstrategy: {name: scaffold}\nfailures: {min_updates: 2}\ndevice: cpu\n";
    return load_config(file, overrides);
}

constexpr std::int64_t kFeatures = 4, kClasses = 2;
constexpr std::uint64_t kClients = 3;

ModelSetup setup_of(const LoadedConfig& loaded) { return ModelSetup::make(loaded, {{kFeatures, 1, 1}, kClasses}, {}); }

struct Server {
    explicit Server(const LoadedConfig& loaded)
        : model(setup_of(loaded)),
          arena({.num_floats = model.region.num_floats(), .num_slots = 3, .kept_floats = model.memories.floats_beside()}),
          side(ServerSide::make(loaded, model, make_mode(loaded.run), arena, kClients)) {}

    ModelSetup model;
    aggregation::HostArena arena;
    ServerSide side;
};

std::vector<float> values_of(aggregation::ConstParamSpan span) {
    const auto values = span.host();
    return {values.begin(), values.end()};
}

}  // namespace

TEST_SUITE("ServerSide") {
    TEST_CASE("ModelIsLaidOutForAShapeOfDataThatNobodyHasRead") {
        const testing::TemporaryFolder folder;
        const ModelSetup model = setup_of(without_tables(folder));
        CHECK(model.layout.num_parameters() == kFeatures * kClasses + kClasses);
        CHECK(model.region.num_floats() == 2 * model.layout.num_floats());  // with SCAFFOLD's control variate
        CHECK(model.frozen.num_floats() == 0);
        CHECK(model.local_part.empty());
        CHECK(model.cut.activation_floats == 0);
        const ModelSetup parted =
            setup_of(without_tables(folder, {"strategy.name=fedavg", R"(model.local=["*.bias"])", "evaluation.clients.every=1",
                                             "data.partition.holdout=0.2"}));
        CHECK(parted.local_part.num_floats() == kClasses);
        CHECK(parted.region.num_floats() == parted.layout.num_floats());
    }

    TEST_CASE("FirstModelDependsOnTheSeedAlone") {
        const testing::TemporaryFolder folder;
        const auto first = [&](const std::vector<std::string>& overrides) {
            const LoadedConfig loaded = without_tables(folder, overrides);
            return setup_of(loaded).first(loaded).parameters;
        };
        CHECK(first({}) == first({"strategy.name=fedavg"}));
        CHECK(first({}) != first({"seed=7"}));
    }

    TEST_CASE("ServerBeginsWithTheModelThatItIsGivenAndNothingBehindIt") {
        const testing::TemporaryFolder folder;
        const Server server(without_tables(folder));
        std::ranges::fill(server.side.state.region().host(), 9.0F);
        const std::vector<float> given(server.model.layout.num_floats(), 2.0F);
        server.side.begin_with({given, {}});
        CHECK(values_of(server.side.global_model()) == given);
        const auto control = server.model.memories.of(server.side.state.region(), "c");
        CHECK(values_of(control) == std::vector<float>(control.size, 0.0F));
        CHECK(server.side.state.version == 0);
        CHECK(server.side.least_updates == 2);
    }

    TEST_CASE("ItKeepsTheStateOfAcceptedClientsThatWereTrainedHere") {
        const testing::TemporaryFolder folder;
        Server server(without_tables(folder));
        Arrivals arrived;
        for (std::uint32_t client = 0; client < kClients; ++client) {
            const std::uint32_t slot = 2 - client;
            const auto came = server.model.memories.of(server.arena.kept(slot), "c_k");
            std::ranges::fill(came.host(), static_cast<float>(client + 1));
            arrived.clients.push_back({.client_id = client, .slot = slot});
        }
        arrived.clients[1].failure = clients::FailureKind::LeftBehind;
        server.side.keep_states(arrived, server.side.state.region());
        CHECK(server.side.client_states.keepers() == std::vector<std::uint64_t>{0, 2});
        CHECK(server.side.client_states.of(2).host().front() == 3.0F);
        arrived.clients[0].elsewhere = true;
        std::ranges::fill(server.model.memories.of(server.arena.kept(0), "c_k").host(), 7.0F);
        server.side.keep_states(arrived, server.side.state.region());
        CHECK(server.side.client_states.of(0).host().front() == 1.0F);
        CHECK(server.side.client_states.of(2).host().front() == 7.0F);
    }

    TEST_CASE("AHistoryIsTheSumOfAClientsAcceptedUpdates") {
        const testing::TemporaryFolder folder;
        Server server(without_tables(folder, {"strategy.name=foolsgold"}));
        CHECK(server.model.region.num_floats() == server.model.layout.num_floats());  // it does not travel
        CHECK(server.model.memories.floats_beside() == 0);
        Arrivals arrived;
        for (std::uint32_t client = 0; client < kClients; ++client)
            arrived.clients.push_back({.client_id = client, .slot = client});
        arrived.clients[1].failure = clients::FailureKind::LeftBehind;
        for (const float value : {1.0F, 2.5F}) {
            for (std::uint32_t slot = 0; slot < kClients; ++slot)
                std::ranges::fill(server.arena.slot(slot).host(), value + static_cast<float>(slot));
            server.side.keep_states(arrived, server.side.state.region());
        }
        const ProductRows histories = server.side.product_rows(ProductsOf::Updates, std::vector<std::uint32_t>{2, 1});
        CHECK(histories.columns == server.model.layout.num_trainable());
        CHECK(histories.clients == std::vector<std::uint32_t>{2, 1});
        CHECK(values_of(histories.sums[0]) == std::vector<float>(histories.columns, 3.0F + 4.5F));
        CHECK(histories.sums[1].size == 0);
        CHECK_FALSE(server.side.product_rows(ProductsOf::Updates, {}).adds_histories());
    }
}
