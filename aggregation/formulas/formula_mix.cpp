#include "aggregation/formulas/formula_mix.h"

#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::aggregation::formulas {

FormulaMix::FormulaMix(const MethodFormulas& method, const ServerScene& scene)
    : peers_(method.parsed(Place::Peers)),
      mix_(method.parsed(Place::Mix)),
      scene_(scene),
      ranges_(ranges_of(scene.layout)),
      names_(method) {
    set_keys(peers_, method);
    set_keys(mix_, method);
    for (const MethodMemory& memory : method.memories) {
        if (memory.up) came_up_.push_back(memory.name);
        if (memory.owner == MemoryOwner::Client && !memory.is_by_class()) kept_.push_back(memory.name);
        if (!memory.is_number() || !method.is_mixed(memory)) continue;
        numbers_.emplace_back(memory.name, 0.0F);
        changes_.push_back(
            {scene_.memories.find(memory.name)->record_offset, {&numbers_.back().second, 1, MemorySpace::Host}, false});
    }
    reads_losses_ = peers_.reads(kTheirLoss);
    takes_sum_ = mix_.reads("u") || std::ranges::any_of(came_up_, [&](const std::string& name) { return mix_.reads(name); });
    for (const std::string& name : mix_.program().stored) {
        const Memory& memory = *scene_.memories.find(name);
        set_zero(rooms_.emplace_back(memory.floats, MemorySpace::Host));  // what is between tensors stays 0
        changes_.push_back({memory.record_offset, rooms_.back().span(), false});
        mix_.write_to(name, rooms_.back());
    }
}

Coefficients FormulaMix::weigh(const RoundUpdates& updates, std::size_t own, std::span<const double> losses) {
    set_cohort(peers_, names_, updates);
    Numbers is_me, ids;
    for (std::size_t k = 0; k < updates.size(); ++k) {
        is_me.push_back(k == own ? 1.0 : 0.0);
        ids.push_back(static_cast<double>(updates.senders[k].client_id));
    }
    peers_.set("k.me", is_me);
    peers_.set("k.id", ids);
    if (reads_losses_) peers_.set(kTheirLoss, Numbers(losses.begin(), losses.end()));
    peers_.run({});
    round_ = static_cast<double>(updates.round);
    received_ = static_cast<double>(updates.size());
    return {.of_updates = weights_of(peers_, updates.size())};
}

const std::vector<RecordChange>& FormulaMix::mixed(ConstParamSpan sent, ConstParamSpan sum, ConstParamSpan record) {
    mix_.set("w_t", scene_.memories.of(sent, kModel));
    if (takes_sum_) {
        mix_.set("u", scene_.memories.of(sum, kModel));
        for (const std::string& name : came_up_) mix_.set(name, scene_.memories.of(sum, name));
    }
    for (const std::string& name : kept_) {
        const Memory& memory = *scene_.memories.find(name);
        const ConstParamSpan values = record.part(memory.record_offset, memory.floats);
        memory.shape == MemoryShape::Scalar ? mix_.set(name, values.host().front()) : mix_.set(name, values);
    }
    mix_.set("round", round_);
    mix_.set("clients", static_cast<double>(scene_.num_clients));
    mix_.set("received", received_);
    for (const auto& [name, value] : numbers_beside_weights(peers_)) mix_.set(name, value);
    mix_.run(ranges_);
    for (auto& [name, value] : numbers_) value = static_cast<float>(mix_.number(name));
    return changes_;
}

}  // namespace fedhive::aggregation::formulas
