#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/normal_quantile.h"
#include "aggregation/math/deviation.h"
#include "tests/conformance/aggregator_conformance.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

using namespace fedhive;
using namespace fedhive::aggregation;
using nlohmann::json;
using testing::Floats;

namespace {

/// The vector that every attacker sends, from the coefficients and the rows in double.
class Sent {
public:
    Sent(const std::string& name, const Values& values) : spec_(attack_spec(name)), values_(completed(values, spec_.keys)) {}

    Crafted crafted(const std::vector<Floats>& honest, std::size_t attackers) const {
        const std::vector<Floats> rows = all_rows(honest);
        std::vector<ConstParamSpan> spans(rows.begin(), rows.end());
        const InnerProducts products = spec_.products ? inner_products_of(spans, 0) : InnerProducts();
        return spec_.craft({.count = honest.size(), .attackers = attackers, .products = spec_.products ? &products : nullptr},
                           values_);
    }

    std::vector<double> operator()(const std::vector<Floats>& honest, std::size_t attackers) const {
        const std::vector<Floats> rows = all_rows(honest);
        const Crafted given = crafted(honest, attackers);
        std::vector<double> sent(honest.front().size(), 0.0);
        for (std::size_t k = 0; k < rows.size(); ++k)
            for (std::size_t i = 0; i < sent.size(); ++i)
                sent[i] +=
                    (k < given.of_updates.size() ? given.of_updates[k] : given.of_extra) * static_cast<double>(rows[k][i]);
        return sent;
    }

private:
    std::vector<Floats> all_rows(const std::vector<Floats>& honest) const {
        std::vector<Floats> rows = honest;
        const ExtraRow extra = extra_row(spec_, values_);
        if (extra == ExtraRow::Deviation)
            rows.push_back(conformance::aggregate_of(*make_deviation(), honest, MemorySpace::Host));
        if (extra == ExtraRow::SignOfMean) {
            Floats signs(honest.front().size(), 0.0F);
            for (std::size_t i = 0; i < signs.size(); ++i) {
                double sum = 0.0;
                for (const Floats& update : honest) sum += static_cast<double>(update[i]);
                signs[i] = sum > 0.0 ? 1.0F : sum < 0.0 ? -1.0F : 0.0F;
            }
            rows.push_back(signs);
        }
        return rows;
    }

    const AttackSpec& spec_;
    Values values_;
};

Values keys_of_attack(const std::string& attack, const json& keys) {
    Values values;
    for (const KeySpec& key : attack_spec(attack).keys) {
        if (!keys.contains(key.name)) continue;
        if (std::holds_alternative<std::string>(key.default_value))
            values.set(key.name, keys[key.name].get<std::string>());
        else if (std::holds_alternative<std::optional<double>>(key.default_value))
            values.set(key.name, std::optional(keys[key.name].get<double>()));
        else
            values.set(key.name, keys[key.name].get<double>());
    }
    return values;
}

/// Standard normal values around 1.
std::vector<Floats> drawn_honest(std::uint32_t count) {
    std::vector<Floats> updates(count, Floats(30));
    for (std::uint32_t k = 0; k < count; ++k) {
        Stream stream(17, Purpose::TestData, k);
        for (float& value : updates[k]) value = static_cast<float>(1.0 + stream.normal());
    }
    return updates;
}

double squared_distance_to(const std::vector<double>& a, const Floats& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - static_cast<double>(b[i])) * (a[i] - static_cast<double>(b[i]));
    return sum;
}

