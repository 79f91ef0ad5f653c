#include "sim/round/weighing.h"

#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/math/host_view.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

using aggregation::Coefficients;
using aggregation::Groups;
using aggregation::InnerProducts;
using aggregation::Sender;
using aggregation::Update;

namespace {

std::vector<double> norms_of(std::span<const Sender> senders) {
    std::vector<double> norms;
    for (const Sender& sender : senders) norms.push_back(sender.update_norm);
    return norms;
}

/// The groups, and each row from `first` to `end` as a group of its own.
Groups with_rows_behind(Groups groups, std::size_t first, std::size_t end) {
    for (std::size_t row = first; row < end; ++row) groups.push_back({row});
    return groups;
}

void require_finite_weight(double coefficient, const Sender& sender) {
    if (!std::isfinite(coefficient))
        throw Fault(fmt::format(
            "the weight of client {}'s update is {}: the loss {} of the model that it was sent, or its update's norm "
            "{}, is too large; a smaller training.optimizer.lr usually helps",
            sender.client_id, coefficient, sender.sent_loss, sender.update_norm));
}

}  // namespace

Weighing::Weighing(const Strategy& strategy, const aggregation::LocalSteps& local, const clients::Reports& reports,
                   const aggregation::Arena& arena, const aggregation::Memories& memories, std::uint64_t num_clients,
                   std::uint64_t seed)
    : rule_(strategy.weight_rule.get()),
      grouping_(aggregation::pre_aggregation_spec(strategy.pre_aggregation.name)),
      of_grouping_(strategy.pre_aggregation.values),
      group_means_(strategy.group_means),
      seed_(seed),
      needs_products_(strategy.inner_products),
      numbers_(aggregation::formulas::server_numbers_of(strategy.method)),
      memories_(memories),
      of_sum_(strategy.aggregator->column_rule() == aggregation::ColumnRule::Sum),
      needs_root_(strategy.root_client),
      needs_histories_(strategy.histories),
      local_(local),
      lr_schedule_(strategy.lr_schedule),
      arena_(arena),
      num_clients_(num_clients) {
    if (reports.has("sent_loss")) sent_loss_ = reports.index_of("sent_loss");
    for (const std::string& report : strategy.reports) told_.push_back(reports.index_of(report));
    if (!strategy.keeps_last_aggregate) return;
    last_slot_ = arena.geometry().num_slots - 1;
    aggregation::set_zero(arena.slot(*last_slot_));
}

std::vector<Sender> Weighing::senders_of(const Arrivals& arrived) const {
    std::vector<Sender> senders;
    for (const Update& update : arrived.updates) {
        const ClientReport& report = arrived.clients[arrived.sender_of(update)];
        senders.push_back({.client_id = report.client_id,
                           .steps = report.result.steps,
                           .update_norm = report.result.update_norm,
                           .weight = update.weight,
                           .sent_loss = sent_loss_ ? report.result.reports[*sent_loss_] : 0.0,
                           .num_examples = report.num_examples,
                           .train_loss = report.result.train_loss});
        for (const std::size_t place : told_) senders.back().reports.push_back(report.result.reports[place]);
    }
    return senders;
}

Coefficients Weighing::weighed(const std::vector<Sender>& senders, const InnerProducts* products, std::int64_t round,
                               std::span<const double> server_numbers) const {
    if (rule_ == nullptr) return {.of_updates = std::vector<double>(senders.size(), 1.0)};
    aggregation::LocalSteps local = local_;
    local.lr *= static_cast<double>(lr_schedule_.factor(static_cast<std::uint64_t>(round)));
    Coefficients given = rule_->weigh({.senders = senders,
                                       .products = products,
                                       .num_clients = num_clients_,
                                       .local = local,
                                       .round = static_cast<std::uint64_t>(round),
                                       .server_numbers = server_numbers});
    FEDHIVE_CHECK_EQ(given.of_updates.size(), senders.size());
    for (std::size_t k = 0; k < senders.size(); ++k) require_finite_weight(given.of_updates[k], senders[k]);
    for (const std::vector<double>& weights : given.further)
        for (std::size_t k = 0; k < senders.size(); ++k) require_finite_weight(weights[k], senders[k]);
    return given;
}

