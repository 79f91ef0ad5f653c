#include "sim/plan/server_side.h"

#include "aggregation/math/vector_ops.h"
#include "sim/plan/client_states_plan.h"
#include "sim/plan/upload_plan.h"

#include <algorithm>
#include <utility>

namespace fedhive::sim {

ServerSide ServerSide::make(const LoadedConfig& loaded, const ModelSetup& model, const Mode& mode,
                            const aggregation::Arena& arena, std::uint64_t num_clients, const Ranks& ranks,
                            const std::filesystem::path& folder) {
    const RunConfig& run = loaded.run;
    Strategy strategy = make_mode_strategy(run, arena, model.layout, model.channels, num_clients);
    const std::uint64_t least =
        std::max(static_cast<std::uint64_t>(run.failures.min_updates), strategy.aggregator->least_updates());
    return {.strategy = std::move(strategy),
            .client_states = make_client_states(loaded, model.channels, num_clients, ranks, folder),
            .state = ServerState(arena, mode.velocity_index, model.channels),
            .missing_noise =
                MissingNoise(upload_plan(run, num_clients), run.all_seeds().training, model.layout, model.local_part, mode),
            .least_updates = least};
}

void ServerSide::begin_with(aggregation::ConstParamSpan parameters, aggregation::ConstParamSpan frozen) const {
    aggregation::set_zero(state.region());
    aggregation::copy(state.model(), parameters);
    aggregation::copy(state.arena.frozen(), frozen);
    aggregation::synchronize(state.arena.space());  // before `parameters` are freed, and before a worker reads them
}

void ServerSide::keep_states(const Arrivals& arrived) {
    const aggregation::Channel* channel = state.channels.committed();
    if (channel == nullptr) return;
    for (const ClientReport& client : arrived.clients) {
        if (client.failure || client.elsewhere) continue;
        const aggregation::ParamSpan lies_in =
            channel->travels() ? state.arena.slot(client.slot) : state.arena.kept(client.slot);
        const aggregation::HostView came(state.channels.of(lies_in, channel->name()));
        if (channel->commit == aggregation::Commit::Add)
            client_states.add(client.client_id, came);
        else
            client_states.set(client.client_id, came);
    }
}

}  // namespace fedhive::sim
