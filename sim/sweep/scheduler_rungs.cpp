#include "sim/record/main_metric.h"
#include "sim/sweep/scheduler.h"

#include <algorithm>

namespace fedhive::sim {

std::optional<std::int64_t> Scheduler::rung() const {
    std::int64_t most_rounds = 0;
    for (const RunRecord& run : record_.runs) most_rounds = std::max(most_rounds, run.rounds);
    return next_rung(record_.early_stopping, record_.decided, most_rounds);
}

void Scheduler::pass_rungs() {
    while (interrupt_ == 0 && at_work_.empty() && record_.count(RunState::Waiting) == 0 &&
           record_.count(RunState::Paused) > 0) {
        compare_runs(rung().value());
        pause_who_is_there();
    }
}

/// Finished runs take part until they lose once: then they have a reason, as stopped runs have.
void Scheduler::compare_runs(std::int64_t rung) {
    std::vector<RunRecord*> runs;
    std::vector<Qualities> qualities;
    const clients::Metric* metric = nullptr;
    for (RunRecord& run : record_.runs) {
        const bool in_the_race = run.status == RunState::Finished && run.reason.empty();
        if (run.status != RunState::Paused && !in_the_race) continue;
        runs.push_back(&run);
        const std::filesystem::path folder = run_path(options_.folder, run.id);
        qualities.push_back(read_qualities(folder, rung));
        if (metric == nullptr) metric = read_metric(folder);
    }
    const std::vector<std::string> reasons = stopped_at(record_.early_stopping, rung, qualities, shown_metric(metric));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i]->reason = reasons[i];
        if (runs[i]->status == RunState::Paused) runs[i]->status = reasons[i].empty() ? RunState::Waiting : RunState::Stopped;
    }
    record_.decided = rung;
    save();
}

/// A resumed sweep may have runs that have reached the next rung, or a later one, before.
void Scheduler::pause_who_is_there() {
    if (!rung()) return;
    for (RunRecord& run : record_.runs) {
        if (run.status != RunState::Waiting) continue;
        const RunRemains remains = remains_of(run_path(options_.folder, run.id));
        if (remains.config_hash == run.config_hash && remains.paused_after() >= *rung()) run.status = RunState::Paused;
    }
}

}  // namespace fedhive::sim
