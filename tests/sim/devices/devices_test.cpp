// Times and availability of simulated clients, against closed forms.
#include "sim/devices/devices.h"

#include "aggregation/base/error.h"
#include "tests/support/golden_messages.h"
#include "tests/support/statistics.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <boost/math/distributions/lognormal.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

DevicesConfig spread_out(const SpreadConfig& compute, const SpreadConfig& link) {
    DevicesConfig config;
    config.compute = {.spread = compute, .seconds_per_example = 0.5};
    config.link = {.spread = link, .upload = 16.0, .download = 64.0};
    return config;
}

DevicesConfig sometimes_there(double probability, double period_s) {
    DevicesConfig config;
    config.availability = {.scheme = "probability", .values = {{"probability", probability}, {"period_s", period_s}}};
    return config;
}

/// Seconds per example, bytes per second up and down, by client.
std::vector<DeviceSpeed> speeds(const DevicesConfig& config, std::uint32_t num_clients, std::uint64_t seed = 1) {
    const Devices devices(config, num_clients, seed);
    std::vector<DeviceSpeed> result;
    for (std::uint32_t client = 0; client < num_clients; ++client)
        result.push_back({.seconds_per_example = devices.round_trip_s(client, 1, 0, 0),
                          .upload = 1.0 / devices.round_trip_s(client, 0, 0, 1),
                          .download = 1.0 / devices.round_trip_s(client, 0, 1, 0)});
    return result;
}

/// Kolmogorov distance of the values from the lognormal distribution with that median.
double distance(const std::vector<double>& values, double median, double sigma) {
    const boost::math::lognormal_distribution<> lognormal(std::log(median), sigma);
    return testing::kolmogorov_distance(values, [&](double value) { return boost::math::cdf(lognormal, value); });
}

void check_lognormal(const std::vector<double>& values, double median, double sigma) {
    const double bound = testing::kolmogorov_bound(values.size());
    CHECK(distance(values, median, sigma) < bound);
    // The distance must exceed the bound for a median off by a tenth of sigma, and for a sigma a tenth larger or smaller.
    CHECK(distance(values, median * std::exp(0.1 * sigma), sigma) > bound);
    CHECK(distance(values, median * std::exp(-0.1 * sigma), sigma) > bound);
    CHECK(distance(values, median, 1.1 * sigma) > bound);
    CHECK(distance(values, median, 0.9 * sigma) > bound);
}

class Trace {
public:
    explicit Trace(const std::string& text) { std::ofstream(folder_.path() / "t.csv") << text; }
    std::filesystem::path path() const { return folder_.path() / "t.csv"; }

private:
    testing::TemporaryFolder folder_;
};

DevicesConfig there_as(const Trace& trace) {
    DevicesConfig config;
    config.availability = {.scheme = "trace", .values = {{"trace", trace.path()}}};
    return config;
}

}  // namespace

TEST_SUITE_BEGIN("Devices");

TEST_CASE("ConstantRoundTripIsDownloadPlusTrainingPlusUpload") {
    const Devices devices(spread_out({}, {}), 3, 1);
    CHECK(devices.round_trip_s(0, 6, 128, 32) == 2.0 + 3.0 + 2.0);
    CHECK(devices.round_trip_s(2, 6, 128, 32) == 7.0);
    CHECK(devices.round_trip_s(1, 0, 64, 0) == 1.0);
    CHECK(devices.round_trip_s(1, 2, 0, 0) == 1.0);
    CHECK(devices.round_trip_s(1, 0, 0, 16) == 1.0);
    CHECK(devices.round_trip_s(1, 0, 0, 0) == 0.0);
    CHECK_THROWS_AS(devices.round_trip_s(3, 1, 1, 1), std::out_of_range);
}

