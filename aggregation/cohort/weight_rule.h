// Rules that weigh the K updates of a round by the numbers that clients sent with them, and by the updates' inner products. A weight
// rule decides when all updates have arrived, before they are combined. It reads K records of numbers and K × K products, never a
// vector, so its result does not depend on the number of workers or ranks. Most are text (formulas/weight_text.h); those in C++ are
// algorithms that formulas cannot express. To add one: write its file in aggregation/cohort/rules, add its line to aggregator_catalog.cpp.
#pragma once

#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// The client of an update, and the numbers that it sent.
struct Sender {
    std::uint32_t client_id = 0;
    std::uint64_t steps = 0;         // τ_k: local steps
    double update_norm = 0.0;        // Euclidean
    double weight = 1.0;             // w_k of strategy.weighting
    double sent_loss = 0.0;          // loss of the model that it was sent on its examples, if the rule measures it
    double label_discrepancy = 0.0;  // Euclidean norm of (its share of label c − 1 / labels) over c, if the rule asks for it
    std::uint64_t num_examples = 0;  // n_k
    double train_loss = 0.0;         // mean over its visit
    std::vector<double> reports{};   // its named reports, in the run's order; those of the method come first
};

/// The clients' rate and momentum, for rules that compute gradients back from updates.
struct LocalSteps {
    double lr = 0.0;        // client rate in this round, > 0
    double momentum = 0.0;  // of SGD
    double proximal_mu = 0.0;
};

/// The updates of a round in cohort order.
struct RoundUpdates {
    std::span<const Sender> senders;  // one for each update, ascending ids
    /// Inner products of the updates, then of the root client's update if the rule has `root`, then of the last aggregate if it keeps
    /// that; null unless needed. A rule with `histories` gets those of each client's sum of accepted updates instead.
    const InnerProducts* products = nullptr;
    std::uint64_t num_clients = 0;  // of the run
    LocalSteps local{};
    std::uint64_t round = 0;  // from 0
    std::span<const double>
        server_numbers{};  // memories of a method's server that are numbers, as they were sent, in the method's order

    std::size_t size() const { return senders.size(); }
    /// The row of the root client's update, for a rule with `root`.
    std::size_t root_row() const { return size(); }
};

/// The result of a weight rule: c_k and w_k of Σ c_k u_k / Σ w_k, or of Σ c_k u_k for ColumnRule::Sum, which does not divide.
struct Coefficients {
    std::vector<double> of_updates;              // c_k, one for each update; 0 leaves it out
    std::vector<double> weights{};               // w_k; empty: the same as of_updates
    double of_last_aggregate = 0.0;              // for rules that keep it
    std::vector<std::vector<double>> further{};  // c_k of further sums Σ c_k u_k, for a server that reads several
};

class WeightRule {
public:
    WeightRule() = default;
    WeightRule(const WeightRule&) = delete;
    WeightRule& operator=(const WeightRule&) = delete;
    virtual ~WeightRule() = default;

    /// updates.size() >= 1. All numbers of the result must be finite.
    virtual Coefficients weigh(const RoundUpdates& updates) = 0;

    /// What the rule remembers from round to round, as text for a checkpoint; empty: nothing.
    virtual std::string state() const { return ""; }
    /// Continues from a text that state() returned. Returns false if `state` cannot be from this rule.
    virtual bool restore(const std::string& state) { return state.empty(); }
};

}  // namespace fedhive::aggregation
