#include "sim/app/commands.h"

#include "aggregation/base/error.h"
#include "clients/models/model_plan.h"
#include "clients/protocol/watcher.h"
#include "sim/app/all_ranks.h"
#include "sim/app/compare_method.h"
#include "sim/app/script_command.h"
#include "sim/app/show_method.h"
#include "sim/app/show_methods.h"
#include "sim/app/show_model.h"
#include "sim/app/show_partition.h"
#include "sim/app/show_privacy.h"
#include "sim/config/load_config.h"
#include "sim/config/method_catalog.h"
#include "sim/config/method_file.h"
#include "sim/config/named_methods.h"
#include "sim/config/suggest.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/ranks/launch.h"
#include "sim/round/divergence.h"
#include "sim/run/checkpointer.h"
#include "sim/run/evaluate.h"
#include "sim/run/partition_table.h"
#include "sim/run/rank_agreement.h"
#include "sim/run/reporter.h"
#include "sim/run/result_tables.h"
#include "sim/run/resume.h"
#include "sim/run/round_loop.h"
#include "sim/run/run_files.h"
#include "sim/run/run_folder.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/terminal.h"
#include "sim/state/model_file.h"
#include "sim/strategies/strategy.h"
#include "sim/workers/mps.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <sstream>

namespace fedhive::sim {

namespace {

using Json = nlohmann::ordered_json;

/// File names need not be UTF-8.
void print(const Json& object) { fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace)); }

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Returns whether no round is left. The fleet lives inside: no worker is left on return.
bool run_with_fleet(Experiment& run, Reporter& reporter, Checkpointer& checkpoints, const std::filesystem::path& logs,
                    std::int64_t until) {
    FleetOptions options = run.fleet_options();
    options.logs = logs;
    std::optional<MpsDaemon> mps;  // outlives its clients
    if (run.resources.workers.mps) {
        options.worker_environment = mps.emplace().environment();
        options.renew_mps = [&mps] { return mps.emplace().environment(); };
    }
    try {
        Fleet fleet(options, run.worker_plan, *run.resources.arena, run.data.dataset);
        const Console::LiveLine live = reporter.start_rounds(fleet);
        for (const InFlight& client : std::vector(run.server.state.in_flight))
            fleet.take_up(client, run.server.state, run.server.strategy);
        return run_rounds(run, fleet, reporter, checkpoints, until);
    } catch (const std::exception&) {
        run.ranks.announce();  // before this rank works on its files
        throw;
    }
}

/// `over`: no round is left, only the run's end must be written.
int run_to_the_end(Experiment& run, Reporter& reporter, Checkpointer& checkpoints, const RunFolder* folder, bool over,
                   std::int64_t until) {
    const std::filesystem::path logs = folder == nullptr ? std::filesystem::path() : folder->logs();
    try {
        if (!over && run.server.state.round < until) over = run_with_fleet(run, reporter, checkpoints, logs, until);
        checkpoints.write_if_older();
        if (over)
            reporter.finish();
        else
            reporter.paused();
        return 0;
    } catch (const clients::Interrupted& interrupted) {
        if (interrupted.consistent) checkpoints.write_if_older();
        reporter.interrupted(fmt::format("SIG{}", sigabbrev_np(interrupted.signal_number)));
        return 130;
    }
}

/// True if a resume from a checkpoint would compute the same numbers and fail again.
bool would_come_again(const std::exception& error) {
    const auto* aborted = dynamic_cast<const RunAborted*>(&error);
    return dynamic_cast<const Diverged*>(&error) != nullptr ||
           (aborted != nullptr && aborted->failure.kind == clients::FailureKind::NonFinite);
}

int run_and_record(Experiment& run, Reporter& reporter, Checkpointer& checkpoints, const RunFolder* folder, bool over,
                   std::int64_t until) {
    try {
        return run_to_the_end(run, reporter, checkpoints, folder, over, until);
    } catch (const std::exception& error) {
        reporter.failed(error.what(), would_come_again(error));
        throw;
    }
}

/// The new run's folder; with several ranks, only in rank 0.
std::optional<RunFolder> new_folder(const Experiment& run, const RunOptions& options) {
    if (!run.ranks.writes()) return std::nullopt;
    const bool from_file = !run.config.model.init.empty();
    return std::optional<RunFolder>(
        std::in_place,
        claim_new_folder(options.out.empty() ? make_default_run_folder(run.config.name) : options.out, options.overwrite),
        run.config, from_file ? checkpoint_of(run, {}, {}).pieces.whole() : "", run.data.owners);
}

int start_run(const RunOptions& options, Ranks& ranks) {
    const LoadedConfig loaded = load_config(options.config, options.overrides);
    Experiment run = Experiment::to_run(loaded, options.until, ranks, options.out.empty() ? kRunsFolder : options.out);
    compare_ranks(run);
    std::optional<RunFolder> folder = new_folder(run, options);
    RunFolder* files = folder ? &*folder : nullptr;
    Reporter reporter(run, files, options.quiet);
    reporter.start();
    Checkpointer checkpoints(run, files, reporter, std::nullopt);
    return run_and_record(run, reporter, checkpoints, files, false, options.until);
}

