#include "sim/sweep/scheduler.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "sim/record/utc_time.h"

#include <algorithm>
#include <csignal>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr int kMostKills = 2;  // a run killed by others this often has failed
constexpr int kInterruptedExit = 130;

SweepRecord begin_or_take_up(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, const SweepOptions& options) {
    SweepRecord planned = plan_sweep(sweep, estimates);
    if (!options.resume) return planned;
    const SweepRecord before = read_sweep(options.folder);
    const SweepChanges changes = find_changes(before, sweep);
    if (!options.adopt && !changes.none())
        throw ConfigError(fmt::format(
            "{}: {} has changed since the sweep began: {}; to continue with the changed sweep: fedhive sweep {} --resume {}",
            options.folder.string(), sweep.file.string(), changes.describe(), sweep.file.string(), options.folder.string()));
    return take_up(options.folder, before, std::move(planned), changes);
}

}  // namespace

int run_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, Hosts& hosts, const SweepOptions& options) {
    const RunLock lock = options.resume ? claim_sweep(options.folder) : claim_new_sweep(options.folder);
    SweepRecord record = begin_or_take_up(sweep, estimates, options);
    record.jobs = options.jobs;
    record.cores = hosts.cores();
    record.hosts.clear();
    for (std::size_t host = 0; host < hosts.size() && hosts.size() > 1; ++host) record.hosts.push_back(hosts.name(host));
    write_sweep(options.folder, record);  // first: from here on the sweep can be resumed
    hosts.check_folder(options.folder);
    write_inputs(options.folder, sweep);
    return Scheduler(sweep, estimates, hosts, options, std::move(record)).run();
}

Scheduler::Scheduler(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, Hosts& hosts,
                     const SweepOptions& options, SweepRecord record)
    : sweep_(sweep),
      estimates_(estimates),
      hosts_(hosts),
      options_(options),
      record_(std::move(record)),
      has_device_(std::any_of(hosts.news().begin(), hosts.news().end(),
                              [](const HostNews& host) { return host.device_bytes.has_value(); })),
      summary_(options_.folder),
      start_ns_(now_ns()),
      wall_before_s_(record_.wall_s) {
    for (std::size_t run = 0; run < record_.runs.size(); ++run) {
        keys_.push_back(memory_key(sweep_.runs[run].config));
        const RunRecord& past = record_.runs[run];
        if (past.peak_bytes && past.workers) measurements_.note_host(keys_[run], *past.workers, *past.peak_bytes);
    }
}

int Scheduler::run() {
    try {
        run_all();
        return finish();
    } catch (const std::exception& error) {
        give_up(error.what());
        throw;
    }
}

void Scheduler::run_all() {
    for (pause_who_is_there();;) {
        hosts_.look();  // also sends the last turn's orders
        take_interrupts();
        take_news();
        collect_ended();
        pass_rungs();  // when all have reached a rung: decide which go on
        if (all_done()) return;
        start_what_fits();
        if (options_.on_tick) options_.on_tick();
        hosts_.wait();  // until an end, a signal, or the next tick
    }
}

bool Scheduler::all_done() const { return at_work_.empty() && (interrupt_ != 0 || record_.count(RunState::Waiting) == 0); }

/// The first signal asks the runs to write a checkpoint and end; the second kills them. A signal to one host counts for all.
void Scheduler::take_interrupts() {
    for (const HostNews& host : hosts_.news()) {
        hosts_.end_runs(host.haste);
        if (interrupt_ == 0) interrupt_ = host.interrupt;
    }
}

void Scheduler::take_news() {
    for (AtWork& at_work : at_work_)
        for (const RunNews& news : hosts_.news()[at_work.host].runs)
            if (news.run == at_work.run) at_work.news = news;
    look_at_memory();
}

void Scheduler::collect_ended() {
    for (auto at_work = at_work_.begin(); at_work != at_work_.end();) {
        const bool end = at_work->news.end.has_value();
        if (end) ended(*at_work, *at_work->news.end);
        at_work = end ? at_work_.erase(at_work) : std::next(at_work);
    }
}

