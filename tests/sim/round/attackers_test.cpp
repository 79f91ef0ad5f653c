// Who attacks in a round and what replaces the attackers' updates, on slots that are filled by hand.
#include "sim/round/attackers.h"

#include "aggregation/memory/host_arena.h"
#include "clients/uploads/upload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;
using aggregation::ConstParamSpan;
using aggregation::ParamSpan;

namespace {

constexpr std::uint64_t kHolders = 10;
constexpr std::size_t kUpdateFloats = 64;
constexpr std::size_t kExtraSlot = kHolders;

bool attacks(std::uint32_t client) { return clients::misbehaves(client, 0.2, kHolders, 3); }

/// A round of all ten clients, each with the same value in all floats: its id plus 1, for a mean that is no whole number.
struct Round {
    aggregation::HostArena arena{{.num_floats = kUpdateFloats, .num_slots = kHolders + 1}};
    Arrivals arrived;
    std::size_t combined = 0;

    Round() {
        for (std::uint32_t client = 0; client < kHolders; ++client) {
            const ParamSpan slot = arena.slot(client);
            std::fill(slot.data, slot.data + kUpdateFloats, value_of(client));
            arrived.updates.push_back({slot, 2 * client + 1, 7.0, 7.0, 1, client});
            ClientReport report;
            report.client_id = report.slot = client;
            report.result.update_norm = 8.0 * static_cast<double>(value_of(client));
            report.result.update_hash = client;
            arrived.clients.push_back(report);
        }
    }

    static float value_of(std::uint32_t client) { return static_cast<float>(client + 1); }

    void attack(const Chosen& attack, const aggregation::Memories& memories = {}) {
        const Attackers attackers(attack, {.sampling_seed = 3, .num_clients = kHolders}, arena, kExtraSlot, memories);
        const auto products = [](std::span<const aggregation::Update> rows, std::size_t base, std::span<const std::uint32_t>) {
            std::vector<ConstParamSpan> spans;
            for (const aggregation::Update& row : rows) spans.push_back(row.values);
            return aggregation::inner_products_of(spans, base);
        };
        const auto combine = [&](aggregation::Aggregator& rule, std::span<const aggregation::Update> rows) {
            ++combined;
            rule.zero_init(kUpdateFloats, aggregation::MemorySpace::Host);
            for (const aggregation::Update& row : rows) {
                CHECK(row.values.data == arena.slot(row.slot).data);  // as shared aggregation asks
                rule.aggregate(row);
            }
            return rule.finish();
        };
        attackers.replace_updates(arrived, products, combine);
    }

    float first(std::uint32_t client) const { return arena.slot(client).data[0]; }
    float last(std::uint32_t client) const { return arena.slot(client).data[kUpdateFloats - 1]; }
};

/// Mean and standard deviation of the honest clients' values.
std::pair<double, double> honest_mean_and_std() {
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (std::uint32_t client = 0; client < kHolders; ++client) {
        if (attacks(client)) continue;
        const auto value = static_cast<double>(Round::value_of(client));
        sum += value;
        squares += value * value;
        count += 1.0;
    }
    const double mean = sum / count;
    return {mean, std::sqrt(squares / count - mean * mean)};
}

}  // namespace