std::vector<Update> Weighing::of_groups(const std::vector<Update>& rows, const std::vector<Sender>& senders,
                                        const InnerProducts* products, std::int64_t round) const {
    const Stream stream(seed_, Purpose::Bucketing, static_cast<std::uint32_t>(round));
    Groups groups = grouping_.groups(of_grouping_, senders.size(), products, stream);
    InnerProducts of_means;
    if (products != nullptr) of_means = products->of_means(with_rows_behind(groups, senders.size(), products->rows()));
    const InnerProducts* means = products != nullptr ? &of_means : nullptr;
    const Coefficients given = weighed(aggregation::senders_of(groups, senders, means), means, round);
    if (group_means_ == nullptr) return aggregation::weighed(rows, aggregation::spread(groups, given, senders.size()), of_sum_);
    group_means_->set_groups(aggregation::chosen(groups, given.of_updates));
    return rows;
}

std::vector<double> Weighing::server_numbers_in(aggregation::ConstParamSpan region) const {
    std::vector<double> numbers;
    for (const std::string& name : numbers_)
        numbers.push_back(static_cast<double>(aggregation::HostView(memories_.of(region, name)).host().front()));
    return numbers;
}

WeighedUpdates Weighing::weighed(const Arrivals& arrived, std::int64_t round, aggregation::ConstParamSpan sent,
                                 const TakeProducts& products) const {
    const bool groups = grouping_.groups != nullptr;
    if (rule_ == nullptr && !groups) return {arrived.updates};
    std::vector<Sender> senders = senders_of(arrived);
    if (!label_discrepancies_.empty())
        for (Sender& sender : senders) sender.label_discrepancy = label_discrepancies_.at(sender.client_id);
    const std::size_t base = needs_root_ ? senders.size() : aggregation::base_row(norms_of(senders));
    std::vector<std::uint32_t> history_of;
    if (needs_histories_)
        for (const Sender& sender : senders) history_of.push_back(sender.client_id);
    const InnerProducts taken = needs_products_ ? products(rows_of_products(arrived), base, history_of) : InnerProducts();
    const InnerProducts* of_rows = needs_products_ ? &taken : nullptr;
    std::vector<Update> rows = arrived.updates;
    if (last_slot_) rows.push_back(last_aggregate(arrived));
    if (groups) return {of_groups(rows, senders, of_rows, round)};
    const Coefficients given = weighed(senders, of_rows, round, server_numbers_in(sent));
    WeighedUpdates all{aggregation::weighed(rows, given, of_sum_)};
    for (const std::vector<double>& weights : given.further)
        all.further.push_back(aggregation::weighed(arrived.updates, {.of_updates = weights}, true));
    return all;
}

Update Weighing::last_aggregate(const Arrivals& arrived) const {
    return {arena_.slot(*last_slot_), arrived.updates.back().position + 1, 1.0, 1.0, 1, *last_slot_};
}

/// The updates, then what the rule asks for of the root client's update and the last aggregate. The root client's is the base: it is
/// honest, and most updates need not be.
std::vector<Update> Weighing::rows_of_products(const Arrivals& arrived) const {
    std::vector<Update> rows = arrived.updates;
    FEDHIVE_CHECK(!needs_root_ || arrived.root, "the root client's update is missing");
    if (needs_root_) rows.push_back(*arrived.root);
    if (last_slot_) rows.push_back(last_aggregate(arrived));
    return rows;
}

void Weighing::keep(const aggregation::Aggregate& aggregate) const {
    if (last_slot_) aggregation::copy(arena_.slot(*last_slot_), aggregate.values);
}

std::vector<aggregation::Moment> Weighing::moments() const {
    if (!last_slot_) return {};
    return {{"last_aggregate", arena_.slot(*last_slot_)}};
}

}  // namespace fedhive::sim
