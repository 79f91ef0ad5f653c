#include "sim/app/replay.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/tasks/measures.h"
#include "clients/trainers/engine.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "clients/visit/loss_visit.h"
#include "clients/visit/measure_pass.h"
#include "sim/config/load_config.h"
#include "sim/fleet/fleet.h"
#include "sim/modes/mode_spec.h"
#include "sim/plan/run_reports.h"
#include "sim/record/run_record.h"
#include "sim/run/resume.h"
#include "sim/run/round_loop.h"
#include "sim/run/run_files.h"

#include <algorithm>
#include <memory>

namespace fedhive::sim {

namespace {

using Say = std::function<void(const std::string&)>;

/// Reports the loss of every step of a row; can be interrupted between steps.
class LoggedStep final : public clients::WrappedStep {
public:
    LoggedStep(clients::TrainingStep& step, std::size_t row, const Say& say) : WrappedStep(step), row_(row), say_(say) {}

    void compute_gradients(std::span<const clients::RowBatch> batches) override {
        clients::throw_if_interrupted();
        const double before = loss_of(row_);
        inner().compute_gradients(batches);
        const std::size_t size = batches[row_].examples.size();
        if (size == 0) return;
        const double loss = (loss_of(row_) - before) / static_cast<double>(size);
        say_(fmt::format("step {:>6}  batch {:>5}  loss {:.6f}", ++count_, size, loss));
    }

private:
    std::size_t row_;
    const Say& say_;
    std::uint64_t count_ = 0;
};

/// "0, 3, 4 and 97 more"
std::string listed(const std::vector<RecordedClient>& cohort) {
    constexpr std::size_t kMost = 30;
    std::string text;
    for (std::size_t i = 0; i < std::min(cohort.size(), kMost); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", cohort[i].client_id);
    return cohort.size() > kMost ? fmt::format("{} and {} more", text, cohort.size() - kMost) : text;
}

/// The client's rows of the round (two if it arrived twice). Throws if there is none to compare with.
std::vector<RecordedClient> recorded_clients(const ReplayOptions& options, const std::vector<RecordedRound>& record) {
    const std::string folder = options.folder.string();
    if (options.round < 1 || options.round > static_cast<std::int64_t>(record.size()))
        throw ConfigError(
            fmt::format("{}: round {} is not recorded; allowed: {}", folder, options.round,
                        record.empty() ? "none, because no round has ended" : fmt::format("1 to {}", record.size())));
    const std::vector<RecordedClient>& cohort = record[static_cast<std::size_t>(options.round - 1)].clients;
    std::vector<RecordedClient> found;
    std::string failure;
    for (const RecordedClient& one : cohort) {
        if (one.client_id != options.client) continue;
        if (one.failure.empty())
            found.push_back(one);
        else
            failure = one.failure;
    }
    if (found.empty() && failure.empty())
        throw ConfigError(fmt::format("{}: client {} did not train in round {}; its cohort: {}", folder, options.client,
                                      options.round, listed(cohort)));
    if (found.empty())
        throw ConfigError(fmt::format("{}: client {} failed in round {} ({}), so it has no update to compare with", folder,
                                      options.client, options.round, failure));
    return found;
}

/// Drops exactly the clients that failed, by the record, in rounds [first, end), counted from 0.
void follow_record(RunConfig& config, const std::vector<RecordedRound>& record, std::int64_t first, std::int64_t end) {
    config.failures.policy = OnFailure::Drop;
    config.faults.clear();
    for (std::int64_t round = first; round < end; ++round)
        for (const RecordedClient& client : record[static_cast<std::size_t>(round)].clients) {
            if (client.failure.empty() || client.failure == to_string(clients::FailureKind::LeftBehind)) continue;
            FaultConfig fault;
            fault.kind = "drop";
            fault.round = client.sent_round;
            fault.client = client.client_id;
            fault.repeat = client.repeat;
            fault.attempts = FaultedAttempts::All;
            config.faults.push_back(fault);
        }
}

/// Update and reports have the recorded bits.
bool same_bits(const clients::ClientResult& result, const RecordedClient& recorded) {
    return result.update_hash == recorded.update_hash &&
           std::equal(recorded.reports.begin(), recorded.reports.end(), result.reports.begin());
}

/// "round 2, client 5": the first update or report with other bits than in the run; empty if there is none.
std::string first_difference(const Arrivals& arrived, const RecordedRound& recorded, std::int64_t round) {
    for (std::size_t i = 0; i < arrived.clients.size(); ++i) {
        const ClientReport& client = arrived.clients[i];
        const bool same = i < recorded.clients.size() && recorded.clients[i].client_id == client.client_id &&
                          recorded.clients[i].failure.empty() == !client.failure &&
                          (client.failure || same_bits(client.result, recorded.clients[i]));
        if (!same) return fmt::format("round {}, client {}", round, client.client_id);
    }
    return "";
}

/// Repeats the rounds up to `until`. Returns the first difference from the record.
std::string run_recorded_rounds(Experiment& run, const std::vector<RecordedRound>& record, std::int64_t until) {
    ServerState& server = run.server.state;
    if (server.round == until) return "";
    std::string difference;
    Fleet fleet(run.fleet_options(), run.worker_plan, *run.resources.arena, run.data.dataset);
    for (const InFlight& client : std::vector(server.in_flight)) fleet.take_up(client, server, run.server.strategy);
    while (server.round < until) {
        fleet.throw_if_interrupted();
        RoundRecord round;
        const Arrivals arrived = run_round(run, fleet, round);
        ++server.round;
        if (difference.empty())
            difference = first_difference(arrived, record[static_cast<std::size_t>(server.round - 1)], server.round);
    }
    return difference;
}

/// The client and those of its cohort that were trained at once with it, since they share a step's shape.
std::vector<clients::RowClient> rows_with(const Experiment& run, const std::vector<RecordedClient>& cohort,
                                          std::uint32_t client_id) {
    std::size_t place = 0;
    while (cohort[place].client_id != client_id) ++place;
    const std::size_t at_once = run.worker_plan.clients_at_once, first = place - place % at_once;
    std::vector<clients::RowClient> together, rows;
    for (std::size_t i = first; i < std::min(cohort.size(), first + at_once); ++i)
        together.push_back({cohort[i].client_id, run.data.dataset.shard(cohort[i].client_id)});
    for (const std::size_t other : clients::places_of_rows(run.worker_plan.training, together)) rows.push_back(together[other]);
    return rows;
}

/// The plan's, with what counts of this process's examples.
clients::LocalTraining training_here(const Experiment& run) {
    clients::LocalTraining training = run.worker_plan.training;
    training.counted = clients::CountedTargets::of(run.data.dataset.train());
    return training;
}

clients::MeasureOptions measure_options(const Experiment& run, aggregation::MemorySpace space) {
    return {.train = run.data.dataset.train(space),
            .sums = run.worker_plan.sums.of_client(),
            .chunk = run.worker_plan.evaluation_chunk,
            .training = training_here(run)};
}

/// The client's measures of the model that it was sent, taken again.
clients::ReportValues measured_again(const Experiment& run, clients::Trainer& trainer, aggregation::ConstParamSpan sent,
                                     std::uint32_t round, std::uint32_t client_id) {
    clients::ReportValues values{};
    const clients::WorkerPlan& plan = run.worker_plan;
    if (!clients::any_measured(plan.reports)) return values;
    clients::MeasurePass pass(trainer.evaluation(), trainer.step(), measure_options(run, sent.space), plan.reports);
    pass.begin(sent);
    pass.measure({round, client_id, run.data.dataset.shard(client_id)}, values, [] { clients::throw_if_interrupted(); });
    return values;
}

/// Null without strategy.visit.
std::unique_ptr<clients::PythonClients> python_clients(const Experiment& run) {
    if (!run.worker_plan.visit.given()) return nullptr;
    return clients::make_python_clients(run.worker_plan, run.data.dataset, true, [](bool) { clients::throw_if_interrupted(); });
}

clients::ClientResult train_recorded(const Experiment& run, const std::vector<RecordedClient>& cohort,
                                     const RecordedClient& recorded, const Say& say) {
    const std::uint32_t id = recorded.client_id;
    const auto round = static_cast<std::uint32_t>(recorded.sent_round - 1);
    const clients::LocalTraining training = training_here(run).of_repeat(recorded.repeat);
    const ServerSide& server = run.server;
    const aggregation::VisitMemories memories{
        .all = &run.model.memories,
        .region = server.state.sent_region(),
        .record = server.client_states.floats() > 0 ? server.client_states.of(id) : aggregation::ConstParamSpan(),
        .slot = {},
        .beside = {}};
    aggregation::ParamBuffer room;
    const aggregation::ConstParamSpan sent = run.model.memories.of(memories.region, aggregation::kModel);
    const aggregation::ConstParamSpan global = run.model.local_part.start(sent, memories, room);
    std::vector<clients::RowClient> rows = rows_with(run, cohort, id);
    const auto its = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.client_id == id; });
    const auto row = static_cast<std::size_t>(its - rows.begin());