TEST_CASE("LognormalIsDistributedByItsMedianAndSigma") {
    const DevicesConfig config = spread_out({.distribution = "lognormal", .values = {{"sigma", 0.75}}},
                                            {.distribution = "lognormal", .values = {{"sigma", 0.25}}});
    const std::vector<DeviceSpeed> drawn = speeds(config, 10'000);
    std::vector<double> seconds;
    std::vector<double> upload;
    double product = 0.0;
    for (const DeviceSpeed& speed : drawn) {
        seconds.push_back(speed.seconds_per_example);
        upload.push_back(speed.upload);
        CHECK(speed.download / speed.upload == doctest::Approx(4.0));  // one draw for both directions
        product += std::log(speed.seconds_per_example / 0.5) / 0.75 * std::log(16.0 / speed.upload) / 0.25;
    }
    check_lognormal(seconds, 0.5, 0.75);
    check_lognormal(upload, 16.0, 0.25);
    CHECK(std::abs(product / 1e4) < 0.03);  // correlation of compute and link: three standard errors
}

TEST_CASE("ZipfFactorsAreExact") {
    constexpr std::uint32_t kClients = 50;
    const DevicesConfig config = spread_out({.distribution = "zipf", .values = {{"exponent", 2.0}}},
                                            {.distribution = "zipf", .values = {{"exponent", 1.0}}});
    std::set<double> factors;
    std::set<double> rates;
    bool same_ranks = true;
    const Devices devices(config, kClients, 1);
    for (std::uint32_t client = 0; client < kClients; ++client) {
        factors.insert(devices.round_trip_s(client, 2, 0, 0));
        const double rank = devices.round_trip_s(client, 0, 0, 16);
        CHECK(devices.round_trip_s(client, 0, 64, 0) == doctest::Approx(rank));
        rates.insert(std::round(rank));
        CHECK(rank == doctest::Approx(std::round(rank)));
        same_ranks = same_ranks && devices.round_trip_s(client, 2, 0, 0) == std::round(rank) * std::round(rank);
    }
    std::set<double> squares;
    std::set<double> ranks;
    for (int rank = 1; rank <= static_cast<int>(kClients); ++rank) {
        squares.insert(rank * rank);
        ranks.insert(rank);
    }
    CHECK(factors == squares);
    CHECK(rates == ranks);
    CHECK_FALSE(same_ranks);  // slow links and slow processors are independent
    CHECK(devices.round_trip_s(0, 2, 0, 0) != Devices(config, kClients, 2).round_trip_s(0, 2, 0, 0));
}

TEST_CASE("NeutralParametersAreConstant") {
    const SpreadConfig lognormal{.distribution = "lognormal", .values = {{"sigma", 0.0}}};
    const SpreadConfig zipf{.distribution = "zipf", .values = {{"exponent", 0.0}}};
    const Devices constant(spread_out({}, {}), 20, 1);
    for (const DevicesConfig& config : {spread_out(lognormal, zipf), spread_out(zipf, lognormal)})
        for (std::uint32_t client = 0; client < 20; ++client)
            CHECK(Devices(config, 20, 1).round_trip_s(client, 7, 5, 3) == constant.round_trip_s(client, 7, 5, 3));
    const Devices always(sometimes_there(1.0, 10.0), 20, 1);
    CHECK(always.always_available());
    CHECK(always.available(3, 1e300));
}

TEST_CASE("OtherClientsAndOtherSettingsDoNotMoveADraw") {
    const SpreadConfig lognormal{.distribution = "lognormal"};
    const Devices few(spread_out(lognormal, lognormal), 10, 7);
    const Devices many(spread_out(lognormal, lognormal), 1000, 7);
    const Devices other_link(spread_out(lognormal, {}), 10, 7);
    const Devices other_seed(spread_out(lognormal, lognormal), 10, 8);
    for (std::uint32_t client = 0; client < 10; ++client) {
        CHECK(few.round_trip_s(client, 3, 5, 7) == many.round_trip_s(client, 3, 5, 7));
        CHECK(few.round_trip_s(client, 3, 0, 0) == other_link.round_trip_s(client, 3, 0, 0));
        CHECK(few.round_trip_s(client, 3, 0, 0) != other_seed.round_trip_s(client, 3, 0, 0));
    }
    const Devices few_there(sometimes_there(0.5, 10.0), 10, 7);
    const Devices many_there(sometimes_there(0.5, 10.0), 1000, 7);
    for (std::uint32_t client = 0; client < 10; ++client)
        for (int period = 0; period < 100; ++period)
            CHECK(few_there.available(client, 10.0 * period) == many_there.available(client, 10.0 * period));
}

TEST_CASE("ATraceReplacesComputeAndLink") {
    const Trace trace("client,seconds_per_example,upload,download\n1,2,8,4\n0,1,16,32\n");
    DevicesConfig config = spread_out({.distribution = "zipf"}, {.distribution = "lognormal"});
    config.trace = trace.path();
    const Devices devices(config, 2, 1);
    CHECK(devices.round_trip_s(0, 3, 64, 32) == 2.0 + 3.0 + 2.0);
    CHECK(devices.round_trip_s(1, 3, 64, 32) == 16.0 + 6.0 + 4.0);
    CHECK_THROWN_MESSAGE("devices", "t.csv:3: client:", ConfigError, Devices(config, 3, 1));
}

TEST_CASE("AlwaysIsAlways") {
    const Devices devices(DevicesConfig(), 4, 1);
    CHECK(devices.always_available());
    CHECK(devices.available(3, 0.0));
    CHECK(devices.next_available_s(3, 12.5) == 12.5);
}

TEST_CASE("ProbabilityIsTheShareOfPeriods") {
    const Devices devices(sometimes_there(0.3, 600.0), 100, 1);
    CHECK_FALSE(devices.always_available());
    int there = 0;
    for (std::uint32_t client = 0; client < 100; ++client)
        for (int period = 0; period < 100; ++period) there += devices.available(client, 600.0 * period) ? 1 : 0;
    CHECK(std::abs(there - 3000) < 138);  // three standard deviations of 45.8
}

TEST_CASE("APeriodIsWholeAndHalfOpen") {
    constexpr double kPeriod = 0.1;  // its multiples are rounded, and so are their quotients
    const Devices devices(sometimes_there(0.5, kPeriod), 2, 3);
    for (const std::uint32_t client : {0U, 1U}) {
        for (int period = 0; period < 2000; ++period) {
            const double start = period * kPeriod;
            const double next = (period + 1) * kPeriod;
            const bool there = devices.available(client, start);
            REQUIRE(devices.available(client, start + 0.5 * kPeriod) == there);
            REQUIRE(devices.available(client, std::nextafter(next, 0.0)) == there);
        }
    }
}

TEST_CASE("NextAvailableOfAProbabilityIsTheFirstThereIs") {
    constexpr double kPeriod = 0.7;
    const Devices devices(sometimes_there(0.2, kPeriod), 5, 1);
    int waited = 0;
    for (std::uint32_t client = 0; client < 5; ++client) {
        for (int step = 0; step < 500; ++step) {
            const double at_s = 0.23 * step;
            const double next = devices.next_available_s(client, at_s);
            REQUIRE(next >= at_s);
            REQUIRE(devices.available(client, next));
            REQUIRE(devices.next_available_s(client, next) == next);
            REQUIRE(devices.available(client, at_s) == (next == at_s));
            for (double between = at_s; between < next; between += 0.25 * kPeriod)
                REQUIRE_FALSE(devices.available(client, between));
            if (next > at_s) REQUIRE_FALSE(devices.available(client, std::nextafter(next, 0.0)));
            waited += next > at_s ? 1 : 0;
        }
    }
    CHECK(waited > 1000);
}

TEST_CASE("TimesThatAreNoneAreFaults") {
    const Devices devices(sometimes_there(0.5, 1.0), 1, 1);
    CHECK_THROWS_AS(devices.available(0, -1.0), Fault);
    CHECK_THROWS_AS(devices.next_available_s(0, kNever), Fault);
    CHECK_THROWS_AS(devices.available(0, std::nan("")), Fault);
}

TEST_CASE("TraceOfAvailabilityToTheLetter") {
    const Trace trace("client,start_s,end_s\n0,10,20\n0,20,30\n1,0,5\n0,40,41\n");
    const Devices devices(there_as(trace), 2, 1);
    CHECK_FALSE(devices.always_available());
    CHECK(devices.next_available_s(0, 0.0) == 10.0);
    CHECK_FALSE(devices.available(0, std::nextafter(10.0, 0.0)));
    CHECK(devices.available(0, 10.0));
    CHECK(devices.available(0, 20.0));
    CHECK(devices.available(0, std::nextafter(30.0, 0.0)));
    CHECK_FALSE(devices.available(0, 30.0));
    CHECK(devices.next_available_s(0, 30.0) == 40.0);
    CHECK(devices.next_available_s(0, 40.5) == 40.5);
    CHECK(devices.next_available_s(0, 41.0) == kNever);
    CHECK(devices.available(1, 0.0));
    CHECK(devices.next_available_s(1, 5.0) == kNever);
    CHECK_FALSE(devices.available(1, 1e12));
    CHECK_THROWN_MESSAGE("devices", "t.csv:5: client:", ConfigError, Devices(there_as(trace), 3, 1));
}

TEST_CASE("NextAvailableOfATraceIsTheFirstThereIs") {
    std::string text = "client,start_s,end_s\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("0,{},{}\n", 3 * i + i % 3, 3 * i + i % 3 + 1);
    const Trace trace(text);
    const Devices devices(there_as(trace), 1, 1);
    for (int step = 0; step < 125 * 8; ++step) {
        const double at_s = 0.125 * step;
        const double next = devices.next_available_s(0, at_s);
        REQUIRE(devices.available(0, at_s) == (next == at_s));
        REQUIRE((next == kNever || devices.available(0, next)));
        for (double between = at_s; between < std::min(next, 130.0); between += 0.125)
            REQUIRE_FALSE(devices.available(0, between));
    }
}

TEST_SUITE_END();
