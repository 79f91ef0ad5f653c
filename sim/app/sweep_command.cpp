#include "sim/app/sweep_command.h"

#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/app/all_ranks.h"
#include "sim/config/sweep_config.h"
#include "sim/machine/machine.h"
#include "sim/plan/estimate.h"
#include "sim/plan/experiment.h"
#include "sim/run/run_files.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/sweep_screen.h"
#include "sim/sweep/scheduler.h"
#include "sim/sweep/sweep_record.h"

#include <algorithm>
#include <map>

namespace fedhive::sim {

namespace {

constexpr std::size_t kMostValuesShown = 8;

/// Replaces `auto` by this machine's device, as in a run's own config.yaml, so that the two can be compared.
void resolve_devices(SweepConfig& sweep) {
    std::map<Device, Device> resolved;
    for (SweepRun& run : sweep.runs) {
        const auto [device, is_new] = resolved.emplace(run.config.device, run.config.device);
        if (is_new) device->second = resolve_device({run.config, run.source});
        run.config.device = device->second;
    }
}

std::vector<LoadedConfig> configs_of(const SweepConfig& sweep) {
    std::vector<LoadedConfig> configs;
    for (const SweepRun& run : sweep.runs) configs.push_back({run.config, run.source});
    return configs;
}

std::vector<std::string> ids_of(const SweepConfig& sweep) {
    std::vector<std::string> ids;
    for (const SweepRun& run : sweep.runs) ids.push_back(run.id);
    return ids;
}

/// "0.01, 0.03, 0.1": distinct values in the order of the runs.
std::string values_of(const std::vector<std::string>& all) {
    std::vector<std::string> values;
    for (const std::string& value : all) {
        const std::string shown = value.empty() ? "–" : value;  // the key does not apply to the run
        if (std::find(values.begin(), values.end(), shown) == values.end()) values.push_back(shown);
    }
    const std::size_t more = values.size() - std::min(values.size(), kMostValuesShown);
    values.resize(values.size() - more);
    return fmt::format("{}{}", fmt::join(values, ", "), more > 0 ? fmt::format(", … and {} more", more) : "");
}

std::string axes_of(const SweepConfig& sweep) {
    std::string text;
    const auto add = [&](const std::string& key, const std::vector<std::string>& all) {
        text += fmt::format("{}{}: {}\n", text.empty() ? "axes        " : "            ", key, values_of(all));
    };
    std::vector<std::string> cases;
    for (const SweepRun& run : sweep.runs) cases.push_back(run.case_name);
    if (std::any_of(cases.begin(), cases.end(), [](const std::string& name) { return !name.empty(); })) add("case", cases);
    for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
        std::vector<std::string> all;
        for (const SweepRun& run : sweep.runs) all.push_back(run.settings[key].value);
        add(sweep.keys[key], all);
    }
    std::vector<std::string> seeds;
    for (const SweepRun& run : sweep.runs) seeds.push_back(fmt::format("{}", run.config.seed));
    add("seed", seeds);
    return text;
}

std::string stopping_of(const EarlyStoppingConfig& stopping) {
    if (stopping.rule == StoppingRule::None) return "";
    const std::string how = stopping.rule == StoppingRule::Halving ? fmt::format("one in {} continues", stopping.factor)
                                                                   : std::string("runs below the median stop");
    return fmt::format("stopping    {}: from round {} on, {}\n", word_of(stopping.rule), stopping.first_round, how);
}

std::int64_t at_a_time(const HostNews& host, std::int64_t jobs) { return jobs > 0 ? jobs : host.cores; }

/// "machine     2 cores · 20.1 GiB of memory · ", or a line for each of several machines.
std::string machines_of(const Hosts& hosts) {
    std::string text;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        const HostNews& news = hosts.news()[host];
        text += fmt::format("{}{}{} cores · {} of memory{}", host == 0 ? "machine     " : "            ",
                            hosts.size() == 1 ? "" : hosts.name(host) + " · ", news.cores, human_bytes(news.host_bytes),
                            host + 1 < hosts.size() ? "\n" : " · ");
    }
    return text;
}

/// The choices of the runs' strategies, each once.
std::string notes_of(const SweepConfig& sweep) {
    std::vector<std::string> lines;
    for (const SweepRun& run : sweep.runs)
        for (const std::string& note : run.notes)
            if (std::ranges::find(lines, note) == lines.end()) lines.push_back(note);
    std::string text;
    for (const std::string& line : lines) text += fmt::format("strategy    {}\n", line);
    return text;
}