TEST_SUITE("Attackers") {
    TEST_CASE("OnlyTheAttackersSlotsAndNormsAreReplaced") {
        const auto [mean, std] = honest_mean_and_std();
        const std::vector<std::pair<Chosen, double>> cases{
            {{"alie", {{"share", 0.2}, {"z", std::optional(1.5)}}}, mean - 1.5 * std},
            {{"inner_product", {{"share", 0.2}, {"epsilon", 0.5}}}, -0.5 * mean}};
        for (const auto& one : cases) {
            CAPTURE(one.first.name);
            Round round;
            round.attack(one.first);
            std::size_t attackers = 0;
            for (std::uint32_t client = 0; client < kHolders; ++client) {
                const double norm = round.arrived.clients[client].result.update_norm;
                CHECK(round.arrived.clients[client].result.update_hash == client);
                if (!attacks(client)) {
                    CHECK(round.first(client) == Round::value_of(client));
                    CHECK(norm == 8.0 * static_cast<double>(Round::value_of(client)));
                    continue;
                }
                ++attackers;
                CHECK(round.first(client) == doctest::Approx(one.second).epsilon(1e-6));
                CHECK(round.last(client) == round.first(client));
                CHECK(norm == doctest::Approx(8.0 * std::abs(one.second)).epsilon(1e-6));
            }
            CHECK(attackers == 2);
        }
    }

    TEST_CASE("EveryAttackSendsOneVectorFromAllAttackers") {
        for (const aggregation::AttackSpec& spec : aggregation::attack_catalog()) {
            if (spec.craft == nullptr) continue;
            for (const char* direction : {"unit", "std", "sign"}) {
                CAPTURE(spec.name);
                CAPTURE(direction);
                Chosen attack{spec.name};
                if (spec.extra != nullptr && spec.products) attack.values.set("direction", direction);
                Round round;
                round.attack(attack);
                std::vector<float> sent;
                for (std::uint32_t client = 0; client < kHolders; ++client)
                    if (attacks(client)) sent.push_back(round.first(client));
                REQUIRE(sent.size() == 2);
                CHECK(sent[0] == sent[1]);
                CHECK(std::isfinite(sent[0]));
            }
        }
    }

    TEST_CASE("TheSignOfTheMeanKnowsNoWeights") {
        Round round;
        std::uint32_t heavy = 0;  // an honest client that would turn the sign of a weighted mean
        while (attacks(heavy)) ++heavy;
        double means[2] = {0.0, 0.0};
        for (std::uint32_t client = 0; client < kHolders; ++client) {
            const float first = client == heavy ? -1.0F : Round::value_of(client), second = -3.0F * Round::value_of(client);
            float* slot = round.arena.slot(client).data;
            std::fill(slot, slot + kUpdateFloats / 2, first);
            std::fill(slot + kUpdateFloats / 2, slot + kUpdateFloats, second);
            round.arrived.updates[client].scale = round.arrived.updates[client].weight = client == heavy ? 1000.0 : 1.0;
            if (attacks(client)) continue;
            means[0] += static_cast<double>(first) / 8.0;
            means[1] += static_cast<double>(second) / 8.0;
        }
        round.attack({"min_sum", {{"direction", "sign"}}});
        for (std::uint32_t client = 0; client < kHolders; ++client) {
            if (!attacks(client)) continue;
            const double down = means[0] - static_cast<double>(round.first(client));
            CHECK(down > 1.0);
            CHECK(static_cast<double>(round.last(client)) - means[1] == doctest::Approx(down).epsilon(1e-5));
        }
    }

    TEST_CASE("NothingChangesWithoutAttackersOrWithoutHonestClients") {
        const Chosen attack{"inner_product"};
        for (const bool attackers : {false, true}) {
            Round round;
            std::erase_if(round.arrived.updates, [&](const aggregation::Update& update) {
                return attacks(static_cast<std::uint32_t>(update.slot)) != attackers;
            });
            REQUIRE_FALSE(round.arrived.updates.empty());
            round.attack(attack);
            CHECK(round.combined == 0);
            for (std::uint32_t client = 0; client < kHolders; ++client) CHECK(round.first(client) == Round::value_of(client));
        }
        Round round;
        round.attack({"none"});
        CHECK(round.combined == 0);
    }

    TEST_CASE("OneHonestUpdateIsEnough") {
        Round round;
        std::uint32_t honest = 0;
        while (attacks(honest)) ++honest;
        std::erase_if(round.arrived.updates, [&](const aggregation::Update& update) {
            return !attacks(static_cast<std::uint32_t>(update.slot)) && update.slot != honest;
        });
        round.attack({"alie", {{"z", std::optional(2.0)}}});
        for (std::uint32_t client = 0; client < kHolders; ++client)
            CHECK(round.first(client) == Round::value_of(attacks(client) ? honest : client));
    }

    TEST_CASE("AnAttackerOfAnotherRankGetsItsNormHere") {
        Round round;
        for (ClientReport& client : round.arrived.clients) client.elsewhere = attacks(client.client_id);
        round.attack({"inner_product"});
        std::set<double> norms;
        std::size_t as_it_was = 0;
        for (std::uint32_t client = 0; client < kHolders; ++client) {
            if (!attacks(client)) continue;
            norms.insert(round.arrived.clients[client].result.update_norm);
            as_it_was += round.first(client) == Round::value_of(client) ? 1 : 0;
        }
        CHECK(norms.size() == 1);
        CHECK(*norms.begin() < 8.0);
        CHECK(as_it_was == 1);  // the first one's slot is used for the norm
    }

    TEST_CASE("ACopyHasTheNormOfWhatItCopies") {
        Round round;
        round.attack({"mimic"});
        for (std::uint32_t client = 0; client < kHolders; ++client)
            CHECK(round.arrived.clients[client].result.update_norm == 8.0 * static_cast<double>(round.first(client)));
    }

    TEST_CASE("WhatAStrategySendsBehindTheUpdateStays") {
        aggregation::Memories memories;
        memories.add(
            {.name = "visits", .owner = aggregation::MemoryOwner::Visit, .shape = aggregation::MemoryShape::Scalar, .up = true},
            {});
        Round round;
        round.attack({"inner_product"}, memories);
        const std::size_t model = memories.of(round.arena.slot(0), aggregation::kModel).size;
        REQUIRE(model == 48);
        for (std::uint32_t client = 0; client < kHolders; ++client) {
            const float* slot = round.arena.slot(client).data;
            CHECK((slot[model - 1] == Round::value_of(client)) != attacks(client));
            CHECK(slot[model] == Round::value_of(client));
            if (attacks(client))
                CHECK(round.arrived.clients[client].result.update_norm ==
                      doctest::Approx(std::sqrt(48.0) * std::abs(static_cast<double>(slot[0]))).epsilon(1e-6));
        }
    }

    TEST_CASE("AClientDroppedFromASlotIsNoSender") {
        Round round;
        round.arrived.clients[4].failure = clients::FailureKind::Exception;
        CHECK_THROWS_AS(round.attack({"mimic"}), Fault);
    }
}
