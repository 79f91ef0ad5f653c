// The server of an experiment: its strategy, the model and its progress, and what it keeps for clients.
#pragma once

#include "aggregation/math/host_view.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/shared_segment.h"
#include "sim/config/loaded_config.h"
#include "sim/plan/model_setup.h"
#include "sim/privacy/accountant.h"
#include "sim/ranks/ranks.h"
#include "sim/round/attackers.h"
#include "sim/round/broadcast.h"
#include "sim/round/clip_norm.h"
#include "sim/round/flight.h"
#include "sim/round/further_sums.h"
#include "sim/round/make_mode.h"
#include "sim/round/missing_noise.h"
#include "sim/round/personal_mixing.h"
#include "sim/round/product_rows.h"
#include "sim/round/server_state.h"
#include "sim/round/tree_noise.h"
#include "sim/round/weighing.h"
#include "sim/strategies/strategy.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fedhive::sim {

struct ServerSide {
    Strategy strategy;
    aggregation::ClientStates client_states;  // if clients keep state
    ServerState state;
    Broadcast broadcast;
    MissingNoise missing_noise;
    TreeNoise tree_noise;
    ClipNorm clip;
    Attackers attackers;
    Weighing weighing;
    Mixing mixing;
    FurtherSums further{};                                          // that the server's formulas read
    std::uint64_t least_updates = 1;                                // with fewer of them a round makes no server step
    std::optional<PrivacyAccountant> accountant{};                  // with `privacy`
    std::unique_ptr<aggregation::SharedSegment> source_of_visit{};  // visit_text(); null: clients train by an engine

    /// Before the first model. `arena`: outlives this. `folder`: the run's, for client state in a file; empty: it is in memory
    /// in any case. Throws ConfigError if the clients' state does not fit.
    static ServerSide make(const LoadedConfig& loaded, const ModelSetup& model, const Mode& mode,
                           const aggregation::Arena& arena, std::uint64_t num_clients, const Ranks& ranks = Ranks::alone(),
                           const std::filesystem::path& folder = {});

    /// Publishes the first model, and memories that begin as another one.
    void begin_with(const FirstModel& first) const;

    /// Call after a server step and before the slots are freed: on the rank that trains it, each accepted client's memories are
    /// changed by what its visit wrote. A memory that the server mixes gets its first value where the client had none; sent: the
    /// region that they got.
    void keep_states(const Arrivals& arrived, aggregation::ConstParamSpan sent);

    /// Call after keep_states(): each accepted client's memories that the server mixes. sent: the region that they got.
    void mix(const Arrivals& arrived, aggregation::ConstParamSpan sent, const TakeProducts& products, const TakeLosses& losses,
             const Combine& combine) {
        if (mixing.any()) mixing.mix(arrived, state.round, sent, weighing, products, losses, combine, client_states);
    }

    /// `mean` plus the missing noise (missing_noise.h) and the noise of a tree (tree_noise.h). In the first round of a tree the moments
    /// of the server's optimiser become 0.
    aggregation::Aggregate noised(const aggregation::Aggregate& mean, const Arrivals& arrived);

    /// Call after a server step: moves the norm of adaptive_clip for the next round's clients.
    void adapt_clip(const Arrivals& arrived) {
        if (clip.adapts()) state.clip_norm = clip.next(state.clip_norm, arrived, state.round);
    }
    /// The rows that a rule takes inner products of. history_of: the clients of the updates, for a rule that adds their histories. Valid
    /// until the next keep_states().
    ProductRows product_rows(ProductsOf of, std::span<const std::uint32_t> history_of) const;

    /// The vectors, besides the model, that a checkpoint keeps: of the server's optimiser and of the weight rule, and what clients
    /// have where they are sent changes.
    std::vector<aggregation::Moment> moments() const;

    /// ε of the server steps so far; empty without `privacy`.
    std::optional<double> epsilon() const;

    /// The published global model in host memory, [P]; valid until the next server step.
    aggregation::HostView global_model() const { return aggregation::HostView(state.model()); }

    /// The frozen parameters in host memory, [F].
    aggregation::HostView frozen_values() const { return aggregation::HostView(state.arena.frozen()); }
};

}  // namespace fedhive::sim
