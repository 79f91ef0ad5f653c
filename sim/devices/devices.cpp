#include "sim/devices/devices.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace fedhive::sim {

namespace {

/// Which draw of a client's it is: the round of its stream.
enum Draw : std::uint32_t { kCompute = 0, kLink = 1 };

/// How many times as slow as the section's figures each client is.
std::vector<double> slowness(const SpreadConfig& spread, std::uint64_t num_clients, std::uint64_t seed, Draw draw) {
    std::vector<double> factors(num_clients, 1.0);
    if (spread.distribution == "lognormal") {
        for (std::uint32_t client = 0; client < num_clients; ++client)
            factors[client] = std::exp(spread.sigma * Stream(seed, Purpose::Devices, draw, client).normal());
    } else if (spread.distribution == "zipf") {
        std::iota(factors.begin(), factors.end(), 1.0);
        Stream stream(seed, Purpose::Devices, draw);
        shuffle(std::span(factors), stream);  // now the ranks
        for (double& factor : factors) factor = std::pow(factor, spread.exponent);
    }
    return factors;
}

std::vector<DeviceSpeed> drawn_speeds(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed) {
    const std::vector<double> compute = slowness(config.compute.spread, num_clients, seed, kCompute);
    const std::vector<double> link = slowness(config.link.spread, num_clients, seed, kLink);
    std::vector<DeviceSpeed> speeds(num_clients);
    for (std::size_t client = 0; client < num_clients; ++client)
        speeds[client] = {.seconds_per_example = config.compute.seconds_per_example * compute[client],
                          .upload = config.link.upload / link[client],
                          .download = config.link.download / link[client]};
    return speeds;
}

}  // namespace

Devices::Devices(const DevicesConfig& config, std::uint64_t num_clients, std::uint64_t seed)
    : speeds_(config.trace.empty() ? drawn_speeds(config, num_clients, seed) : read_device_trace(config.trace, num_clients)),
      always_(config.availability.scheme == "always" ||
              (config.availability.scheme == "probability" && config.availability.probability == 1.0)),
      probability_(config.availability.probability),
      period_s_(config.availability.period_s),
      seed_(seed) {
    if (config.availability.scheme == "trace") intervals_ = read_availability_trace(config.availability.trace, num_clients);
}

double Devices::round_trip_s(std::uint32_t client, std::uint64_t examples, std::uint64_t bytes_down,
                             std::uint64_t bytes_up) const {
    const DeviceSpeed& speed = speeds_.at(client);
    return static_cast<double>(bytes_down) / speed.download + static_cast<double>(examples) * speed.seconds_per_example +
           static_cast<double>(bytes_up) / speed.upload;
}

bool Devices::available(std::uint32_t client, double at_s) const {
    if (always_) return true;
    return intervals_.empty() ? there_in(client, period_of(at_s)) : next_available_s(client, at_s) == at_s;
}

double Devices::next_available_s(std::uint32_t client, double at_s) const {
    if (always_) return at_s;
    if (!intervals_.empty()) {
        const std::vector<Interval>& own = intervals_.at(client);
        const auto next = std::partition_point(own.begin(), own.end(), [&](const Interval& one) { return one.end_s <= at_s; });
        return next == own.end() ? std::numeric_limits<double>::infinity() : std::max(at_s, next->start_s);
    }
    double period = period_of(at_s);
    if (there_in(client, period)) return at_s;
    do {
        period += 1.0;
    } while (!there_in(client, period));
    return period * period_s_;
}

bool Devices::there_in(std::uint32_t client, double period) const {
    const auto round = static_cast<std::uint32_t>(static_cast<std::uint64_t>(period));
    return Stream(seed_, Purpose::Availability, round, client).uniform() < probability_;
}

/// Period p begins at the double nearest to p * period_s; a quotient that is rounded can miss that by one.
double Devices::period_of(double at_s) const {
    FEDHIVE_CHECK(at_s >= 0.0 && at_s / period_s_ < 0x1.0p52, "at_s {}, period_s {}", at_s, period_s_);
    double period = std::floor(at_s / period_s_);
    if (period * period_s_ > at_s) period -= 1.0;
    if ((period + 1.0) * period_s_ <= at_s) period += 1.0;
    return period;
}

}  // namespace fedhive::sim
