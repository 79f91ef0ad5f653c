#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "sim/devices/availability.h"

#include <cmath>

namespace fedhive::sim {

namespace {

/// Valid for less than 2^52 periods; draws repeat after 2^32. Cost of next_s: 1 / probability draws on average.
class ByPeriods final : public Availability {
public:
    ByPeriods(double probability, double period_s, std::uint64_t seed)
        : probability_(probability), period_s_(period_s), seed_(seed) {}

    bool always() const override { return probability_ == 1.0; }
    bool at(std::uint32_t client, double at_s) const override { return always() || there_in(client, period_of(at_s)); }

    double next_s(std::uint32_t client, double at_s) const override {
        if (always()) return at_s;
        double period = period_of(at_s);
        if (there_in(client, period)) return at_s;
        do {
            period += 1.0;
        } while (!there_in(client, period));
        return period * period_s_;
    }

private:
    bool there_in(std::uint32_t client, double period) const {
        const auto round = static_cast<std::uint32_t>(static_cast<std::uint64_t>(period));
        return Stream(seed_, Purpose::Availability, round, client).uniform() < probability_;
    }

    /// Period p begins at the double nearest to p * period_s; the rounded quotient can miss that by one.
    double period_of(double at_s) const {
        FEDHIVE_CHECK(at_s >= 0.0 && at_s / period_s_ < 0x1.0p52, "at_s {}, period_s {}", at_s, period_s_);
        double period = std::floor(at_s / period_s_);
        if (period * period_s_ > at_s) period -= 1.0;
        if ((period + 1.0) * period_s_ <= at_s) period += 1.0;
        return period;
    }

    double probability_;
    double period_s_;
    std::uint64_t seed_;
};

}  // namespace

AvailabilityScheme probability() {
    return {.name = "probability",
            .summary = "each client is available or not for a whole period, drawn from the seed",
            .keys = {{.name = "probability",
                      .default_value = 0.8,
                      .range = between(0.001, 1),
                      .doc = "Probability that a client is available in a period; 1: always."},
                     {.name = "period_s",
                      .default_value = 600.0,
                      .range = between(0.001, kMost),
                      .doc = "Length of a period in simulated seconds; the periods of all clients begin at 0."}},
            .build = [](const Values& values, std::uint64_t, std::uint64_t seed) -> std::unique_ptr<Availability> {
                return std::make_unique<ByPeriods>(values.number("probability"), values.number("period_s"), seed);
            }};
}

}  // namespace fedhive::sim
