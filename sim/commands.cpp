#include "sim/commands.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/protocol/watcher.h"
#include "sim/evaluate.h"
#include "sim/experiment.h"
#include "sim/model_file.h"
#include "sim/reporter.h"
#include "sim/round_loop.h"
#include "sim/run_folder.h"

#include <csignal>
#include <cstdio>

namespace fedhive::sim {

namespace {

/// The fleet lives inside: when this returns, no worker is left.
void run_to_the_end(Experiment& run, Reporter& reporter, const std::filesystem::path& logs) {
    FleetOptions options = run.fleet_options();
    options.logs = logs;
    Fleet fleet(options, run.worker_plan, *run.arena, run.dataset);
    const Console::LiveLine live = reporter.start_rounds(fleet);
    run_rounds(run, fleet, reporter);
}

}  // namespace

int run_command(const RunOptions& options) {
    clients::block_interrupts();
    Experiment run(load_config(options.config, options.overrides));
    clients::throw_if_interrupted();
    RunFolder folder(options.out.empty() ? make_default_run_folder(run.config.name) : options.out, run.config,
                     options.overwrite);
    Reporter reporter(run, folder, options.quiet);
    try {
        run_to_the_end(run, reporter, folder.logs());
        reporter.finish();
        return 0;
    } catch (const RunAborted& aborted) {
        reporter.failed(aborted.failure);
        throw;
    } catch (const clients::Interrupted& interrupted) {
        reporter.stopped(fmt::format("interrupted by SIG{}", sigabbrev_np(interrupted.signal_number)),
                         fmt::format("interrupted after {} of {} rounds; what was finished is in {}", run.server.round,
                                     run.config.rounds, folder.path().string()));
        return 130;
    } catch (const std::exception& error) {
        reporter.stopped(fmt::format("failed: {}", error.what()), "");
        throw;
    }
}

int validate_command(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
    const Experiment run(load_config(config, overrides));
    fmt::print("{}: valid; {} parameters, {} clients, {} training examples\n", config.string(), run.layout.num_values(),
               run.dataset.map().num_clients, run.dataset.map().num_train);
    return 0;
}

int show_config_command(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
    fmt::print("{}", to_yaml(load_config(config, overrides).run));
    return 0;
}

int evaluate_command(const std::filesystem::path& run_folder) {
    clients::block_interrupts();
    if (!std::filesystem::exists(run_folder / "config.yaml"))
        throw ConfigError(fmt::format("{}: is not the folder of a run (it has no config.yaml)", run_folder.string()));
    Experiment run(load_config(run_folder / "config.yaml", {"workers=0"}));
    std::vector<float> model = read_model(run_folder / "model.safetensors", run.layout);
    aggregation::copy(run.server.model(), model);
    Fleet fleet(run.fleet_options(), run.worker_plan, *run.arena, run.dataset);
    const Metrics metrics = evaluate(fleet, run.server, run.dataset.map().num_test);
    fmt::print("test_loss {}\ntest_accuracy {}\nmodel_sha256 {}\n", metrics.test_loss, metrics.test_accuracy,
               model_sha256(run.layout, model));
    return 0;
}

int reference_command() {
    fmt::print("{}", reference_markdown());
    return 0;
}

}  // namespace fedhive::sim
