// The keys of `devices`.
#include "sim/config/fields.h"
#include "sim/devices/availability.h"
#include "sim/devices/spread.h"

namespace fedhive::sim {

// Two lines a key read better than six.
// clang-format off
namespace {

/// Begins a section if it applies or the visitor wants all; returns whether it did.
bool begin_where_wanted(Visitor& visitor, const Section& section) {
    const bool wanted = !section.when || section.when->holds() || visitor.wants_all();
    if (wanted) visitor.begin(section);
    return wanted;
}

void describe_spread(Visitor& visitor, SpreadConfig& spread) {
    visitor.field({.name = "distribution", .target = &spread.distribution, .choices = names_of(spread_catalog()),
                   .doc = "Distribution of a client's slowness factor, drawn once from the seed. It multiplies times and divides rates. " + summaries_of(spread_catalog())});
    describe_keys(visitor, "distribution", spread.distribution, spread.values, choices_of(spread_catalog()));
}

void describe_compute(Visitor& visitor, ComputeConfig& compute, const Condition& when) {
    if (!begin_where_wanted(visitor, {.name = "compute", .flow = true, .when = when, .doc = "Training speed of clients."})) return;
    describe_spread(visitor, compute.spread);
    visitor.field({.name = "seconds_per_example", .target = &compute.seconds_per_example,
                   .range = {.low = 0, .high = kMostSecondsPerExample, .low_excluded = true},
                   .doc = "Simulated seconds per example and local epoch; typically 0.0001–0.1."});
    visitor.end();
}

void describe_link(Visitor& visitor, LinkConfig& link, const Condition& when) {
    if (!begin_where_wanted(visitor, {.name = "link", .flow = true, .when = when,
                                      .doc = "Transfer speed of parameters and updates. Each client draws one factor for both directions."}))
        return;
    describe_spread(visitor, link.spread);
    visitor.field({.name = "upload", .target = &link.upload, .range = between(kLeastBytesPerSecond, kMostBytesPerSecond),
                   .doc = "Bytes per second from a client to the server, typically 1e5–1e7."});
    visitor.field({.name = "download", .target = &link.download, .range = between(kLeastBytesPerSecond, kMostBytesPerSecond),
                   .doc = "Bytes per second from the server to a client, typically a few times the upload."});
    visitor.end();
}

void describe_availability(Visitor& visitor, AvailabilityConfig& availability) {
    visitor.begin({.name = "availability", .flow = true, .doc = "When clients are available for training."});
    visitor.field({.name = "scheme", .target = &availability.scheme, .choices = names_of(availability_catalog()),
                   .doc = summaries_of(availability_catalog())});
    describe_keys(visitor, "scheme", availability.scheme, availability.values, choices_of(availability_catalog()));
    visitor.end();
}

}  // namespace

void describe_devices(Visitor& visitor, RunConfig& run) {
    const Condition is_virtual{word_of(run.clock), "clock", {word_of(Clock::Virtual)}};
    if (!begin_where_wanted(visitor, {.name = "devices", .when = is_virtual,
                                      .doc = "Simulated devices for the virtual clock: how long a round trip of a client takes, and when a client is available."}))
        return;
    visitor.field({.name = "trace", .target = &run.devices.trace, .default_note = "drawn as below",
                   .doc = "A CSV file instead of compute and link: the header `client,seconds_per_example,upload,download`, then one row for each client, in any order; relative to the config file."});
    const std::string trace = run.devices.trace.string();  // conditions refer to it until the section's end
    const Condition no_trace{trace, "trace", {}};
    describe_compute(visitor, run.devices.compute, no_trace);
    describe_link(visitor, run.devices.link, no_trace);
    describe_availability(visitor, run.devices.availability);
    visitor.end();
}
// clang-format on

}  // namespace fedhive::sim
