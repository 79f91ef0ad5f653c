// AFL: weights of all clients on the simplex that climb where the loss is large.
#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/remembered_numbers.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/simplex.h"

namespace fedhive::aggregation {

namespace {

/// out = Σ λ_k u_k / Σ λ_k over the cohort, then λ ← Π(λ + γ F) over all clients, F_k the loss of the model that client k was sent
/// and 0 for those that were not; Π: onto the simplex. λ begins as 1/N; where the cohort has none of it, out = 0.
///
/// Shapes   n >= 1 updates, one client a slot. Memory: N numbers; they are in checkpoints.
/// Source   Mohri, Sivek, Suresh 2019 (arXiv:1902.00146), Algorithm 1.
/// Differs  clients take local steps, as in FedAvg; with a cohort smaller than N only its λ climb.
class Agnostic final : public WeightRule {
public:
    explicit Agnostic(double rate) : rate_(rate) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        if (lambda_.empty()) lambda_.assign(updates.num_clients, 1.0 / static_cast<double>(updates.num_clients));
        FEDHIVE_CHECK_EQ(lambda_.size(), updates.num_clients);
        double total = 0.0;
        for (const Sender& sender : updates.senders) total += lambda_.at(sender.client_id);
        Coefficients coefficients;
        for (const Sender& sender : updates.senders)
            coefficients.of_updates.push_back(total > 0.0 ? lambda_[sender.client_id] / total : 0.0);
        for (const Sender& sender : updates.senders) lambda_[sender.client_id] += rate_ * sender.sent_loss;
        lambda_ = onto_simplex(lambda_);
        return coefficients;
    }

    std::string state() const override { return text_of(lambda_); }
    bool restore(const std::string& state) override {
        const auto numbers = numbers_in(state);
        if (numbers) lambda_ = *numbers;
        return numbers.has_value();
    }

private:
    double rate_;
    std::vector<double> lambda_;  // by client; empty before the first round
};

}  // namespace

AggregatorSpec agnostic() {
    return {.name = "agnostic",
            .summary = "the mean by weights that climb where the loss is large (AFL, arXiv:1902.00146)",
            .single_updates = true,
            .weighs = false,
            .measures = {"loss"},
            .keys = {{.name = "lambda_lr",
                      .default_value = 0.1,
                      .range = at_least(0),
                      .doc = "Rate of the weights' ascent (γ_λ); 0 is the mean; typically 0.01–0.1."}},
            .build = [](const Values&) { return make_sum(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<Agnostic>(values.number("lambda_lr"));
            }};
}

}  // namespace fedhive::aggregation