void Scheduler::ended(const AtWork& at_work, const RunEnd& end) {
    RunRecord& run = record_.runs[at_work.run];
    run.wall_s += seconds_between(at_work.start_ns, now_ns());
    run.cpu_s += end.cpu_s;
    if (at_work.news.settled) run.peak_bytes = std::max(run.peak_bytes.value_or(0), at_work.news.peak_bytes);
    free_device(at_work);
    const bool done = !end.signalled && end.exit_status == 0;
    if (done && end.remains.finished()) {
        run.status = RunState::Finished;
    } else if (done && end.remains.paused_after() > 0) {
        run.status = RunState::Paused;
    } else if (to_be_tried_again(at_work.run, end)) {
        run.status = RunState::Waiting;
    } else {
        run.status = RunState::Failed;
        run.reason = end.reason;
    }
    save();
    summary_.write(to_json(record_));
}

bool Scheduler::to_be_tried_again(std::size_t run, const RunEnd& end) {
    const bool interrupted = end.signalled || end.exit_status == kInterruptedExit;
    return interrupted && (interrupt_ != 0 || ++kills_[run] < kMostKills);
}

void Scheduler::start_what_fits() {
    if (interrupt_ != 0) return;
    std::vector<Waiting> waiting_runs;
    for (std::size_t run = 0; run < record_.runs.size(); ++run)
        if (record_.runs[run].status == RunState::Waiting) waiting_runs.push_back(waiting(run));
    if (waiting_runs.empty()) return;
    std::vector<Site> sites;
    for (std::size_t host = 0; host < hosts_.size(); ++host) sites.push_back(site(host));
    for (const Start& next : pack(sites, std::move(waiting_runs))) start(next);
}

void Scheduler::start(const Start& start) {
    RunRecord& run = record_.runs[start.run];
    RunOrder order{std::filesystem::absolute(options_.folder), run.id, run.config_hash, {}, {}};
    if (workers_are_free(sweep_.runs[start.run])) order.workers = start.workers;
    if (rung() && *rung() < run.rounds) order.until = rung();
    hosts_.start(start.site, start.run, order);
    const auto device_free = on_device(start.run) ? hosts_.news()[start.site].device_bytes : std::nullopt;
    at_work_.push_back(
        {start.run, start.site, start.cores, device_free, now_ns(), measurements_.device_bytes(keys_[start.run]).has_value()});
    run.status = RunState::Running;
    run.workers = start.workers;
    run.host = hosts_.name(start.site);
    ++run.attempts;
    save();
}

void Scheduler::give_up(const std::string& error) {
    for (const AtWork& at_work : at_work_) record_.runs[at_work.run].status = RunState::Waiting;
    record_.exit_status = word_of(RunState::Failed) + ": " + error;
    record_.finished = utc_time();
    try {
        save();
    } catch (const std::exception&) {
        // If the disk is full or gone, this write fails, too; the first error matters more.
    }
}

int Scheduler::finish() {
    const std::size_t failed = record_.count(RunState::Failed);
    record_.exit_status = interrupt_ != 0 ? fmt::format("{} by SIG{}", word_of(RunState::Interrupted), sigabbrev_np(interrupt_))
                          : failed > 0
                              ? fmt::format("{}: {} of {} runs", word_of(RunState::Failed), failed, record_.runs.size())
                              : word_of(RunState::Finished);
    record_.finished = utc_time();
    save();
    summary_.write(to_json(record_));
    if (options_.on_tick) options_.on_tick();
    return interrupt_ != 0 ? kInterruptedExit : failed > 0 ? 1 : 0;
}

void Scheduler::save() {
    record_.wall_s = wall_before_s_ + seconds_between(start_ns_, now_ns());
    write_sweep(options_.folder, record_);
}

}  // namespace fedhive::sim
