#include "sim/run/fairness_table.h"

#include "sim/record/table_cells.h"

#include <fmt/format.h>

#include <charconv>

namespace fedhive::sim {

namespace {

std::string client_columns(const clients::Metric& metric) {
    return fmt::format("round,model,client_id,examples,loss,{}", metric.name);
}

/// Calls `use` with the name and the clients of each evaluated model.
template <class Use>
void each_model(const ClientsTest& test, const Use& use) {
    use("global", test.global);
    if (!test.personalized.empty()) use("personalized", test.personalized);
}

}  // namespace

std::string fairness_columns(const clients::Metric& metric) {
    std::string text = fmt::format("round,model,clients,examples,{0}_mean,{0}_std", metric.name);
    for (const int percent : kFairnessPercentiles) text += fmt::format(",{}_p{}", metric.name, percent);
    text += fmt::format(",{0}_worst_10,{0}_best_10,{0}_gini,{0}_by_examples,loss_mean,loss_by_examples", metric.name);
    for (const int percent : kFairnessDeciles) text += fmt::format(",{}_p{}", metric.name, percent);
    return text + "\n";
}

std::string fairness_rows(std::int64_t round, const ClientsTest& test, const clients::Metric& metric) {
    std::string rows;
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        const Fairness of = fairness_of(clients, metric.higher_is_better);
        rows += fmt::format("{},{},{},{},{},{}", round, model, of.clients, of.examples, of.mean, of.std);
        for (const double percentile : of.percentiles) rows += fmt::format(",{}", percentile);
        rows += fmt::format(",{},{},{},{},{},{}", of.worst_10, of.best_10, of.gini, of.mean_by_examples, of.loss_mean,
                            of.loss_by_examples);
        for (const double decile : of.deciles) rows += fmt::format(",{}", decile);
        rows += "\n";
    });
    return rows;
}

std::string client_table_name(const clients::Metric& metric) { return fmt::format("client_{}.csv", metric.name); }

std::string client_table(std::int64_t round, const ClientsTest& test, const clients::Metric& metric,
                         const std::vector<std::string>& owners) {
    std::string text = client_columns(metric) + (owners.empty() ? "\n" : ",owner\n");
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        for (const ClientQuality& client : clients)
            text += fmt::format("{},{},{},{},{},{}{}\n", round, model, client.client_id, client.examples, client.loss,
                                client.quality, owner_cell(owners, client.client_id));
    });
    return text;
}

std::int64_t round_of_client_table(std::string_view text, const clients::Metric& metric) {
    const std::string columns = client_columns(metric);
    const bool is_one = text.starts_with(columns + "\n") || text.starts_with(columns + ",owner\n");
    if (!is_one) return 0;
    text.remove_prefix(text.find('\n') + 1);
    std::int64_t round = 0;
    std::from_chars(text.data(), text.data() + text.size(), round);
    return round;
}

}  // namespace fedhive::sim
