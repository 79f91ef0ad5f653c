// The keys of `devices`.
#include "sim/config/fields.h"

namespace fedhive::sim {

// Two lines a key read better than six.
// clang-format off
namespace {

/// Begins a section, unless it does not apply and the visitor does not want it then.
bool begin_where_wanted(Visitor& visitor, const Section& section) {
    const bool wanted = !section.when || section.when->holds() || visitor.wants_all();
    if (wanted) visitor.begin(section);
    return wanted;
}

void describe_spread(Visitor& visitor, SpreadConfig& spread) {
    const auto when = [&](const char* distribution) { return Condition{spread.distribution, "distribution", {distribution}}; };
    visitor.field({.name = "distribution", .target = &spread.distribution, .choices = {"constant", "lognormal", "zipf"},
                   .doc = "A client's slowness, which multiplies times and divides rates, drawn once from the seed. constant: 1 for all; "
                          "lognormal: exp(σ z), z standard normal, so the figures here are the median client's; zipf: i^exponent for the client "
                          "of rank i, so they are the fastest client's; ranks 1 to N are dealt anew where the number of clients changes."});
    visitor.field({.name = "sigma", .target = &spread.sigma, .range = between(0, 10), .when = when("lognormal"),
                   .doc = "Standard deviation of the slowness' logarithm, typically 0.25–1; 0 is constant (σ)."});
    visitor.field({.name = "exponent", .target = &spread.exponent, .range = between(0, 10), .when = when("zipf"),
                   .doc = "Exponent of the rank, typically 0.5–1.5; with 1 the last of N clients is N times as slow as the first; 0 is constant."});
}

void describe_compute(Visitor& visitor, ComputeConfig& compute, const Condition& when) {
    if (!begin_where_wanted(visitor, {.name = "compute", .flow = true, .when = when, .doc = "How fast clients train."})) return;
    describe_spread(visitor, compute.spread);
    visitor.field({.name = "seconds_per_example", .target = &compute.seconds_per_example,
                   .range = {.low = 0, .high = kMostSecondsPerExample, .low_excluded = true},
                   .doc = "Simulated seconds for one example in one local epoch, typically 0.0001–0.1."});
    visitor.end();
}

void describe_link(Visitor& visitor, LinkConfig& link, const Condition& when) {
    if (!begin_where_wanted(visitor, {.name = "link", .flow = true, .when = when,
                                      .doc = "How fast parameters and updates travel; one draw a client for both directions."}))
        return;
    describe_spread(visitor, link.spread);
    visitor.field({.name = "upload", .target = &link.upload, .range = between(kLeastBytesPerSecond, kMostBytesPerSecond),
                   .doc = "Bytes per second from a client to the server, typically 1e5–1e7."});
    visitor.field({.name = "download", .target = &link.download, .range = between(kLeastBytesPerSecond, kMostBytesPerSecond),
                   .doc = "Bytes per second from the server to a client, typically a few times the upload."});
    visitor.end();
}

void describe_availability(Visitor& visitor, AvailabilityConfig& availability) {
    const auto when = [&](const char* scheme) { return Condition{availability.scheme, "scheme", {scheme}}; };
    visitor.begin({.name = "availability", .flow = true, .doc = "When clients are there to be asked."});
    visitor.field({.name = "scheme", .target = &availability.scheme, .choices = {"always", "probability", "trace"},
                   .doc = "always; probability: each client is there or away for a whole period, drawn from the seed; trace: as a file says."});
    visitor.field({.name = "probability", .target = &availability.probability, .range = between(0.001, 1), .when = when("probability"),
                   .doc = "With which a client is there in a period; 1 is always."});
    visitor.field({.name = "period_s", .target = &availability.period_s, .range = between(0.001, kMost), .when = when("probability"),
                   .doc = "Simulated seconds of a period; all clients' periods begin at 0."});
    visitor.field({.name = "trace", .target = &availability.trace, .when = when("trace"), .required = true,
                   .doc = "A CSV file: the line `client,start_s,end_s`, then a row for each interval of simulated time in which a client is there, "
                          "end excluded; a client's rows in order, one at least. It does not repeat: after the last a client is gone. Relative to "
                          "the config file."});
    visitor.end();
}

}  // namespace

void describe_devices(Visitor& visitor, RunConfig& run) {
    const Condition is_virtual{run.clock, "clock", {"virtual"}};
    if (!begin_where_wanted(visitor, {.name = "devices", .when = is_virtual,
                                      .doc = "What the virtual clock knows of clients: how long a round trip takes, and when they are there at all."}))
        return;
    visitor.field({.name = "trace", .target = &run.devices.trace, .default_note = "drawn as below",
                   .doc = "A CSV file in place of compute and link: the line `client,seconds_per_example,upload,download`, then one row for each "
                          "client, in any order; relative to the config file."});
    const std::string trace = run.devices.trace.string();  // stays until the section's end, which asks the conditions again
    const Condition no_trace{trace, "trace", {}};
    describe_compute(visitor, run.devices.compute, no_trace);
    describe_link(visitor, run.devices.link, no_trace);
    describe_availability(visitor, run.devices.availability);
    visitor.end();
}
// clang-format on

}  // namespace fedhive::sim
