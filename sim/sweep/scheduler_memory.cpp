#include "aggregation/base/divide_up.h"
#include "sim/modes/mode_spec.h"
#include "sim/sweep/scheduler.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

std::uint64_t beyond(std::uint64_t expected, std::uint64_t present) { return expected - std::min(expected, present); }

}  // namespace

bool workers_are_free(const SweepRun& run) {
    const ModeSpec& mode = mode_spec(run.config.mode.name);
    return !run.workers_given && mode.any_workers && (mode.same_bits == SameBits::Always || run.config.clock == Clock::Virtual);
}

void Scheduler::look_at_memory() {
    for (AtWork& at_work : at_work_)
        if (at_work.news.settled) look_at(at_work);
}

/// For a settled run, whose memory others may rely on.
void Scheduler::look_at(AtWork& at_work) {
    const std::string& key = keys_[at_work.run];
    measurements_.note_host(key, *record_.runs[at_work.run].workers, at_work.news.peak_bytes);
    const auto free = at_work.device_free && !at_work.measured ? hosts_.news()[at_work.host].device_bytes : std::nullopt;
    if (!free) return;
    measurements_.note_device(key, beyond(*at_work.device_free, *free));
    at_work.measured = true;
}

/// Memory that an ended run frees must not be subtracted from another run's measurement.
void Scheduler::free_device(const AtWork& ended) {
    const std::uint64_t bytes = on_device(ended.run) ? measurements_.device_bytes(keys_[ended.run]).value_or(0) : 0;
    for (AtWork& other : at_work_)
        if (&other != &ended && other.host == ended.host && other.device_free) *other.device_free += bytes;
}

bool Scheduler::on_device(std::size_t run) const {
    const Device device = sweep_.runs[run].config.device;
    return device == Device::Cuda || (device == Device::Auto && has_device_);
}

Site Scheduler::site(std::size_t host) const {
    const HostNews& news = hosts_.news()[host];
    Site site{.room = {news.cores, record_.jobs, news.host_bytes, news.device_bytes}};
    for (const AtWork& at_work : at_work_)
        if (at_work.host == host) site.placed.push_back(placed(at_work));
    return site;
}

Placed Scheduler::placed(const AtWork& at_work) const {
    const Waiting expected = waiting(at_work.run);
    const std::int64_t workers = *record_.runs[at_work.run].workers;
    const std::uint64_t host_bytes = expected.workers ? expected.host_bytes : scaled_bytes(expected.host_bytes, 1, workers);
    return {.cores = at_work.cores,
            .host_growth = beyond(host_bytes, at_work.news.host_bytes),
            .on_device = expected.on_device,
            .measured = at_work.measured,
            .device_growth = expected.on_device && !at_work.news.settled ? expected.device_bytes.value_or(0) : 0};
}

/// What `auto` counts as before the run's host is known.
std::int64_t Scheduler::fewest_cores() const {
    const auto fewer = [](const HostNews& a, const HostNews& b) { return a.cores < b.cores; };
    return std::min_element(hosts_.news().begin(), hosts_.news().end(), fewer)->cores;
}

Waiting Scheduler::waiting(std::size_t run) const {
    const SweepRun& planned = sweep_.runs[run];
    const RunConfig& config = planned.config;
    Waiting waiting{.run = run, .core_seconds = estimates_[run].core_seconds, .threads = config.threads};
    const std::int64_t per_slot = config.training.least_per_slot();
    waiting.most_workers = divide_up(config.cohort_size(), per_slot);
    if (!workers_are_free(planned)) waiting.workers = config.workers.value_or(fewest_cores());
    waiting.host_bytes = measurements_.host_bytes(keys_[run], waiting.workers.value_or(1), estimates_[run].host_bytes);
    waiting.on_device = on_device(run);
    if (waiting.on_device) waiting.device_bytes = measurements_.device_bytes(keys_[run]);
    return waiting;
}

}  // namespace fedhive::sim
