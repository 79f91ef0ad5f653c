#include "sim/cli.h"

#include "clients/training/engine.h"
#include "clients/training/worker.h"
#include "sim/commands.h"
#include "sim/screen/watch.h"
#include "sim/script_command.h"
#include "sim/sweep_command.h"
#include "sim/version.h"
#include "sim/workers/mps.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace fedhive::sim {

namespace {

/// CLI11 answers bad usage with codes above 100; everything a user can mend is 2 here.
int parse_exit_code(int code) { return code == 0 ? 0 : 2; }

void add_sweep(CLI::App& app, SweepCommand& sweep, int& exit_code) {
    CLI::App* command = app.add_subcommand("sweep", "run all experiments that a sweep file describes");
    command->add_option("file", sweep.file, "a base config and what varies in it, a YAML file");
    command->add_option("--set", sweep.overrides, "change a key of the base, such as rounds=5; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    CLI::Option* out =
        command->add_option("--out", sweep.out, "folder for the results; default results/runs/<name>-<date>-<time>")
            ->type_name("DIR");
    command
        ->add_option("--resume", sweep.resume,
                     "go on with the sweep in this folder; with a file: with its runs as they are now")
        ->type_name("DIR")
        ->excludes(out);
    command->add_option("--jobs", sweep.jobs, "runs at a time; default: as many as cores and memory allow")
        ->type_name("N")
        ->check(CLI::Range(1, 10000).description("1 to 10000"));
    command->add_flag("--dry-run", sweep.dry_run, "print the runs and the estimated time, and start nothing");
    command->add_flag("--quiet", sweep.quiet, "print nothing but errors");
    command->callback([&sweep, &exit_code] {
        if (sweep.file.empty() && sweep.resume.empty()) throw CLI::RequiredError("file, or --resume DIR,");
        exit_code = sweep_command(sweep);
    });
}

/// The script of that name has arguments and a help of its own.
void add_script(CLI::App& app, const std::string& name, const std::string& description) {
    CLI::App* command = app.add_subcommand(name, description)->prefix_command();
    command->set_help_flag("");
    command->callback([command, name] { script_command(name, command->remaining()); });
}

}  // namespace

int run_cli(int argc, char** argv) {
    CLI::App app{"fedhive: federated learning simulated with many processes on one machine"};
    app.set_version_flag("--version", std::string("fedhive ") + kVersion + " (" + kCommit + ")");
    app.require_subcommand(1);
    int exit_code = 0;

    RunOptions run;
    std::filesystem::path folder;
    std::filesystem::path init;
    std::filesystem::path arrivals;
    const auto add_config = [&run](CLI::App* command) {
        CLI::Option* config = command->add_option("config", run.config, "the experiment, a YAML file");
        command->add_option("--set", run.overrides, "change a key, such as training.batch_size=64; may be repeated")
            ->type_name("KEY=VALUE")
            ->allow_extra_args(false);
        return config;
    };

    CLI::App* run_app = app.add_subcommand("run", "run an experiment");
    add_config(run_app);
    CLI::Option* out =
        run_app->add_option("--out", run.out, "folder for the results; default results/runs/<name>-<date>-<time>")
            ->type_name("DIR");
    CLI::Option* overwrite = run_app->add_flag("--overwrite", run.overwrite, "replace the run in a folder that is not empty");
    CLI::Option* first =
        run_app->add_option("--init", init, "start from this safetensors model; --set model.init=FILE")->type_name("FILE");
    CLI::Option* log =
        run_app->add_option("--arrivals", arrivals, "follow this arrivals.csv of a run on the wall clock; --set arrivals=FILE")
            ->type_name("FILE");
    CLI::Option* resume = run_app->add_option("--resume", run.resume, "go on with the run in this folder; needs no config")
                              ->type_name("DIR")
                              ->excludes(out)
                              ->excludes(overwrite)
                              ->excludes(first)
                              ->excludes(log);
    run_app->add_flag("--allow-other-bits", run.allow_other_bits, "resume on another LibTorch, CPU capability or device")
        ->needs(resume);
    run_app->add_option("--until", run.until, "pause after this round, with a checkpoint; --resume goes on")
        ->type_name("ROUND")
        ->check(CLI::Range(std::int64_t{1}, kNoRound).description("1 or more"));
    run_app->add_flag("--quiet", run.quiet, "print nothing but errors");
    run_app->callback([&] {
        if (run.config.empty() && run.resume.empty()) throw CLI::RequiredError("config, or --resume DIR,");
        // Quoted as YAML has it, so that any file name passes.
        if (!init.empty()) run.overrides.push_back("model.init=" + nlohmann::json(init.string()).dump());
        if (!arrivals.empty()) run.overrides.push_back("arrivals=" + nlohmann::json(arrivals.string()).dump());
        exit_code = run_command(run);
    });

    SweepCommand sweep;
    add_sweep(app, sweep, exit_code);
    add_script(app, "report", "draw a report of runs and sweeps; fedhive report -h says more");
    add_script(app, "bench", "measure how fast this is against other programs; fedhive bench -h says more");

    CLI::App* validate = app.add_subcommand("validate", "check a config, its data and its memory without running it");
    add_config(validate)->required();
    validate->callback([&] { exit_code = validate_command(run.config, run.overrides); });

    CLI::App* show = app.add_subcommand("show-config", "print the resolved config, itself a valid input");
    add_config(show)->required();
    show->callback([&] { exit_code = show_config_command(run.config, run.overrides); });

    CLI::App* evaluate = app.add_subcommand("evaluate", "print the metrics of a run's saved model");
    evaluate->add_option("run", folder, "folder of a finished run")->required();
    evaluate->callback([&] { exit_code = evaluate_command(folder); });

    CLI::App* watch = app.add_subcommand("watch", "follow a run or a sweep from another terminal, until it ends");
    watch->add_option("folder", folder, "folder of a run or of a sweep")->required();
    watch->callback([&] { exit_code = watch_command(folder); });

    ReplayOptions options;
    CLI::App* replay = app.add_subcommand("replay", "run one client's training of one round of a run again, step by step");
    replay->add_option("run", options.folder, "folder of a run")->required();
    replay->add_option("--round", options.round, "as in clients.csv, from 1")->required();
    replay->add_option("--client", options.client, "as in clients.csv, from 0")->required();
    replay->callback([&] { exit_code = replay_command(options); });

    app.add_subcommand("reference", "print the reference of all config keys, in Markdown")->callback([&] {
        exit_code = reference_command();
    });
    app.add_subcommand("doctor", "say what this machine can do: cores, memory, LibTorch, CUDA, IPC")->callback([&] {
        exit_code = doctor_command();
    });

    int control = -1;
    std::uint32_t index = 0;
    int coordinator = 0;
    CLI::App* worker = app.add_subcommand("worker")->group("");
    worker->add_option("--control", control)->required();
    worker->add_option("--index", index)->required();
    worker->add_option("--coordinator", coordinator)->required();
    worker->callback([&] { exit_code = clients::run_worker(control, index, coordinator, clients::make_trainer); });

    std::string handle;
    std::size_t num_floats = 0;
    CLI::App* probe = app.add_subcommand("ipc-probe")->group("");
    probe->add_option("handle", handle)->required();
    probe->add_option("floats", num_floats)->required();
    probe->callback([&] { exit_code = ipc_probe_command(handle, num_floats); });

    int lifeline = -1;
    int answer = -1;
    int lock = -1;
    CLI::App* keeper = app.add_subcommand("mps-keeper")->group("");
    keeper->add_option("--folder", folder)->required();
    keeper->add_option("--lifeline", lifeline)->required();
    keeper->add_option("--answer", answer)->required();
    keeper->add_option("--lock", lock)->required();
    keeper->callback([&] { exit_code = mps_keeper_command(folder, lifeline, answer, lock); });

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parse_exit_code(app.exit(error));
    }
    return exit_code;
}

}  // namespace fedhive::sim
