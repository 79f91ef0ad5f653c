#include "sim/plan/server_side.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/vector_ops.h"
#include "sim/config/privacy.h"
#include "sim/config/tree_noise_rules.h"
#include "sim/plan/client_states_plan.h"
#include "sim/plan/run_reports.h"
#include "sim/plan/upload_plan.h"
#include "sim/plan/visit_text.h"
#include "sim/round/python_rule.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace fedhive::sim {

ServerSide ServerSide::make(const LoadedConfig& loaded, const ModelSetup& model, const Mode& mode,
                            const aggregation::Arena& arena, std::uint64_t num_clients, const Ranks& ranks,
                            const std::filesystem::path& folder) {
    const RunConfig& run = loaded.run;
    Strategy strategy = make_mode_strategy(run, arena, model.layout, model.memories, num_clients);
    if (const auto& rule = run.strategy.parts.rule; rule != nullptr)
        take_rule(strategy, *rule, completed(run.strategy.parts.of_rule, rule->keys), arena,
                  slot_layout(model.memories, model.layout));
    const std::uint64_t least =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(run.failures.min_updates), sim::least_updates(run.strategy.parts));
    const aggregation::LocalSteps local{
        run.training.optimizer.values.number_or("lr", 1.0), run.training.optimizer.values.number_or("momentum", 0.0),
        completed(run.strategy.parts.local.values, local_rule_of(run.strategy.parts).keys).number_or("proximal_mu", 0.0)};
    const Weighing weighing(strategy, local, reports_of(run), arena, model.memories, num_clients, run.all_seeds().sampling);
    Mixing mixing(strategy.method, {model.layout, model.memories, num_clients});
    const bool keeps_last = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).keeps_last;
    const std::size_t extra_slot = arena.geometry().num_slots - 1 - (keeps_last ? 1 : 0);
    Attackers attackers(run.attack, {.sampling_seed = run.all_seeds().sampling, .num_clients = num_clients}, arena, extra_slot,
                        model.memories);
    const clients::UploadPlan upload = upload_plan(run, num_clients);
    const ClipNorm clip(upload, run.all_seeds().training, reports_of(run));
    ServerState state(arena, mode.velocity_index, model.memories);
    state.clip_norm = clip.first();
    if (run.sends_compressed())
        state.send_from(static_cast<std::uint32_t>(arena.geometry().num_globals - 1), run.sends_changes() ? num_clients : 0);
    return {.strategy = std::move(strategy),
            .client_states = make_client_states(loaded, model.memories, num_clients, ranks, folder),
            .state = std::move(state),
            .broadcast =
                Broadcast(download_plan(run), run.sends_changes(), run.all_seeds().training, model.layout, model.local_part),
            .missing_noise = MissingNoise(upload, run.all_seeds().training, model.layout, model.local_part, mode),
            .tree_noise = TreeNoise(noise_tree_of(run), upload, run.all_seeds().training, model.layout, model.local_part),
            .clip = clip,
            .attackers = std::move(attackers),
            .weighing = weighing,
            .mixing = std::move(mixing),
            .least_updates = least,
            .accountant =
                run.privacy.wanted() ? std::optional(PrivacyAccountant(mechanism_of(run), *run.privacy.delta)) : std::nullopt,
            .source_of_visit = visit_text(loaded, model, arena.space())};
}

void ServerSide::begin_with(const FirstModel& first) const {
    aggregation::set_zero(state.region());
    aggregation::copy(state.model(), first.parameters);
    aggregation::copy(state.arena.frozen(), first.frozen);
    std::size_t drawn = 0;
    for (const aggregation::Memory& memory : state.memories.all()) {
        if (!memory.down) continue;
        const aggregation::ParamSpan values = state.memories.of(state.region(), memory.name());
        if (memory.first == aggregation::FirstValue::Drawn && drawn < first.drawn.size())
            aggregation::copy(values, aggregation::ConstParamSpan(first.drawn[drawn++]).part(0, memory.floats));
        if (memory.first == aggregation::FirstValue::Number) aggregation::copy(values, memory.first_number());
    }
    aggregation::synchronize(state.arena.space());  // before the model is freed, and before a worker reads it
}