std::string plan_of(const SweepConfig& sweep, const Estimates& estimates, const Hosts& hosts, std::int64_t jobs) {
    std::int64_t at_once = 0;
    for (const HostNews& host : hosts.news()) at_once += at_a_time(host, jobs);
    at_once = std::min(at_once, static_cast<std::int64_t>(sweep.runs.size()));
    double total = 0.0;
    RunEstimate largest;
    for (const RunEstimate& one : estimates.runs) {
        total += one.core_seconds;
        largest.core_seconds = std::max(largest.core_seconds, one.core_seconds);
        largest.host_bytes = std::max(largest.host_bytes, one.host_bytes);
    }
    const auto cores = static_cast<double>(std::min(at_once, hosts.cores()));
    return fmt::format("sweep       {} · {} runs · {}\n{}{}", sweep.name, sweep.runs.size(), sweep.file.string(),
                       axes_of(sweep) + notes_of(sweep), stopping_of(sweep.early_stopping)) +
           fmt::format("{}{} at a time · about {} each\n", machines_of(hosts), at_once, human_bytes(largest.host_bytes)) +
           fmt::format("estimate    {} · {} of one core · from a short trial of {} with different cost\n",
                       clock_time(std::max(total / cores, largest.core_seconds)), clock_time(total), estimates.tried);
}

std::string list_of_runs(const SweepConfig& sweep, const Estimates& estimates) {
    std::string text = fmt::format("\n{:>9} {:>10}  run\n", "estimate", "memory");
    for (std::size_t i = 0; i < sweep.runs.size(); ++i)
        text += fmt::format("{:>9} {:>10}  {}\n", clock_time(estimates.runs[i].core_seconds),
                            human_bytes(estimates.runs[i].host_bytes), sweep.runs[i].id);
    return text;
}

SweepConfig load(const SweepCommand& command) {
    if (command.resume.empty()) return load_sweep(command.file, command.overrides);
    const SweepRecord begun = read_sweep(command.resume);
    std::vector<std::string> overrides = begun.overrides;
    overrides.insert(overrides.end(), command.overrides.begin(), command.overrides.end());
    SweepConfig sweep = command.file.empty() ? load_sweep(begun.file, overrides) : load_sweep(command.file, command.overrides);
    keep_ids(begun, sweep);
    return sweep;
}

std::string as_typed(const SweepCommand& command) {
    return command.file.empty() ? fmt::format("fedhive sweep --resume {}", command.resume.string())
                                : fmt::format("fedhive sweep {}", command.file.string());
}

int run_here(const SweepCommand& command, Ranks& ranks, Host& own) {
    SweepConfig sweep = load(command);
    resolve_devices(sweep);
    const Estimates estimates = estimate(configs_of(sweep), ids_of(sweep));
    clients::throw_if_interrupted();
    Hosts hosts(ranks, own);
    Terminal terminal;
    const std::string plan = plan_of(sweep, estimates, hosts, command.jobs);
    int code = 0;
    if (command.dry_run) {
        terminal.say(plan + list_of_runs(sweep, estimates));
    } else {
        SweepOptions options;
        options.resume = !command.resume.empty();
        options.adopt = options.resume && !command.file.empty();
        options.jobs = command.jobs;
        options.folder = options.resume        ? command.resume
                         : command.out.empty() ? make_default_run_folder(sweep.name)
                                               : command.out;
        if (!command.quiet) terminal.say(fmt::format("{}folder      {}\n", plan, options.folder.string()));
        SweepScreen screen(options.folder, terminal);
        if (!command.quiet) options.on_tick = [&] { screen.show(); };
        code = run_sweep(sweep, estimates.runs, hosts, options);
        if (!command.quiet) screen.show_end();
    }
    hosts.leave(code);
    return code;
}

}  // namespace

int sweep_command(const SweepCommand& command) {
    clients::block_interrupts();
    return in_all_ranks(as_typed(command), [&](Ranks& ranks) {
        Host own;
        return ranks.writes() ? run_here(command, ranks, own) : serve_sweep(ranks, own);
    });
}

}  // namespace fedhive::sim