std::vector<double> in_double(const Floats& values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_SUITE("Attacks") {
    TEST_CASE("EachEqualsItsFormulaInNumpy") {
        std::ifstream file(FEDHIVE_SOURCE_DIR "/tests/golden/attacks.json");
        REQUIRE(file.is_open());
        const json golden = json::parse(file);
        std::set<std::string> compared{"none"};
        for (const json& one : golden["cases"]) {
            const auto name = one["attack"].get<std::string>();
            CAPTURE(name);
            CAPTURE(one["keys"].dump());
            const auto honest = one["honest"].get<std::vector<Floats>>();
            const auto expected = one["sent"].get<std::vector<double>>();
            const std::vector<double> sent = Sent(name, keys_of_attack(name, one["keys"]))(honest, one["attackers"]);
            double largest = 0.0;
            for (const double value : expected) largest = std::max(largest, std::abs(value));
            REQUIRE(sent.size() == expected.size());
            for (std::size_t i = 0; i < sent.size(); ++i)
                CHECK(sent[i] == doctest::Approx(expected[i]).epsilon(2e-6).scale(largest));
            compared.insert(name);
        }
        CHECK(golden["cases"].size() == 8 + 2 + 4 + 18);
        const std::vector<std::string> all = names_of(attack_catalog());
        CHECK(compared == std::set<std::string>(all.begin(), all.end()));
    }

    TEST_CASE("QuantilesOfTheNormalDistribution") {
        CHECK(normal_quantile(0.5) == doctest::Approx(0.0));
        CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-14));
        CHECK(normal_quantile(0.8413447460685429) == doctest::Approx(1.0).epsilon(1e-14));
        CHECK(normal_quantile(1e-10) == doctest::Approx(-6.361340902404056).epsilon(1e-12));
        for (const double p : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN()})
            CHECK_THROWS_AS(normal_quantile(p), Fault);
    }

    // n = 50, m = 24: s = 26 - 24 = 2, z = Φ⁻¹(24 / 26).
    TEST_CASE("AlieGoesAsFarAsTheAttackersLackForAMajority") {
        const auto z = [](std::size_t honest, std::size_t attackers) {
            return -attack_spec("alie")
                        .craft({.count = honest, .attackers = attackers}, completed({}, attack_spec("alie").keys))
                        .of_extra;
        };
        CHECK(z(26, 24) == doctest::Approx(1.426077).epsilon(1e-6));
        CHECK(z(38, 12) == doctest::Approx(normal_quantile(24.0 / 38.0)).epsilon(1e-12));
        CHECK(z(2, 1) == 0.0);
        CHECK(z(3, 1) == 0.0);  // 1/3 lies below the mean
        CHECK(z(1, 9) == 0.0);
        CHECK(z(10, 90) == doctest::Approx(normal_quantile(0.9)).epsilon(1e-12));
    }

    TEST_CASE("MimicCopiesOneHonestUpdate") {
        std::vector<Floats> honest(6, Floats{1.0F, 1.0F, 0.0F});
        honest[4] = {1.0F, 1.0F, 9.0F};
        CHECK(Sent("mimic", {})(honest, 2) == in_double(honest[4]));
        // Equal updates: the first.
        CHECK(Sent("mimic", {}).crafted(std::vector<Floats>(4, honest[0]), 1).of_updates ==
              std::vector<double>{1.0, 0.0, 0.0, 0.0});
    }

    TEST_CASE("MinMaxAndMinSumReachTheirBoundAndDoNotExceedIt") {
        for (const char* direction : {"unit", "std", "sign"}) {
            CAPTURE(direction);
            const std::vector<Floats> honest = drawn_honest(9);
            const Values values{{"direction", direction}};
            const std::vector<double> farthest = Sent("min_max", values)(honest, 2),
                                      summed = Sent("min_sum", values)(honest, 2);
            double largest = 0.0, most = 0.0, largest_sum = 0.0, sum = 0.0;
            for (const Floats& one : honest) {
                double sum_of_one = 0.0;
                for (const Floats& other : honest) {
                    largest = std::max(largest, squared_distance_to(in_double(one), other));
                    sum_of_one += squared_distance_to(in_double(one), other);
                }
                largest_sum = std::max(largest_sum, sum_of_one);
                most = std::max(most, squared_distance_to(farthest, one));
                sum += squared_distance_to(summed, one);
            }
            CHECK(most == doctest::Approx(largest).epsilon(1e-5));
            CHECK(sum == doctest::Approx(largest_sum).epsilon(1e-5));
        }
    }

    TEST_CASE("WithoutAPerturbationTheMeanIsSent") {
        const std::vector<Floats> equal(3, Floats{2.0F, -4.0F});
        const std::vector<Floats> around_zero{{1.0F, 2.0F}, {-1.0F, -2.0F}};
        for (const char* name : {"min_max", "min_sum"}) {
            CAPTURE(name);
            CHECK(Sent(name, {{"direction", "std"}}).crafted(equal, 1).of_extra == 0.0);
            CHECK(Sent(name, {{"direction", "unit"}})(around_zero, 1) == std::vector<double>{0.0, 0.0});
            CHECK(Sent(name, {{"direction", "sign"}}).crafted(around_zero, 1).of_extra == 0.0);
            const std::vector<double> alone = Sent(name, {{"direction", "unit"}})({{3.0F, 5.0F}}, 2);
            CHECK(alone[0] == doctest::Approx(3.0).epsilon(1e-6));
            CHECK(alone[1] == doctest::Approx(5.0).epsilon(1e-6));
        }
    }

    TEST_CASE("EachIsDescribed") {
        for (const AttackSpec& spec : attack_catalog()) {
            CAPTURE(spec.name);
            CHECK_FALSE(spec.summary.empty());
            CHECK((spec.craft == nullptr) == (spec.name == "none"));
            for (const KeySpec& key : spec.keys) CHECK_FALSE(key.doc.empty());
        }
        CHECK_THROWS_AS(attack_spec("alien"), Fault);
    }
}