std::vector<aggregation::Moment> ServerSide::moments() const {
    const aggregation::ConstParamSpan region = state.region();
    std::vector<aggregation::Moment> all = strategy.server_optimizer->moments(region.size, region.space);
    for (const aggregation::Moment& moment : weighing.moments()) all.push_back(moment);
    if (state.sent && state.sent->by_changes()) all.push_back({"sent", state.sent_region()});
    return all;
}

aggregation::Aggregate ServerSide::noised(const aggregation::Aggregate& mean, const Arrivals& arrived) {
    const aggregation::Aggregate whole = missing_noise.completed(mean, arrived, state.round, state.clip_norm);
    if (!tree_noise.tree()) return whole;
    const aggregation::ConstParamSpan region = state.region();
    if (tree_noise.begins(state.round, state.last_step))
        for (const aggregation::Moment& moment : strategy.server_optimizer->moments(region.size, region.space))
            aggregation::set_zero(moment.values);
    return tree_noise.completed(whole, state.round, state.last_step);
}

std::optional<double> ServerSide::epsilon() const {
    if (!accountant) return std::nullopt;
    const std::optional<NoiseTree>& tree = tree_noise.tree();
    return accountant->epsilon(tree ? tree_nodes(static_cast<std::uint64_t>(state.last_step), tree->restart_every)
                                    : state.version);
}

ProductRows ServerSide::product_rows(ProductsOf of, std::span<const std::uint32_t> history_of) const {
    const aggregation::Memory* const named =
        of == ProductsOf::Method ? state.memories.find(strategy.method.products_of) : nullptr;
    const std::size_t model_floats = state.region().size - state.memories.floats_behind();
    if (named != nullptr) return {.first = model_floats + named->offset, .columns = named->floats};
    if (history_of.empty()) return {.columns = model_floats};
    ProductRows rows{.clients = {history_of.begin(), history_of.end()},
                     .columns = state.memories.find(aggregation::kHistory)->floats};
    for (const std::uint32_t client : history_of) {
        const aggregation::VisitMemories visit{
            .all = &state.memories, .region = {}, .record = client_states.of(client), .slot = {}, .beside = {}};
        rows.sums.push_back(visit.own(aggregation::kHistory));
    }
    return rows;
}

void ServerSide::keep_states(const Arrivals& arrived, aggregation::ConstParamSpan sent) {
    if (client_states.floats() == 0) return;
    for (const ClientReport& client : arrived.clients) {
        if (client.failure || client.elsewhere) continue;
        const aggregation::VisitMemories visit{.all = &state.memories,
                                               .region = {},
                                               .record = {},
                                               .slot = state.arena.slot(client.slot),
                                               .beside = state.arena.kept(client.slot)};
        std::deque<aggregation::HostView> written;
        std::vector<aggregation::RecordChange> changes;
        for (const aggregation::Memory& memory : state.memories.all()) {
            if (!memory.in_record()) continue;
            const bool begins = memory.is_mixed() && !client_states.keeps(client.client_id);
            if (begins && memory.first == aggregation::FirstValue::SentModel)
                changes.push_back({memory.record_offset, written.emplace_back(sent.part(0, memory.floats)), false});
            else if (begins && memory.first == aggregation::FirstValue::Number)
                changes.push_back({memory.record_offset, memory.first_number(), false});
            else if (!memory.is_mixed())
                changes.push_back({memory.record_offset, written.emplace_back(visit.written(memory.name())),
                                   memory.change != aggregation::MemoryChange::Set});
        }
        client_states.change(client.client_id, changes);
    }
}

}  // namespace fedhive::sim
