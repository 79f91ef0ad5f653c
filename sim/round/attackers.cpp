#include "sim/round/attackers.h"

#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/deviation.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/sign_rules.h"
#include "aggregation/math/vector_ops.h"
#include "clients/uploads/upload.h"

#include <utility>

namespace fedhive::sim {

using aggregation::Crafted;
using aggregation::ExtraRow;
using aggregation::InnerProducts;
using aggregation::Update;

namespace {

/// The rows of Σ_k a_k u_k + b · e with their coefficients.
std::vector<Update> with_coefficients(std::span<const Update> rows, const Crafted& crafted) {
    return aggregation::weighed(rows, {.of_updates = crafted.of_updates, .of_last_aggregate = crafted.of_extra}, true);
}

}  // namespace

Attackers::Attackers(const Chosen& attack, const AttackerDraw& draw, const aggregation::Arena& arena, std::size_t extra_slot,
                     const aggregation::Memories& memories)
    : spec_(aggregation::attack_spec(attack.name)),
      values_(completed(attack.values, spec_.keys)),
      extra_(aggregation::extra_row(spec_, values_)),
      draw_(draw),
      arena_(arena),
      extra_slot_(extra_slot),
      memories_(memories) {
    if (spec_.craft != nullptr) sum_ = aggregation::make_sum();
    if (extra_ == ExtraRow::Deviation) deviation_ = aggregation::make_deviation();
    if (extra_ == ExtraRow::SignOfMean) signs_ = aggregation::make_sign_majority();
}

void Attackers::replace_updates(Arrivals& arrived, const TakeProducts& products, const Combine& combine) const {
    if (spec_.craft == nullptr) return;
    std::vector<Update> rows;
    std::vector<double> norms;
    std::vector<std::size_t> attackers;
    for (const Update& update : arrived.updates) {
        const std::size_t sender = arrived.sender_of(update);
        const ClientReport& client = arrived.clients[sender];
        if (attacks(client.client_id)) {
            attackers.push_back(sender);
            continue;
        }
        rows.push_back(update);
        rows.back().scale = rows.back().weight = 1.0;
        norms.push_back(client.result.update_norm);
    }
    if (rows.empty() || attackers.empty()) return;
    if (has_extra_row()) rows.push_back(extra_row(rows, combine));
    const InnerProducts taken = spec_.products ? products(rows, aggregation::base_row(norms), {}) : InnerProducts();
    const Crafted crafted = spec_.craft(
        {.count = norms.size(), .attackers = attackers.size(), .products = spec_.products ? &taken : nullptr}, values_);
    FEDHIVE_CHECK_EQ(crafted.of_updates.size(), norms.size());
    send(combine(*sum_, with_coefficients(rows, crafted)).values, arrived, attackers);
}

void Attackers::reserve(std::size_t num_floats, aggregation::MemorySpace space) const {
    for (aggregation::Aggregator* rule : {sum_.get(), deviation_.get(), signs_.get()})
        if (rule != nullptr) rule->zero_init(num_floats, space);
}

bool Attackers::attacks(std::uint32_t client_id) const {
    return clients::misbehaves(client_id, values_.number("share"), draw_.num_clients, draw_.sampling_seed);
}

/// Fills the attack's slot. sign(ū) is the majority of a single sign, that of Σ_k u_k.
Update Attackers::extra_row(std::span<const Update> honest, const Combine& combine) const {
    const aggregation::ParamSpan slot = arena_.slot(extra_slot_);
    const Update row{slot, honest.back().position + 1, 1.0, 1.0, 1, extra_slot_};
    if (extra_ == ExtraRow::Deviation) {
        aggregation::copy(slot, combine(*deviation_, honest).values);
        return row;
    }
    aggregation::copy(slot, combine(*sum_, honest).values);
    aggregation::copy(slot, combine(*signs_, {&row, 1}).values);
    return row;
}

void Attackers::send(aggregation::ConstParamSpan crafted, Arrivals& arrived, std::span<const std::size_t> attackers) const {
    const auto model_in = [&](std::size_t attacker) {
        return memories_.of(arena_.slot(arrived.clients[attacker].slot), aggregation::kModel);
    };
    const aggregation::ConstParamSpan model = memories_.of(crafted, aggregation::kModel);
    const aggregation::ParamSpan first = model_in(attackers.front());  // if another rank has it, nobody reads this slot here
    aggregation::set_zero(first);
    const double norm = aggregation::write_update(first, model, first).norm;
    for (const std::size_t attacker : attackers) {
        ClientReport& client = arrived.clients[attacker];
        client.result.update_norm = norm;
        if (!client.elsewhere) aggregation::copy(model_in(attacker), model);
    }
}

}  // namespace fedhive::sim