int resume_run(const RunOptions& options, Ranks& ranks) {
    std::optional<RunLock> lock;
    std::optional<Resumption> found;
    if (ranks.writes()) {
        lock.emplace(claim_run(options.resume));
        found = find_resumption({options.resume, options.config, options.overrides});
    }
    Resumption resumption = share_resumption(ranks, std::move(found));
    if (!resumption.finished.empty()) {
        if (!options.quiet && ranks.writes()) fmt::print("{}\n", escaped(resumption.finished));
        return 0;
    }
    const auto begin = [&](Experiment& begun) { take_up(begun, resumption, options.allow_other_bits); };
    Experiment run = Experiment::to_resume(resumption.loaded, begin, options.until, resumption.workers, ranks, options.resume);
    compare_ranks(run);
    std::optional<RunFolder> folder;
    if (lock) folder.emplace(std::move(*lock), run.config, run.data.owners);
    RunFolder* files = folder ? &*folder : nullptr;
    if (files != nullptr && resumption.config_changed) files->write_config(run.config);
    Reporter reporter(run, files, options.quiet, resumption.past);
    reporter.resume(resumption.point);
    const auto newest = resumption.from ? std::optional(resumption.point.round) : std::nullopt;
    resumption.from.reset();  // the file's bytes are no longer needed
    Checkpointer checkpoints(run, files, reporter, newest);
    return run_and_record(run, reporter, checkpoints, files, resumption.over, options.until);
}

/// The command as typed, for messages.
std::string as_typed(const RunOptions& options) {
    return options.resume.empty() ? fmt::format("fedhive run {}", options.config.string())
                                  : fmt::format("fedhive run --resume {}", options.resume.string());
}

/// The strategy's choices and the warnings, "warning: data.train: …", one line each.
std::string lines_below(const Experiment& run) {
    std::string lines;
    for (const std::string& note : run.notes) lines += fmt::format("strategy: {}\n", escaped(note));
    for (const std::string& warning : run.warnings()) lines += fmt::format("warning: {}\n", escaped(warning));
    return lines;
}

int validate(const ValidateOptions& options, Ranks& ranks) {
    if (options.ranks != 0 && !ranks.is_alone() && options.ranks != ranks.size())
        throw ConfigError(
            fmt::format("--ranks {}: {} ranks were started; remove --ranks, or start one rank", options.ranks, ranks.size()));
    const std::uint32_t num_ranks = options.ranks == 0 ? ranks.size() : options.ranks;
    const LoadedConfig loaded = load_config(options.config, options.overrides);
    const Experiment run = Experiment::to_inspect(loaded, ranks, num_ranks);
    compare_ranks(run);
    if (!ranks.writes()) return 0;
    const clients::DatasetMap& data = run.data.dataset.map();
    if (options.json)
        print(Json{{"valid", true},
                   {"file", options.config.string()},
                   {"num_parameters", run.model.layout.num_values()},
                   {"num_clients", data.num_clients},
                   {"num_train", data.num_train},
                   {"num_test", data.num_test},
                   {"task", loaded.run.task},
                   {"num_classes", data.num_classes},
                   {"ranks", num_ranks},
                   {"notes", run.notes},
                   {"warnings", run.warnings()},
                   {"mistakes", Json::array()}});
    else
        fmt::print("{}: valid; {} parameters, {} clients, {} training examples{}\n{}", escaped(options.config.string()),
                   run.model.layout.num_parameters(), data.num_clients, data.num_train,
                   num_ranks == 1 ? "" : fmt::format(", {} ranks", num_ranks), lines_below(run));
    return 0;
}

}  // namespace

int run_command(const RunOptions& options) {
    clients::block_interrupts();
    return in_all_ranks(as_typed(options), [&](Ranks& ranks) {
        return options.resume.empty() ? start_run(options, ranks) : resume_run(options, ranks);
    });
}

int validate_command(const ValidateOptions& options) {
    if (find_launch()) clients::block_interrupts();
    try {
        return in_all_ranks(fmt::format("fedhive validate {}", options.config.string()),
                            [&](Ranks& ranks) { return validate(options, ranks); });
    } catch (const ConfigError& error) {
        if (!options.json) throw;
        print(Json{{"valid", false}, {"file", options.config.string()}, {"mistakes", lines_of(error.what())}});
        return 2;
    }
}

int show_config_command(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
    fmt::print("{}", to_yaml(load_config(config, overrides).run));
    return 0;
}

int methods_command(const std::string& name, const std::string& page) {
    const auto box_of = [](const CatalogedMethod& method) {
        if (!method.file.empty()) return method_text(*load_method(method.file));
        if (method.where != "strategy.name") return std::string();
        const StrategySpec& spec = strategy_spec(method.name);
        const auto& weights = aggregation::aggregator_spec(spec.aggregator);
        const bool as_fedavg =
            local_rule_spec(spec.local).formulas == nullptr && spec.server == "sgd" && weights.lines == nullptr;
        if (as_fedavg) return std::string();
        return box_text(make_strategy(method.name, Weighting::Uniform).on_server, weights);
    };
    if (const auto family = from_word<MethodFamily>(page)) {
        fmt::print("{}", family_page(*family, method_catalog(), box_of));
        return 0;
    }
    if (name.empty()) {
        fmt::print("{}", catalog_text(method_catalog()));
        return 0;
    }
    std::string text;
    for (const CatalogedMethod& method : methods_called(name)) {
        text += (text.empty() ? "" : "\n") + cataloged_method_text(method) + box_of(method);
    }
    fmt::print("{}", text);
    return 0;
}

