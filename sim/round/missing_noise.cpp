#include "sim/round/missing_noise.h"

#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

double missing_variance(const Arrivals& arrived, const Mode& mode) {
    constexpr double kRounding = 1e-9;
    double squares = 0.0, most = 0.0, of_client = 0.0;
    for (std::size_t i = 0; i < arrived.clients.size(); ++i) {  // by client id
        const ClientReport& client = arrived.clients[i];
        if (i == 0 || client.client_id != arrived.clients[i - 1].client_id) of_client = 0.0;
        if (client.failure) continue;
        const double discount = mode.staleness.discount(client.staleness);
        squares += discount * discount;
        of_client += discount;
        most = std::max(most, of_client);
    }
    const double promised = most * most;
    const double missing = promised - squares / static_cast<double>(mode.num_together(arrived.clients.size()));
    return missing > kRounding * promised ? missing : 0.0;
}

aggregation::Aggregate MissingNoise::completed(const aggregation::Aggregate& mean, const Arrivals& arrived, std::int64_t round,
                                               double clip_norm) {
    const double of_sum = clients::noise_of_sum(upload_, clip_norm);
    const double missing = of_sum > 0.0 ? missing_variance(arrived, mode_) : 0.0;
    if (missing == 0.0) return mean;
    if (sum_.span().size == 0) sum_ = aggregation::ParamBuffer(mean.values.size, mean.values.space);
    aggregation::copy(sum_, mean.values);
    const aggregation::ParamSpan model = sum_.span().first(layout_.num_floats());
    const std::uint64_t key = Stream(seed_, Purpose::MissingNoise, static_cast<std::uint32_t>(round)).next_u64();
    clients::add_noise(model, layout_, key, of_sum * std::sqrt(missing) / mean.weight);
    local_.hide(model, mean.values.part(0, model.size));
    return {sum_, mean.weight, mean.clients};
}

}  // namespace fedhive::sim
