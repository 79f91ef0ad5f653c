#include "sim/run/round_table.h"

#include <optional>
#include <string>

namespace fedhive::sim {

namespace {

using Round = RoundOfRun;
using Client = ClientOfRound;

Fixed<6> seconds_of(const Round& row, Phase phase) { return {row.round.seconds[static_cast<std::size_t>(phase)]}; }

constexpr Column<Round> kRounds[]{
    {"round", "from 1", "turn of the loop; [docs/modes.md](../docs/modes.md) says what it is in each mode",
     [](const Round& row) { return row.round.round; }},
    {"version", "server steps", "model version after this round", [](const Round& row) { return row.server.version; }},
    {"cohort", "clients",
     "whose training ended in this round, with any outcome: the rows of clients.csv; in `synchronous` the clients asked to "
     "train",
     [](const Round& row) { return row.arrived.clients.size(); }},
    {"accepted", "clients", "whose updates arrived; below `failures.min_updates` the round is skipped and `version` stays",
     [](const Round& row) { return row.arrived.accepted(); }},
    {"failed", "clients", "dropped: cohort = accepted + failed + left_behind",
     [](const Round& row) { return row.arrived.clients.size() - row.arrived.accepted() - row.arrived.left_behind(); }},
    {"train_loss", "mean per example; cross-entropy, with `task: regression` squared error",
     "of accepted clients during training, over all their examples, weighted by `num_examples`; empty if none was accepted",
     [](const Round& row) { return row.arrived.train_loss(); }},
    {"test_loss", "as `train_loss`",
     "of the new global model on the test examples; empty if not evaluated, or parts of the model are "
     "[the clients'](../docs/models.md#local-parts)",
     [](const Round& row) { return row.round.test ? std::optional(row.round.test->test_loss) : std::nullopt; }},
};

constexpr Column<Round> kAfterMetrics[]{
    {"bytes_down", "bytes",
     "what a real server would send to the row's clients, accepted or not: a model each (4 × `num_parameters`, fewer with "
     "[`download`](../docs/strategies.md#down)), in some modes "
     "[more](../docs/modes.md#side-by-side), and to those that [measure](../docs/modes.md#who-is-asked) it",
     [](const Round& row) { return row.arrived.traffic.down; }},
    {"bytes_up", "bytes",
     "what the accepted clients would send, or pass to each other: an update each, in some modes more, and 8 bytes a "
     "[report](../docs/training.md#measures)",
     [](const Round& row) { return row.arrived.traffic.up; }},
    {"staleness_mean", "server steps",
     "from start to arrival, mean over accepted work (`parameter_server`: gradients); 0 if a round waits for all",
     [](const Round& row) { return row.arrived.staleness_mean(); }},
    {"wall_s", "s", "this round, with evaluation; the sum of the six phases",
     [](const Round& row) { return Fixed<6>{seconds_between(row.round.start_ns, row.round.lap_ns)}; }},
    {"pull_down_s", "s", "sampling the cohort, handing out tasks, waking the workers",
     [](const Round& row) { return seconds_of(row, Phase::PullDown); }},
    {"train_s", "s", "from hand-out to the last update; in round 1 with the rest of the workers' start",
     [](const Round& row) { return seconds_of(row, Phase::Train); }},
    {"barrier_s", "s", "from then until the coordinator goes on",
     [](const Round& row) { return seconds_of(row, Phase::Barrier); }},
    {"aggregate_s", "s", "the aggregation rule over all updates",
     [](const Round& row) { return seconds_of(row, Phase::Aggregate); }},
    {"server_step_s", "s", "the server optimiser, and publishing the new model",
     [](const Round& row) { return seconds_of(row, Phase::ServerStep); }},
    {"evaluate_s", "s", "evaluation by the workers; about 0 without one",
     [](const Round& row) { return seconds_of(row, Phase::Evaluate); }},
    {"left_behind", "clients", "arrived after the quorum (`synchronous`, `mode.quorum`); their training is lost",
     [](const Round& row) { return row.arrived.left_behind(); }},
    {"in_flight", "clients", "in flight at the round's end, to arrive in a later one (`semi_async`, `async`)",
     [](const Round& row) { return row.server.in_flight.size(); }},
    {"virtual_s", "simulated s", "since the start, at the round's end; empty with `clock: wall`",
     [](const Round& row) { return row.round.virtual_s; }},
    {"started_s", "s", "the round's start, on the clock of the manifest's `wall_s.total`, which continues over a resume",
     [](const Round& row) { return Fixed<6>{seconds_between(row.round.origin_ns, row.round.start_ns)}; }},
};

constexpr Column<Round> kEpsilon[]{
    {"epsilon", "–",
     "only with `privacy`: ε at δ = `privacy.delta` of the server steps so far; "
     "[docs/privacy.md](../docs/privacy.md) says what is assumed",
     [](const Round& row) { return row.round.epsilon ? std::optional(Fixed<6>{*row.round.epsilon}) : std::nullopt; }},
};

constexpr Column<Round> kAttackSuccess[]{
    {"attack_success", "share",
     "only with [`data.poison`](../docs/strategies.md#attacks) `trigger`: of the test examples of other classes, with the "
     "trigger, "
     "those that get the class `target`; when `test_loss` is",
     [](const Round& row) { return row.round.test ? row.round.test->attack_success : std::nullopt; }},
};

constexpr Column<Round> kClipNorm[]{
    {"clip_norm", "–",
     "only with [`adaptive_clip`](../docs/privacy.md#adaptive-clipping): the norm to which this round's clients clipped their "
     "updates",
     [](const Round& row) { return row.round.clip_norm; }},
};

/// The columns of the metrics that some runs do not have, or that came later than other columns; or of the others.
void add_metrics(Table<Round>& table, const std::vector<clients::Metric>& metrics, bool at_the_end) {
    for (const clients::Metric& metric : metrics)
        if ((metric.over_classes > 0 || metric.is_asked_for()) == at_the_end)
            table.add("test_" + metric.name, "[metric](README.md#metrics)",
                      metric.meaning + " of that model, when `test_loss` is", [name = metric.name](const Round& row) {
                          return row.round.test ? row.round.test->value(name) : std::optional<double>();
                      });
}

/// Empty for a client that was dropped or left behind.
template <class Value>
std::optional<Value> if_accepted(const Client& row, Value value) {
    return row.client.failure ? std::nullopt : std::optional(value);
}

constexpr Column<Client> kClients[]{
    {"round", "from 1", "as in rounds.csv", [](const Client& row) { return row.round.round; }},
    {"client_id", "from 0", "the client", [](const Client& row) { return row.client.client_id; }},
    {"worker", "from 0",
     "process that trained it last (in `split` its lower half), counted over all ranks; like `seconds` and columns in `_s`, "
     "and "
     "no other, it depends on timing",
     [](const Client& row) { return row.client.worker; }},
    {"slot", "from 0",
     "arena region of its update, perhaps shared (`training.clients_per_slot`); with `auto` it depends on the number of "
     "workers, "
     "though no bits do",
     [](const Client& row) { return row.client.slot; }},
    {"num_examples", "examples", "n_k: distinct training examples, not times epochs; one pass",
     [](const Client& row) { return row.client.num_examples; }},
    {"steps", "local steps", "optimiser steps this round",
     [](const Client& row) { return if_accepted(row, row.client.result.steps); }},
    {"train_loss", "as in rounds.csv", "over all examples seen this round, each by the model of its step",
     [](const Client& row) { return if_accepted(row, row.client.result.train_loss); }},
    {"update_norm", "–",
     "Euclidean norm of the update (local − global), with buffers; of the last gradient in `parameter_server`, 0 in `hogwild`; "
     "with `attack`, of what the server received, so of what attackers send",
     [](const Client& row) { return if_accepted(row, row.client.result.update_norm); }},
    {"update_hash", "64 bits, 16 hexadecimal digits",
     "of the update's bits; any single different element changes it. Summed over all gradients in `parameter_server`, 0 in "
     "`hogwild`; with `attack`, of what was trained, also by attackers. [How it is computed](README.md#clientscsv)",
     [](const Client& row) { return if_accepted(row, Hex{row.client.result.update_hash}); }},
    {"seconds", "s",
     "from copying the global model, or measuring it, to writing the update; clients trained at once "
     "(`training.clients_at_once`) divide their "
     "time by steps",
     [](const Client& row) { return if_accepted(row, Fixed<6>{row.client.result.seconds}); }},
    {"failure", "word",
     "empty: accepted; the kind of failure: dropped; `left_behind`: after the quorum (nothing went wrong). If set, `steps` to "
     "`seconds` are empty",
     [](const Client& row) -> std::string_view { return row.client.failure ? to_string(*row.client.failure) : ""; }},
    {"sent_round", "from 1", "round of its start; equal to `round` if a round waits for all",
     [](const Client& row) { return row.client.sent_round + 1; }},
    {"staleness", "server steps", "from start to arrival; in `parameter_server` of its last gradient",
     [](const Client& row) { return row.client.staleness; }},
    {"started_s", "s",
     "its training's start, as in rounds.csv; in `parameter_server` its first gradient's; clients trained at once as if one "
     "after the other, by `seconds`; empty after a failure",
     [](const Client& row) {
         return if_accepted(row, Fixed<6>{seconds_between(row.round.origin_ns, row.client.result.start_ns)});
     }},
    {"gather_s", "s",
     "part of `seconds`: host gathers batches (bytes to normalised floats); 0 on a GPU that holds the data; divided as "
     "`seconds`; empty after a failure",
     [](const Client& row) { return if_accepted(row, Fixed<9>{row.client.result.gather_s}); }},
    {"update_s", "s",
     "part of `seconds`: the update's difference, norm, hash, adding to its slot; in `parameter_server` of a gradient; 0 in "
     "`hogwild` and on a GPU; divided as `seconds`, then without the adding; empty after a failure",
     [](const Client& row) { return if_accepted(row, Fixed<9>{row.client.result.update_s}); }},
};

constexpr Column<Client> kOwner[]{
    {"owner", "text", "only where the data name the clients, as in partition.csv", [](const Client& row) { return row.owner; }},
};

constexpr Column<Client> kDraws[]{
    {"draws", "times", "only with a sampler that may draw a client several times: how often, and its weight as often",
     [](const Client& row) { return row.client.draws; }},
};

constexpr Column<ArrivalOfRound> kArrivals[]{
    {"round", "from 1", "as in rounds.csv", [](const ArrivalOfRound& row) { return row.round; }},
    {"client_id", "from 0", "of each arrival, in their order; for --arrivals",
     [](const ArrivalOfRound& row) { return row.client_id; }},
};

}  // namespace

Table<RoundOfRun> rounds_csv(const clients::LearningTask& task, const std::vector<std::string>& asked, RoundExtras extras) {
    const std::vector<clients::Metric> metrics = task.metrics_with(asked);
    Table<RoundOfRun> table;
    table.add(kRounds);
    add_metrics(table, metrics, false);
    table.add(kAfterMetrics);
    add_metrics(table, metrics, true);
    if (extras.epsilon) table.add(kEpsilon);
    if (extras.attack_success) table.add(kAttackSuccess);
    if (extras.clip_norm) table.add(kClipNorm);
    return table;
}

Table<RoundOfRun> rounds_csv(const RunConfig& config) {
    return rounds_csv(clients::learning_task(config.task), config.evaluation.metrics,
                      {.epsilon = config.privacy.wanted(),
                       .attack_success = config.data.poison.triggers(),
                       .clip_norm = config.adapts_clip()});
}

Table<ClientOfRound> clients_csv(bool with_owners, const std::vector<clients::ReportSpec>& reports, bool with_draws) {
    Table<ClientOfRound> table;
    table.add(kClients);
    if (with_owners) table.add(kOwner);
    if (with_draws) table.add(kDraws);
    for (std::size_t i = 0; i < reports.size(); ++i)
        table.add(reports[i].name, reports[i].unit, reports[i].meaning,
                  [i](const Client& row) { return if_accepted(row, row.client.result.reports.at(i)); });
    return table;
}

Table<ArrivalOfRound> arrivals_csv() {
    Table<ArrivalOfRound> table;
    table.add(kArrivals);
    return table;
}

}  // namespace fedhive::sim