int method_command(const std::filesystem::path& given, bool compares) {
    const NamedMethod* named = std::filesystem::exists(given) ? nullptr : named_method(given.string());
    const std::shared_ptr<const Method> method = load_method(named != nullptr ? named->file : given);
    fmt::print("{}", method_text(*method));
    if (!compares) return 0;
    const MethodComparison compared = compare_with_python(*method);
    fmt::print("\nin Python, on drawn values\n{}", compared.text);
    return compared.is_equal ? 0 : 1;
}

int privacy_command(const PrivacyOptions& options) {
    const PrivacyQuestion question = privacy_question(options);
    fmt::print("{}", privacy_text(question));
    std::fflush(stdout);  // before the script writes
    if (has_script("scripts/privacy")) script_command("scripts/privacy", privacy_arguments(question));
    return 0;
}

int show_model_command(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
    fmt::print("{}", model_table(load_config(config, overrides)));
    return 0;
}

int partition_command(const PartitionOptions& options) {
    const std::string ending = options.plot.extension().string();
    if (!options.plot.empty() && ending != ".svg" && ending != ".png" && ending != ".pdf")
        throw ConfigError(fmt::format("--plot {}: not a supported format; allowed: a name that ends in .svg, .png or .pdf",
                                      options.plot.string()));
    const LoadedConfig loaded = load_config(options.config, options.overrides);
    const ExperimentData data = load_data(loaded, aggregation::MemorySpace::Host);
    fmt::print("{}", partition_table(loaded.run, data));
    std::filesystem::path table = options.csv;
    if (table.empty() && !options.plot.empty()) table = std::filesystem::path(options.plot).replace_extension(".csv");
    if (table.empty()) return 0;
    try {
        write_partition(table, data.dataset, loaded.run.data.skew.resolved(), data.owners);
    } catch (const Fault& problem) {
        throw ConfigError(fmt::format("{}; name a file in a writable folder", problem.what()));
    }
    fmt::print("written: {}\n", escaped(table.string()));
    if (options.plot.empty()) return 0;
    std::fflush(stdout);
    script_command("scripts/report", {"--partition", std::filesystem::absolute(table).string(),
                                      std::filesystem::absolute(options.plot).string()});
}

int evaluate_command(const std::filesystem::path& run_folder, bool json) {
    clients::block_interrupts();
    if (!std::filesystem::exists(run_folder / "config.yaml"))
        throw ConfigError(fmt::format("{}: is not the folder of a run (it has no config.yaml){}", run_folder.string(),
                                      std::filesystem::exists(run_folder) ? "" : nearest_folder(run_folder)));
    const LoadedConfig loaded = load_config(run_folder / "config.yaml", {"workers=auto"});
    if (loaded.run.model.has_local_part())
        throw loaded.source->error("model.local",
                                   "the run has only the clients' own models, which are in its checkpoints and not in "
                                   "model.safetensors; fairness.csv has their results");
    FirstModel found;
    const Experiment run = Experiment::to_evaluate(loaded, [&](const Experiment& begun) {
        found = parted(begun.model.spec, read_model(run_folder / "model.safetensors", clients::whole_layout(begun.model.spec),
                                                    clients::other_tensors(begun.model.spec)));
        begun.server.begin_with(found);
    });
    Fleet fleet(run.fleet_options(), run.worker_plan, *run.resources.arena, run.data.dataset);
    const Metrics metrics = evaluate(fleet, run);
    const std::string hash = model_sha256(run.model.layout, found.parameters);
    if (json) {
        Json said{{"run", run_folder.string()}, {"test_loss", metrics.test_loss}};
        for (const NamedMetric& metric : metrics.of_task) said["test_" + metric.name] = metric.value;
        said["num_test"] = run.data.dataset.map().num_test;
        said["model_sha256"] = hash;
        print(said);
        return 0;
    }
    fmt::print("test_loss {}\n", metrics.test_loss);
    for (const NamedMetric& metric : metrics.of_task) fmt::print("test_{} {}\n", metric.name, metric.value);
    fmt::print("model_sha256 {}\n", hash);
    return 0;
}

int replay_command(const ReplayOptions& options) {
    clients::block_interrupts();
    const bool same = replay(options, [](const std::string& line) {
        fmt::print("{}\n", escaped(line));
        std::fflush(stdout);
    });
    return same ? 0 : 1;
}

int reference_command() {
    fmt::print("{}", reference_markdown());
    return 0;
}

int columns_command(bool json) {
    fmt::print("{}", json ? columns_json().dump(1) + "\n" : columns_markdown());
    return 0;
}

}  // namespace fedhive::sim
