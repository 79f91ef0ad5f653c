// What the server compresses for the clients of a round, and the bytes that bring a client there.
#include "sim/round/broadcast.h"

#include "aggregation/memory/host_arena.h"
#include "tests/aggregation/server_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::uint64_t kClientsOfBroadcast = 3;

/// A server of one tensor of 16 values whose chain is `steps`.
struct Sender {
    explicit Sender(const std::vector<clients::UploadStep>& steps, bool by_changes)
        : arena({.num_floats = 16, .num_slots = 1, .num_globals = 3}), server(arena) {
        aggregation::Layout layout;
        layout.add("weight", {16});
        clients::UploadPlan plan;
        for (const clients::UploadStep& step : steps) plan.steps.at(plan.size++) = step;
        broadcast.emplace(plan, by_changes, 7, layout, clients::LocalPart());
        for (std::size_t i = 0; i < 16; ++i) server.region().host()[i] = static_cast<float>(i);
        server.send_from(2, by_changes ? kClientsOfBroadcast : 0);
    }

    std::vector<float> sent() {
        broadcast->prepare(server);
        const auto values = server.sent_region().host();
        return {values.begin(), values.end()};
    }
    std::vector<float> exact() const {
        const auto values = server.region().host();
        return {values.begin(), values.end()};
    }
    /// Adds 1, 2, … to the model's values.
    void step() {
        for (std::size_t i = 0; i < 16; ++i) server.region().host()[i] += static_cast<float>(i + 1);
        ++server.round;
    }

    aggregation::HostArena arena;
    ServerState server;
    std::optional<Broadcast> broadcast;
};

const std::vector<clients::UploadStep> kTwoLater{clients::upload_step("error_feedback", {}),
                                                 clients::upload_step("top_k", {{"kept", 0.125}})};

}  // namespace

TEST_SUITE("Broadcast") {
    TEST_CASE("WithoutAChainClientsAreSentThePublishedRegion") {
        Sender sender({}, false);
        sender.server.sent.reset();
        sender.broadcast->prepare(sender.server);
        CHECK_FALSE(sender.broadcast->any());
        CHECK(sender.server.sent_index() == sender.server.global_index);
    }

    TEST_CASE("EachRoundsModelIsCompressedByItselfAndTheServersStaysExact") {
        Sender sender({clients::upload_step("sign", {})}, false);
        const std::vector<float> exact = sender.exact();
        CHECK(sender.sent() == std::vector<float>(16, 7.5F));  // the mean magnitude
        CHECK(sender.exact() == exact);
        sender.step();
        CHECK(sender.sent() == std::vector<float>(16, 16.0F));
    }

    TEST_CASE("FirstChangeIsTheWholeModelAndLaterOnesAddUp") {
        Sender sender(kTwoLater, true);
        const std::vector<float> first = sender.exact();
        CHECK(sender.sent() == first);
        sender.step();
        std::vector<float> wanted = first;
        wanted[15] += 16.0F;
        wanted[14] += 15.0F;
        CHECK(sender.sent() == wanted);
        ++sender.server.round;  // no step: what was lost comes all the same
        wanted[13] += 14.0F;
        wanted[12] += 13.0F;
        CHECK(sender.sent() == wanted);
    }

    TEST_CASE("ARoundIsPreparedOnce") {
        Sender sender(kTwoLater, true);
        sender.sent();
        sender.step();
        const std::vector<float> once = sender.sent();
        CHECK(sender.sent() == once);
    }

    TEST_CASE("ServerNeverStepsIntoTheRegionThatClientsRead") {
        Sender sender({clients::upload_step("fp16", {})}, false);
        const std::vector<float> sent = sender.sent(), one(16, 1.0F);
        const auto sgd = aggregation::testing::plain_server(16);
        for (int i = 0; i < 4; ++i) sender.server.server_step(*sgd, {one, 1.0, 1});
        const auto now = sender.server.sent_region().host();
        CHECK(std::ranges::equal(now, sent));
        CHECK(sender.exact()[3] == 7.0F);
    }

    TEST_CASE("BytesBringAClientFromWhatItHasToTheRoundsModel") {
        const ModelBytes bytes{.whole = 1000, .each = 100, .beside = 7};
        SentModel alone{.region = 2, .round = 5};
        CHECK(alone.bytes_to(1, bytes) == 107);
        SentModel sent{.region = 2, .round = 20, .heard = {0, 19, 17, 20, 3}};
        CHECK(sent.bytes_to(0, bytes) == 1007);  // it has none
        CHECK(sent.bytes_to(1, bytes) == 107);
        CHECK(sent.bytes_to(2, bytes) == 307);
        CHECK(sent.bytes_to(3, bytes) == 107);
        CHECK(sent.bytes_to(4, bytes) == 1007);  // 17 changes are more than the model
        sent.asked = {0, 2};
        CHECK(sent.bytes_to(2, bytes) == 307);  // until the round ends
        sent.settle();
        CHECK(sent.heard == std::vector<std::uint32_t>{20, 19, 20, 20, 3});
        CHECK(sent.asked.empty());
    }
}
