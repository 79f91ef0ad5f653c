#include "sim/app/cli.h"

#include "clients/trainers/engine.h"
#include "clients/worker/worker.h"
#include "sim/app/commands.h"
#include "sim/app/completion.h"
#include "sim/app/named_config.h"
#include "sim/app/script_command.h"
#include "sim/app/sweep_command.h"
#include "sim/app/usage.h"
#include "sim/config/method_catalog.h"
#include "sim/machine/ipc_probe.h"
#include "sim/privacy/accountant.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/terminal.h"
#include "sim/screen/watch.h"
#include "sim/version.h"
#include "sim/workers/mps.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <sstream>

namespace fedhive::sim {

namespace {

/// Values of the options of all subcommands.
struct Arguments {
    int exit_code = 0;
    RunOptions run;
    SweepCommand sweep;
    ReplayOptions replay;
    std::filesystem::path method;
    std::string method_name, method_family;
    bool compares = false;  // the method, with Python
    PrivacyOptions privacy;
    std::filesystem::path folder;
    std::filesystem::path init;
    std::filesystem::path arrivals;
    std::filesystem::path csv;
    std::filesystem::path plot;
    std::string shell;
    std::uint32_t ranks = 0;
    bool json = false;
    // For processes that fedhive starts itself.
    int control = -1;
    std::uint32_t index = 0;
    int coordinator = 0;
    std::string handle;
    std::size_t num_floats = 0;
    int lifeline = -1;
    int answer = -1;
    int lock = -1;
};

/// Rejects an empty name, which is an unset shell variable rather than an omitted option.
CLI::Validator named() {
    return {[](const std::string& name) { return name.empty() ? "is empty; expected a name" : ""; }, ""};
}

CLI::Option* add_file(CLI::App* command, const char* name, std::filesystem::path& file, const char* what) {
    return command->add_option(name, file, what)->type_name("FILE")->check(named());
}

CLI::Option* add_config(CLI::App* command, RunOptions& run) {
    CLI::Option* config =
        add_file(command, "config", run.config,
                 "the experiment, a YAML file, or the name of one that comes with fedhive, such as quickstart")
            ->transform(named_config);
    command->add_option("--set", run.overrides, "change a key, such as training.batch_size=64; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    return config;
}

CLI::Option* add_folder(CLI::App* command, const char* name, std::filesystem::path& folder, const char* what) {
    return command->add_option(name, folder, what)->type_name("DIR")->check(named());
}

void add_json(CLI::App* command, Arguments& given) {
    command->add_flag("--json", given.json, "print one JSON object instead of lines for people");
}

void add_run(CLI::App& app, Arguments& given) {
    RunOptions& run = given.run;
    CLI::App* command = app.add_subcommand("run", "run an experiment");
    add_config(command, run);
    CLI::Option* out =
        add_folder(command, "--out", run.out, "folder for the results; default: results/runs/<name>-<date>-<time>");
    CLI::Option* overwrite =
        command->add_flag("--overwrite", run.overwrite, "replace the run in the folder if it is not empty");
    CLI::Option* first =
        add_file(command, "--init", given.init, "begin with this safetensors model; same as --set model.init=FILE");
    CLI::Option* log = add_file(command, "--arrivals", given.arrivals,
                                "replay the order in arrivals.csv of a run on the wall clock; same as --set arrivals=FILE");
    CLI::Option* resume = add_folder(command, "--resume", run.resume, "resume the run in this folder; needs no config")
                              ->excludes(out)
                              ->excludes(overwrite)
                              ->excludes(first)
                              ->excludes(log);
    command->add_flag("--allow-other-bits", run.allow_other_bits, "resume even if LibTorch, CPU capability or device differ")
        ->needs(resume);
    command->add_option("--until", run.until, "pause after this round with a checkpoint; continue with --resume")
        ->type_name("ROUND")
        ->check(CLI::Range(std::int64_t{1}, kNoRound).description("1 or more"));
    command->add_flag("--quiet", run.quiet, "print only errors");
    command->callback([&given, &run] {
        if (run.config.empty() && run.resume.empty()) throw CLI::RequiredError("config, or --resume DIR,");
        // Quoted as in YAML, so that any file name works.
        if (!given.init.empty()) run.overrides.push_back("model.init=" + nlohmann::json(given.init.string()).dump());
        if (!given.arrivals.empty()) run.overrides.push_back("arrivals=" + nlohmann::json(given.arrivals.string()).dump());
        given.exit_code = run_command(run);
    });
}

void add_sweep(CLI::App& app, Arguments& given) {
    SweepCommand& sweep = given.sweep;
    CLI::App* command = app.add_subcommand("sweep", "run all experiments of a sweep file");
    add_file(command, "file", sweep.file, "the sweep, a YAML file with a base config and the keys that vary")
        ->transform(named_config);
    command->add_option("--set", sweep.overrides, "change a key of the base, such as rounds=5; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    CLI::Option* out =
        add_folder(command, "--out", sweep.out, "folder for the results; default: results/runs/<name>-<date>-<time>");
    add_folder(command, "--resume", sweep.resume, "resume the sweep in this folder; with a file: with the runs of that file")
        ->excludes(out);
    command->add_option("--jobs", sweep.jobs, "number of runs at a time on each host; default: as cores and memory allow")
        ->type_name("N")
        ->check(CLI::Range(1, 10000).description("1 to 10000"));
    command->add_flag("--dry-run", sweep.dry_run, "print the runs and the estimated time without starting them");
    command->add_flag("--quiet", sweep.quiet, "print only errors");
    command->callback([&given, &sweep] {
        if (sweep.file.empty() && sweep.resume.empty()) throw CLI::RequiredError("file, or --resume DIR,");
        given.exit_code = sweep_command(sweep);
    });
}

/// The script has its own arguments and help.
void add_script(CLI::App& app, const std::string& name, const std::string& script, const std::string& description) {
    CLI::App* command = app.add_subcommand(name, description)->prefix_command();
    command->set_help_flag("");
    command->callback([command, script] { script_command(script, command->remaining()); });
}

void add_config_commands(CLI::App& app, Arguments& given) {
    CLI::App* validate = app.add_subcommand("validate", "check a config, its data and its memory without running it");
    add_config(validate, given.run)->required();
    add_json(validate, given);
    validate->add_option("--ranks", given.ranks, "also check whether this number of ranks can run it with mpirun")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description("1 to 100000"));
    validate->callback([&given] {
        given.exit_code = validate_command({given.run.config, given.run.overrides, given.ranks, given.json});
    });

    CLI::App* show = app.add_subcommand("show-config", "print the resolved config, which is a valid config itself");
    add_config(show, given.run)->required();
    show->callback([&given] { given.exit_code = show_config_command(given.run.config, given.run.overrides); });

    CLI::App* model =
        app.add_subcommand("show-model", "print the model of a config layer by layer, with shapes and parameters");
    add_config(model, given.run)->required();
    model->callback([&given] { given.exit_code = show_model_command(given.run.config, given.run.overrides); });

    CLI::App* partition = app.add_subcommand("partition", "print the number of examples of each label on each client");
    add_config(partition, given.run)->required();
    add_file(partition, "--csv", given.csv, "also write it as partition.csv, as a run does");
    add_file(partition, "--plot", given.plot, "also draw it as SVG, PNG or PDF; without --csv, its table is written beside it");
    partition->callback([&given] {
        given.exit_code = partition_command({given.run.config, given.run.overrides, given.csv, given.plot});
    });
}

void add_method(CLI::App& app, Arguments& given) {
    CLI::App* methods =
        app.add_subcommand("methods", "list the methods of papers that fedhive runs, by purpose; or print one of them");
    methods->add_option("name", given.method_name, "a method's name: what it does, what a config says, its keys and formulas")
        ->type_name("NAME");
    methods->add_option("--page", given.method_family, "print the methods of a family as a page of docs/methods, in Markdown")
        ->check(CLI::IsMember(words_of<MethodFamily>()));
    methods->callback([&given] { given.exit_code = methods_command(given.method_name, given.method_family); });
    CLI::App* command = app.add_subcommand("method", "print a method file as it is read: its keys, memories and formulas");
    add_file(command, "file", given.method,
             "a .py or .yaml file, as strategy.file names it, or the name of one that comes with fedhive")
        ->required();
    command->add_flag("--python", given.compares,
                      "also run its functions in Python, on drawn values, and compare; needs NumPy");
    command->callback([&given] { given.exit_code = method_command(given.method, given.compares); });
}

/// A number in that range.
CLI::Validator within_range(const KeyRange& range) {
    return {[range](const std::string& text) {
                double number = 0.0;
                const bool valid = CLI::detail::lexical_cast(text, number) && range.contains(number);
                return valid ? "" : fmt::format("{} is not allowed; expected a number {}", text, range.text());
            },
            ""};
}

void add_privacy(CLI::App& app, Arguments& given) {
    PrivacyOptions& privacy = given.privacy;
    CLI::App* command = app.add_subcommand("privacy", "print the ε of a config, or of numbers, or the noise for a given ε");
    add_file(command, "config", privacy.config, "the experiment, a YAML file; options replace what it says")
        ->transform(named_config);
    command->add_option("--set", privacy.overrides, "change a key, such as training.cohort=64; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    CLI::Option* multiplier =
        command->add_option("--multiplier", privacy.multiplier, "standard deviation of the noise in a sum, in clipping norms")
            ->check(within_range(between(kLeastMultiplier, kWide)));
    command->add_option("--epsilon", privacy.epsilon, "instead of the multiplier: print the smallest one for this ε")
        ->check(within_range(above(0)))
        ->excludes(multiplier);
    command->add_option("--share", privacy.share, "share of the clients that are in a round")->check(within_range(fraction()));
    command->add_option("--rounds", privacy.rounds, "number of server steps")
        ->check(CLI::Range(std::int64_t{1}, kNoRound).description("1 or more"));
    command->add_option("--delta", privacy.delta, "probability with which ε may be exceeded")
        ->check(within_range({.low = 0, .high = 1, .low_excluded = true, .high_excluded = true}));
    command->callback([&given, &privacy] { given.exit_code = privacy_command(privacy); });
}

void add_folder_commands(CLI::App& app, Arguments& given) {
    CLI::App* evaluate = app.add_subcommand("evaluate", "print the metrics of a run's saved model");
    add_folder(evaluate, "run", given.folder, "folder of a finished run")->required();
    add_json(evaluate, given);
    evaluate->callback([&given] { given.exit_code = evaluate_command(given.folder, given.json); });

    CLI::App* watch = app.add_subcommand("watch", "show the progress of a run or sweep from another terminal until it ends");
    add_folder(watch, "folder", given.folder, "folder of a run or sweep")->required();
    watch->callback([&given] { given.exit_code = watch_command(given.folder); });

    ReplayOptions& options = given.replay;
    CLI::App* replay = app.add_subcommand("replay", "repeat the training of one client in one round of a run, step by step");
    add_folder(replay, "run", options.folder, "folder of a run")->required();
    replay->add_option("--round", options.round, "round number as in clients.csv, from 1")->required();
    replay->add_option("--client", options.client, "client number as in clients.csv, from 0")->required();
    replay->callback([&given, &options] { given.exit_code = replay_command(options); });
}

void add_facts(CLI::App& app, Arguments& given) {
    app.add_subcommand("reference", "print the reference of all config keys, in Markdown")->callback([&given] {
        given.exit_code = reference_command();
    });
    CLI::App* columns = app.add_subcommand("columns", "print the columns of all result tables, in Markdown");
    add_json(columns, given);
    columns->callback([&given] { given.exit_code = columns_command(given.json); });
    CLI::App* doctor = app.add_subcommand("doctor", "show what this machine supports: cores, memory, LibTorch, CUDA, IPC");
    add_json(doctor, given);
    doctor->callback([&given] { given.exit_code = doctor_command(given.json); });

    CLI::App* completion = app.add_subcommand("completion", "print a script for shell completion of fedhive's arguments");
    completion->add_option("shell", given.shell, "bash, zsh or fish; the first lines of the script say where to put it")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
    completion->callback([&app, &given] { fmt::print("{}", completion_script(app, given.shell)); });
}

/// Subcommands that only fedhive itself starts; not listed.
void add_hidden(CLI::App& app, Arguments& given) {
    CLI::App* worker = app.add_subcommand("worker")->group("");
    worker->add_option("--control", given.control)->required();
    worker->add_option("--index", given.index)->required();
    worker->add_option("--coordinator", given.coordinator)->required();
    worker->callback([&given] {
        given.exit_code = clients::run_worker(given.control, given.index, given.coordinator, clients::make_trainer);
    });

    CLI::App* probe = app.add_subcommand("ipc-probe")->group("");
    probe->add_option("handle", given.handle)->required();
    probe->add_option("floats", given.num_floats)->required();
    probe->callback([&given] { given.exit_code = ipc_probe_command(given.handle, given.num_floats); });

    CLI::App* keeper = app.add_subcommand("mps-keeper")->group("");
    keeper->add_option("--folder", given.folder)->required();
    keeper->add_option("--lifeline", given.lifeline)->required();
    keeper->add_option("--answer", given.answer)->required();
    keeper->add_option("--lock", given.lock)->required();
    keeper->callback(
        [&given] { given.exit_code = mps_keeper_command(given.folder, given.lifeline, given.answer, given.lock); });
}

/// Exit code 2 for everything a user can fix; CLI11 uses codes above 100 for bad usage.
int refuse(const std::string& problem) {
    Terminal(STDERR_FILENO).say(escaped("fedhive: " + problem));
    return 2;
}

/// -h and --version, which CLI11 reports as errors, too.
int answer(const CLI::App& app, const CLI::ParseError& request) {
    if (request.get_name() != "CallForHelp") return app.exit(request);
    std::string text = app.help();
    if (text.ends_with('\n')) text.pop_back();
    Terminal().say(text);
    return 0;
}

}  // namespace

int run_cli(int argc, char** argv) {
    CLI::App app{"fedhive: simulates federated learning with many processes on one machine"};
    app.set_version_flag("--version", std::string("fedhive ") + kVersion + " (" + kCommit + ")");
    app.require_subcommand(1);
    Arguments given;
    add_run(app, given);
    add_sweep(app, given);
    add_script(app, "report", "scripts/report", "write a report of runs and sweeps; see fedhive report -h");
    add_script(app, "data", "scripts/data", "fetch a data set that the configs use; see fedhive data -h");
    add_script(app, "bench", "tools/bench", "compare the speed with other programs; see fedhive bench -h");
    add_config_commands(app, given);
    add_method(app, given);
    add_privacy(app, given);
    add_folder_commands(app, given);
    add_facts(app, given);
    add_hidden(app, given);

    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string problem = command_problem(app, arguments);
    if (!problem.empty()) return refuse(problem);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return error.get_exit_code() == 0 ? answer(app, error) : refuse(usage_problem(app, error, arguments));
    }
    return given.exit_code;
}

}  // namespace fedhive::sim