    const auto trainer = clients::make_trainer(run.worker_plan, run.data.dataset, run.resources.arena->frozen());
    const clients::ReportValues measured = measured_again(run, *trainer, global, round, id);
    clients::LocalStep local(rows.size() > 1 ? trainer->step_at_once() : trainer->step(), run.worker_plan.clip_norm);
    const clients::RoundRate rate = run.server.strategy.rate_in(round);
    aggregation::ConstParamSpan began = global;
    std::optional<clients::FormulaVisit> formulas;
    if (!run.worker_plan.method.empty()) {
        formulas.emplace(run.worker_plan.method, run.model.memories, run.model.layout, run.model.local_part,
                         run.worker_plan.reports, global.space, run.worker_plan.row_sizes());
        formulas->add_to(local);
        if (run.worker_plan.mean_gradient)
            formulas->take_gradient(trainer->step(), training, {round, id, rows[row].shard}, global);
        const std::size_t examples = rows[row].shard.size();
        const auto facts =
            clients::VisitFacts::of(round, examples, training.steps_of(examples), run.worker_plan.optimizer, rate);
        began = formulas->begin(memories, global, facts, [&](aggregation::ConstParamSpan model) {
            return clients::mean_loss_of_model(trainer->evaluation(), measure_options(run, global.space), model,
                                               rows[row].shard, [] { clients::throw_if_interrupted(); });
        });
        formulas->tables().begin(memories, facts, formulas->numbers(), run.data.dataset.train(), rows[row].shard);
        if (clients::OutputLoss* const loss = trainer->output_loss()) {
            clients::tell_steps(local, *loss);
            clients::begin_loss(*loss, *formulas, facts, run.data.dataset.train(), rows[row].shard);
        }
    }
    LoggedStep step(local, row, say);

