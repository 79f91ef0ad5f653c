#include "sim/round/personal_mixing.h"

#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/host_view.h"

#include <cmath>
#include <vector>

namespace fedhive::sim {

using aggregation::formulas::Place;

namespace {

void require_finite(const aggregation::Coefficients& weights, const std::vector<aggregation::Sender>& senders,
                    std::uint32_t client_id) {
    for (std::size_t j = 0; j < senders.size(); ++j)
        if (!std::isfinite(weights.of_updates[j]))
            throw Fault(
                fmt::format("strategy.file's `mix` gives client {} the update of client {} at the weight {}; a smaller "
                            "training.optimizer.lr, or another value of the method's keys, usually helps",
                            client_id, senders[j].client_id, weights.of_updates[j]));
}

}  // namespace

Mixing::Mixing(const aggregation::formulas::MethodFormulas& method, const aggregation::formulas::ServerScene& scene) {
    if (!method.has(Place::Mix)) return;
    mix_.emplace(method, scene);
    sum_ = aggregation::make_sum();
    num_clients_ = scene.num_clients;
    takes_products_ = method.parsed(Place::Peers).takes_products();
}

void Mixing::mix(const Arrivals& arrived, std::int64_t round, aggregation::ConstParamSpan sent, const Weighing& weighing,
                 const TakeProducts& products, const TakeLosses& losses, const Combine& combine,
                 aggregation::ClientStates& states) {
    const std::vector<aggregation::Sender> senders = weighing.senders_of(arrived);
    std::vector<double> norms;
    norms.reserve(senders.size());
    for (const aggregation::Sender& sender : senders) norms.push_back(sender.update_norm);
    aggregation::InnerProducts taken;
    if (takes_products_) taken = products(arrived.updates, aggregation::base_row(norms), {});
    const std::vector<double> theirs = mix_->reads_losses() ? losses() : std::vector<double>();
    const aggregation::HostView model(sent);
    const std::vector<double> numbers = weighing.server_numbers_in(sent);
    for (std::size_t own = 0; own < senders.size(); ++own) {
        const aggregation::Coefficients weights = mix_->weigh(
            {.senders = senders,
             .products = takes_products_ ? &taken : nullptr,
             .num_clients = num_clients_,
             .round = static_cast<std::uint64_t>(round),
             .server_numbers = numbers},
            own, std::span(theirs).subspan(theirs.empty() ? 0 : own * senders.size(), theirs.empty() ? 0 : senders.size()));
        const ClientReport& client = arrived.clients[arrived.sender_of(arrived.updates[own])];
        require_finite(weights, senders, client.client_id);
        const aggregation::ConstParamSpan combined =
            mix_->takes_sum() ? combine(*sum_, aggregation::weighed(arrived.updates, weights, true)).values
                              : aggregation::ConstParamSpan();
        const aggregation::HostView sum(combined);
        if (client.elsewhere) continue;
        states.change(client.client_id, mix_->mixed(model, sum, states.of(client.client_id)));
    }
}

}  // namespace fedhive::sim
