// The channel between a split model's halves: all words and floats arrive in order, for any interleaving.
#include "clients/worker/arena_channel.h"

#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

constexpr std::size_t kFloats = 16;  // of each region
constexpr std::size_t kSteps = 5000;

/// Two ranks in two threads, each with a channel over the same exchange.
template <typename Lower, typename Upper>
void run_halves(const Lower& lower, const Upper& upper) {
    std::array<RankCell, 2> cells;
    std::vector<float> exchange(2 * kFloats);
    const auto run = [&](std::size_t rank, const auto& body) {
        RankGroup pair(cells, rank, 30.0, {});
        pair.begin("split");
        ArenaChannel channel(pair, exchange);
        body(channel);
    };
    const std::jthread other([&] { run(1, upper); });
    run(0, lower);
}

}  // namespace

TEST_SUITE("ArenaChannel") {
    TEST_CASE("ThousandsOfMessagesArriveInOrderWithTheirFloats") {
        std::size_t wrong_above = 0, wrong_below = 0;
        run_halves(
            [&](ArenaChannel& channel) {
                for (std::size_t step = 1; step <= kSteps; ++step) {
                    for (float& value : channel.activations().host()) value = static_cast<float>(step);
                    channel.send_activations(step);
                    wrong_below += channel.receive_gradient() == 2 * step ? 0 : 1;
                    for (const float value : channel.gradient().host())
                        wrong_below += value == -static_cast<float>(step) ? 0 : 1;
                }
            },
            [&](ArenaChannel& channel) {
                for (std::size_t step = 1; step <= kSteps; ++step) {
                    wrong_above += channel.receive_activations() == step ? 0 : 1;
                    for (const float value : channel.activations().host())
                        wrong_above += value == static_cast<float>(step) ? 0 : 1;
                    for (float& value : channel.gradient().host()) value = -static_cast<float>(step);
                    channel.send_gradient(2 * step);
                }
            });
        CHECK(wrong_above == 0);
        CHECK(wrong_below == 0);
    }

    TEST_CASE("LossFollowsTheLastGradientWithoutOverwritingItsWord") {
        // As at the end of a client's training: the upper half sends two words in a row.
        constexpr double kLoss = 0.1;
        std::size_t wrong_above = 0, wrong_below = 0;
        for (std::size_t round = 0; round < 50; ++round)
            run_halves(
                [&](ArenaChannel& channel) {
                    channel.send_activations(7);
                    std::this_thread::sleep_for(std::chrono::microseconds(100));  // both words were sent
                    wrong_below += channel.receive_gradient() == 9 ? 0 : 1;
                    wrong_below += channel.receive_loss() == kLoss ? 0 : 1;
                },
                [&](ArenaChannel& channel) {
                    wrong_above += channel.receive_activations() == 7 ? 0 : 1;
                    channel.send_gradient(9);
                    channel.send_loss(kLoss);
                });
        CHECK(wrong_above == 0);
        CHECK(wrong_below == 0);
    }

    TEST_CASE("RegionsAreTheTwoHalvesOfTheExchange") {
        std::array<RankCell, 2> cells;
        std::vector<float> exchange(2 * kFloats);
        RankGroup pair(cells, 0, 1.0, {});
        ArenaChannel channel(pair, exchange);
        CHECK(channel.activations().data == exchange.data());
        CHECK(channel.gradient().data == exchange.data() + kFloats);
        CHECK(channel.activations().size == kFloats);
        CHECK(channel.gradient().size == kFloats);
    }
}
