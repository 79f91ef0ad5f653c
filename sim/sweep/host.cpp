#include "sim/sweep/host.h"

#include "aggregation/base/clock.h"
#include "aggregation/memory/shared_segment.h"
#include "sim/machine/machine.h"
#include "sim/ranks/launch.h"
#include "sim/sweep/process_memory.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr double kLookEveryS = 0.5;
constexpr double kYoungS = 2.0;  // seconds; a younger process is examined at every look, since it may end soon

/// "killed by SIGKILL", or the run's last message.
std::string reason_of(const clients::ChildProcess::End& end, const fs::path& log, std::uint64_t log_begin) {
    if (end.signalled) return end.text.substr(0, end.text.find(" ("));
    const std::string said = last_line(log, log_begin);
    return said.empty() ? end.text : said;
}

std::uint64_t size_of(const fs::path& file) {
    std::error_code missing;
    const auto size = fs::file_size(file, missing);
    return missing ? 0 : size;
}

}  // namespace

Host::Host(HostOptions options) : options_(std::move(options)), cores_(this_machine().cores) {}

void Host::start(std::size_t run, const RunOrder& order) {
    const fs::path folder = run_path(order.sweep, order.id);
    const fs::path log = log_path(order.sweep, order.id);
    clients::SpawnOptions options;
    options.executable = options_.executable;
    options.arguments = run_arguments(order);
    options.environment = alone_environment();
    options.log = log;
    options.own_group = true;
    at_work_.push_back({run, folder, log, size_of(log), count_rounds(folder), clients::ChildProcess(options), now_ns()});
    at_work_.back().news.run = run;
    if (haste_ != Haste::None) tell(at_work_.back());  // haste was ordered before this run was known here
}

void Host::end_runs(Haste haste) {
    if (haste <= haste_) return;
    haste_ = haste;
    for (const AtWork& at_work : at_work_) tell(at_work);
}

void Host::tell(const AtWork& at_work) const { kill(at_work.process.pid(), haste_ == Haste::Kill ? SIGKILL : SIGINT); }

void Host::take_signals() {
    while (const int number = signals_.take()) {
        asked_ = interrupt_ == 0 ? Haste::Interrupt : Haste::Kill;
        if (interrupt_ == 0) interrupt_ = number;
        end_runs(asked_);
    }
}

/// A run is taken to grow until it has finished its first round; only then others may rely on its memory.
void Host::look_at(AtWork& at_work) {
    const std::int64_t now = now_ns();
    const bool young = seconds_between(at_work.start_ns, now) < kYoungS;
    if (!young && seconds_between(at_work.looked_ns, now) < kLookEveryS) return;
    at_work.looked_ns = now;
    RunNews& news = at_work.news;
    news.host_bytes = tree_memory(at_work.process.pid());
    news.peak_bytes = std::max(news.peak_bytes, news.host_bytes);
    if (!news.settled) news.settled = count_rounds(at_work.folder) > at_work.rounds_before;
}

HostNews Host::look() {
    take_signals();
    HostNews news{.cores = cores_,
                  .host_bytes = aggregation::available_memory_bytes(),
                  .device_bytes = options_.free_device_memory(),
                  .interrupt = interrupt_,
                  .haste = asked_};
    for (auto at_work = at_work_.begin(); at_work != at_work_.end();) {
        const auto end = at_work->process.end();
        if (end)
            at_work->news.end = RunEnd{end->signalled, end->exit_status, end->cpu_s, remains_of(at_work->folder),
                                       reason_of(*end, at_work->log, at_work->log_begin)};
        else
            look_at(*at_work);
        news.runs.push_back(at_work->news);
        at_work = end ? at_work_.erase(at_work) : std::next(at_work);
    }
    return news;
}

void Host::wait(int milliseconds) const {
    std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
    for (const AtWork& at_work : at_work_) polled.push_back({at_work.process.pidfd(), POLLIN, 0});
    poll(polled.data(), polled.size(), milliseconds);
}

}  // namespace fedhive::sim
