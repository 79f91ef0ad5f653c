#include "sim/run/fairness_table.h"

#include <fmt/format.h>

#include <charconv>

namespace fedhive::sim {

namespace {

constexpr std::string_view kClientColumns = "round,model,client_id,examples,loss,accuracy\n";

/// Calls with the name and the clients of each model that was evaluated.
template <class Use>
void each_model(const ClientsTest& test, const Use& use) {
    use("global", test.global);
    if (!test.personalized.empty()) use("personalized", test.personalized);
}

}  // namespace

std::string fairness_columns() {
    std::string text = "round,model,clients,examples,accuracy_mean,accuracy_std";
    for (const int percent : kFairnessPercentiles) text += fmt::format(",accuracy_p{}", percent);
    return text + ",accuracy_worst_10,accuracy_best_10,accuracy_gini,accuracy_by_examples,loss_mean,loss_by_examples\n";
}

std::string fairness_rows(std::int64_t round, const ClientsTest& test) {
    std::string rows;
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        const Fairness of = fairness_of(clients);
        rows += fmt::format("{},{},{},{},{},{}", round, model, of.clients, of.examples, of.mean, of.std);
        for (const double percentile : of.percentiles) rows += fmt::format(",{}", percentile);
        rows += fmt::format(",{},{},{},{},{},{}\n", of.worst_10, of.best_10, of.gini, of.mean_by_examples, of.loss_mean,
                            of.loss_by_examples);
    });
    return rows;
}

std::string client_accuracy_table(std::int64_t round, const ClientsTest& test) {
    std::string text(kClientColumns);
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        for (const ClientQuality& client : clients)
            text += fmt::format("{},{},{},{},{},{}\n", round, model, client.client_id, client.examples, client.loss,
                                client.accuracy);
    });
    return text;
}

std::int64_t round_of_client_accuracy(std::string_view text) {
    if (!text.starts_with(kClientColumns)) return 0;
    text.remove_prefix(kClientColumns.size());
    std::int64_t round = 0;
    std::from_chars(text.data(), text.data() + text.size(), round);
    return round;
}

}  // namespace fedhive::sim
