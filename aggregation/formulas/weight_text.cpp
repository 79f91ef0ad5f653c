#include "aggregation/formulas/weight_text.h"

#include "aggregation/formulas/client_numbers.h"
#include "aggregation/formulas/cohort_values.h"

#include <functional>
#include <map>
#include <numeric>
#include <string>

namespace fedhive::aggregation::formulas {

namespace {

Formulas parsed(const AggregatorSpec& rule, const std::map<std::string, double>& keys) {
    MethodFormulas nothing;
    nothing.keys = keys;
    Scope scope = nothing.scope(Place::Cohort);
    for (const char* name : {"k.weight", "k.label_discrepancy"}) scope.given.emplace(name, Shape::Cohort);
    for (const char* name : {"lr", "momentum", "proximal_mu"}) scope.given.emplace(name, Shape::Number);
    if (!rule.root)
        for (const char* name : {kDotRoot, kCosRoot, kRootNorm}) scope.given.erase(name);
    scope.targets = {{"scale", Shape::Cohort}, {"share", Shape::Cohort}};
    ClientNumbers(rule.remembers).add_to(scope);
    return parse(rule.lines(), scope);
}

class WeightText final : public WeightRule {
public:
    WeightText(const AggregatorSpec& rule, const std::map<std::string, double>& keys)
        : executor_(parsed(rule, keys)), remembered_(rule.remembers), has_root_(rule.root), keeps_last_(rule.keeps_last) {
        for (const auto& [name, value] : keys) executor_.set(name, value);
        for (const Target& target : executor_.program().formulas.targets) sets_share_ = sets_share_ || target.name == "share";
    }

    Coefficients weigh(const RoundUpdates& updates) override {
        set_cohort(executor_, CohortNames(MethodFormulas()), updates);
        Numbers weights, discrepancies;
        for (const Sender& sender : updates.senders) {
            weights.push_back(sender.weight);
            discrepancies.push_back(sender.label_discrepancy);
        }
        executor_.set("k.weight", weights);
        executor_.set("k.label_discrepancy", discrepancies);
        executor_.set("lr", updates.local.lr);
        executor_.set("momentum", updates.local.momentum);
        executor_.set("proximal_mu", updates.local.proximal_mu);
        InnerProducts of_updates;
        if (has_root_) set_root(executor_, updates, of_updates);
        if (keeps_last_) {
            of_updates = updates.products->less_row(updates.size());
            executor_.set_products(&of_updates);
        }
        remembered_.give(executor_, updates);
        executor_.run({});
        executor_.set_products(nullptr);
        remembered_.take(executor_, updates);
        Coefficients result{.of_updates = weights_of(executor_, updates.size(), "scale")};
        if (sets_share_) result.weights = weights_of(executor_, updates.size(), "share");
        if (keeps_last_)
            result.of_last_aggregate = std::accumulate(result.of_updates.begin(), result.of_updates.end(), 1.0, std::minus<>());
        return result;
    }

    std::string state() const override { return remembered_.state(); }
    bool restore(const std::string& state) override { return remembered_.restore(state); }

private:
    Executor executor_;
    ClientNumbers remembered_;
    bool has_root_, keeps_last_;
    bool sets_share_ = false;
};

}  // namespace

std::unique_ptr<WeightRule> make_weight_rule(const AggregatorSpec& rule, const Values& values) {
    return rule.lines != nullptr ? std::make_unique<WeightText>(rule, numbers_of(rule.keys, values)) : nullptr;
}

}  // namespace fedhive::aggregation::formulas