    aggregation::PinnedArray<clients::ClientFigures> figures(global.space);
    figures.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].figures = &figures[i];
    std::vector<clients::ClientResult> results(rows.size());
    const std::unique_ptr<clients::PythonClients> python = python_clients(run);
    if (python) {
        python->begin(memories);
        python->train(training, rate, round, rows, began, results);
    } else {
        clients::enqueue_clients(step, training, rate, round, rows, began, results);
    }
    const aggregation::ParamSpan trained = python ? python->parameters_of(row) : step.parameters_of(row);
    if (formulas && formulas->tables().measures())
        formulas->measure(trainer->evaluation(), trained, run.data.dataset.train(global.space),
                          run.worker_plan.evaluation_chunk, [] { clients::throw_if_interrupted(); });
    run.model.local_part.hide(trained, global);
    clients::ReportValues reported = measured;
    if (formulas && formulas->has_end()) {
        aggregation::synchronize(global.space);
        formulas->end(memories, trained, results[row], clients::mean_loss_of(figures[row].loss_sum, figures[row].examples),
                      reported);
    }
    if (python) python->end(memories, reported);
    clients::UploadChain chain(run.worker_plan.upload, run.model.layout,
                               run.model.layout.without(run.model.local_part.names()));
    const bool within = chain.apply(trained, global, training.seed, round, id, run.mode.num_together(cohort.size()), memories,
                                    run.server.state.clip_norm);
    run.model.local_part.hide(trained, global);
    aggregation::write_update(trained, trained, global, figures[row].update);
    aggregation::synchronize(global.space);
    clients::finish(results[row], figures[row]);
    results[row].reports = reported;
    if (const clients::Reports& reports = run.worker_plan.reports; reports.has(clients::kWithinClip))
        results[row].reports[reports.index_of(clients::kWithinClip)] = within ? 1.0 : 0.0;
    return results[row];
}

