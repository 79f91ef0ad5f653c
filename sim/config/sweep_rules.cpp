#include "sim/config/sweep_rules.h"

#include "clients/tasks/learning_task.h"
#include "sim/config/sweep_file.h"
#include "sim/modes/mode_spec.h"

#include <fmt/ranges.h>

namespace fedhive::sim {

namespace {

/// Why a paused run may go on with other bits; empty if it cannot. docs/modes.md has the table.
std::string resume_problem(const RunConfig& run) {
    const ModeSpec& mode = mode_spec(run.mode.name);
    if (mode.same_bits == SameBits::Never) return fmt::format("mode {} does not repeat a run bit for bit", mode.name);
    const bool by_arrival =
        mode.same_bits == SameBits::BySameOrder || run.mode.quorum().value_or(run.cohort_size()) < run.cohort_size();
    if (run.clock == Clock::Wall && run.arrivals.empty() && by_arrival)
        return "on the wall clock the order of arrival differs each time; set clock: virtual";
    return "";
}

void check_run(const SweepRun& run, std::int64_t first_round, const YamlNode& section) {
    const YamlNode* given = section.find("first_round");
    const YamlNode& blamed = given != nullptr ? *given : section;
    const auto fail = [&](const std::string& problem) {
        return sweep_error(blamed, "early_stopping.first_round", fmt::format("{} {} (run '{}')", first_round, problem, run.id));
    };
    if (const std::string problem = resume_problem(run.config); !problem.empty()) {
        const YamlNode* rule = section.find("rule");
        throw sweep_error(
            rule != nullptr ? *rule : section, "early_stopping.rule",
            fmt::format("early stopping pauses and resumes runs, so a resumed run must give the same result; {} (run '{}')",
                        problem, run.id));
    }
    if (first_round >= run.config.rounds)
        throw fail(fmt::format("must be before the last round; the run has {} rounds", run.config.rounds));
    if (first_round < run.config.evaluation.every)
        throw fail(fmt::format("is before the first evaluation, so there is no result to compare; evaluation.every is {}",
                               run.config.evaluation.every));
}

}  // namespace

void check_targets(const SweepConfig& sweep, const YamlNode& root) {
    std::string first;
    for (const auto& [metric, target] : sweep.targets) {
        if (!target) continue;
        const std::string key = fmt::format("target_{}", metric);
        if (!first.empty())
            throw sweep_error(*root.find(key), key,
                              fmt::format("a sweep has only one target, but {} is given too; keep one of them", first));
        first = key;
        for (const SweepRun& run : sweep.runs) {
            const clients::LearningTask& task = clients::learning_task(run.config.task);
            const std::vector<clients::Metric> metrics = task.metrics_with(run.config.evaluation.metrics);
            if (std::ranges::find(metrics, metric, &clients::Metric::name) != metrics.end()) continue;
            throw sweep_error(*root.find(key), key,
                              fmt::format("runs of task '{}' have no {} (run '{}'); allowed: target_{}", task.name, metric,
                                          run.id, fmt::join(names_of(metrics), ", target_")));
        }
    }
}

void check_early_stopping(const SweepConfig& sweep, const YamlNode& root) {
    if (sweep.early_stopping.rule == StoppingRule::None) return;
    for (const SweepRun& run : sweep.runs) check_run(run, sweep.early_stopping.first_round, *root.find("early_stopping"));
}

}  // namespace fedhive::sim