/// Tells the first difference from the record; false if there is one.
bool compare(const Experiment& run, const clients::ClientResult& result, const RecordedClient& recorded,
             const std::string& difference, const Say& say) {
    const std::string before = difference.empty() ? "" : "; the first different result is that of " + difference;
    const clients::Reports& reports = run.worker_plan.reports;
    for (std::size_t i = 0; i < reports.size(); ++i)
        if (result.reports[i] != recorded.reports[i]) {
            say(fmt::format("{} {}, but {} in the run: different bits{}", reports.name(i), result.reports[i],
                            recorded.reports[i], before));
            return false;
        }
    if (result.update_hash == recorded.update_hash) {
        say(fmt::format("update_hash {:016x}: the same bits as in the run", result.update_hash));
        return true;
    }
    say(fmt::format("update_hash {:016x}, but {:016x} in the run: different bits{}", result.update_hash, recorded.update_hash,
                    before));
    return false;
}

/// Replays one row of the client. True if it has the run's bits.
bool replay_row(const ReplayOptions& options, const std::vector<RecordedRound>& record, const RecordedClient& recorded,
                const Say& say) {
    Resumption start = find_start(options.folder, recorded.sent_round - 1);
    const std::int64_t first = start.from ? start.from->checkpoint.round : 0;
    follow_record(start.loaded.run, record, first, static_cast<std::int64_t>(record.size()));
    // The order of arrivals is part of the record.
    if (start.loaded.run.clock == Clock::Wall) start.loaded.run.arrivals = options.folder / "arrivals.csv";
    if (!make_mode(start.loaded.run).trains_alone())
        throw ConfigError(fmt::format("{}: in mode {} clients do not train separately; replay supports {}",
                                      options.folder.string(), start.loaded.run.mode.name,
                                      fmt::join(modes_with_clients_alone(), ", ")));
    const auto begin = [&](Experiment& begun) { take_up(begun, start, true); };
    Experiment run = Experiment::to_replay(start.loaded, begin, options.folder);
    for (const std::string& other : start.past.other_bits) say("other bits  " + other);
    say(fmt::format("round {}, client {}: {} examples; from {}{}", options.round, options.client,
                    run.data.dataset.shard(static_cast<std::size_t>(options.client)).size(),
                    start.from ? start.from->path.filename().string() : "the beginning",
                    first == recorded.sent_round - 1
                        ? ""
                        : fmt::format(", after running rounds {} to {} again", first + 1, recorded.sent_round - 1)));
    const std::string difference = run_recorded_rounds(run, record, recorded.sent_round - 1);
    run.server.broadcast.prepare(run.server.state);
    const clients::ClientResult result =
        train_recorded(run, record[static_cast<std::size_t>(options.round - 1)].clients, recorded, say);
    return compare(run, result, recorded, difference, say);
}

std::vector<std::string> report_names(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const clients::ReportSpec& report : report_specs(load_config(folder / "config.yaml").run))
        names.push_back(report.name);
    return names;
}

}  // namespace

bool replay(const ReplayOptions& options, const Say& say) {
    check_is_run(options.folder);
    const std::vector<RecordedRound> record = read_record(options.folder, report_names(options.folder));
    bool same = true;
    for (const RecordedClient& row : recorded_clients(options, record)) same = replay_row(options, record, row, say) && same;
    return same;
}

}  // namespace fedhive::sim
