#include "sim/run/fairness_table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace fedhive::sim {

namespace {

using Model = FairnessOfModel;

constexpr Column<Model> kCounts[]{
    {"round", "", "as in rounds.csv; the model is that after the round's server step",
     [](const Model& row) { return row.round; }},
    {"model", "",
     "`global`: the global one, where the model has [local parts](../docs/models.md#local-parts) with each client's own in "
     "their "
     "places; `personalized`: each client's own ([personalised models](../docs/fairness.md#personalised-models))",
     [](const Model& row) { return row.model; }},
    {"clients", "", "that were evaluated", [](const Model& row) { return row.of.clients; }},
    {"examples", "", "their held-out examples together", [](const Model& row) { return row.of.examples; }},
};

constexpr Column<Model> kLosses[]{
    {"loss_mean", "", "the loss, mean per example: mean over the clients …", [](const Model& row) { return row.of.loss_mean; }},
    {"loss_by_examples", "", "… and over the examples", [](const Model& row) { return row.of.loss_by_examples; }},
};

/// A column for each percentage, "accuracy_p10", …; `values`: of one row.
template <std::size_t count>
void add_percentiles(Table<Model>& table, const std::string& metric, const std::array<int, count>& percents,
                     const std::string& meaning, const std::array<double, count> Fairness::*values) {
    for (std::size_t i = 0; i < count; ++i)
        table.add(fmt::format("{}_p{}", metric, percents[i]), "", i == 0 ? meaning : "",
                  [=](const Model& row) { return (row.of.*values)[i]; });
}

constexpr Column<QualityOfClient> kClient[]{
    {"round", "", "as in rounds.csv", [](const QualityOfClient& row) { return row.round; }},
    {"model", "", "as in fairness.csv", [](const QualityOfClient& row) { return row.model; }},
    {"client_id", "", "the client", [](const QualityOfClient& row) { return row.client.client_id; }},
    {"examples", "", "that it holds out", [](const QualityOfClient& row) { return row.client.examples; }},
    {"loss", "", "mean per example", [](const QualityOfClient& row) { return row.client.loss; }},
};

constexpr Column<QualityOfClient> kOwnerOfClient[]{
    {"owner", "", "only where the data name the clients, as in partition.csv",
     [](const QualityOfClient& row) { return row.owner; }},
};

/// Calls `use` with the name and the clients of each evaluated model.
template <class Use>
void each_model(const ClientsTest& test, const Use& use) {
    use("global", test.global);
    if (!test.personalized.empty()) use("personalized", test.personalized);
}

}  // namespace

Table<FairnessOfModel> fairness_csv(const clients::Metric& metric) {
    const std::string& name = metric.name;
    Table<Model> table;
    table.add(kCounts);
    table.add(name + "_mean", "", "mean of the clients' values", [](const Model& row) { return row.of.mean; });
    table.add(name + "_std", "", "their standard deviation, √(Σ (a_k − mean)² / N)",
              [](const Model& row) { return row.of.std; });
    add_percentiles(table, name, kFairnessPercentiles,
                    "percentiles of the values, between two clients in proportion (NumPy's default)", &Fairness::percentiles);
    table.add(name + "_worst_10", "", "mean of the ⌈N / 10⌉ worst values: the lowest accuracies, the largest errors",
              [](const Model& row) { return row.of.worst_10; });
    table.add(name + "_best_10", "", "mean of the ⌈N / 10⌉ best values", [](const Model& row) { return row.of.best_10; });
    table.add(
        name + "_gini", "",
        "Gini's coefficient of the values: the mean difference of two clients over twice the mean; 0 all alike, towards 1 few "
        "have all",
        [](const Model& row) { return row.of.gini; });
    table.add(name + "_by_examples", "", "the metric over examples, all clients together",
              [](const Model& row) { return row.of.mean_by_examples; });
    table.add(kLosses);
    add_percentiles(table, name, kFairnessDeciles, "the other deciles, as the percentiles above", &Fairness::deciles);
    return table;
}

Table<QualityOfClient> client_quality_csv(const clients::Metric& metric, bool with_owners) {
    Table<QualityOfClient> table;
    table.add(kClient);
    table.add(metric.name, "", metric.meaning + " on what the client holds out",
              [](const QualityOfClient& row) { return row.client.quality; });
    if (with_owners) table.add(kOwnerOfClient);
    return table;
}

std::string fairness_rows(std::int64_t round, const ClientsTest& test, const clients::Metric& metric) {
    const Table<FairnessOfModel> table = fairness_csv(metric);
    RowText rows;
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        table.append(rows, {round, model, fairness_of(clients, metric.higher_is_better)});
    });
    return fmt::to_string(rows);
}

std::string client_table_name(const clients::Metric& metric) { return fmt::format("client_{}.csv", metric.name); }

std::string client_table(std::int64_t round, const ClientsTest& test, const clients::Metric& metric,
                         const std::vector<std::string>& owners) {
    const Table<QualityOfClient> table = client_quality_csv(metric, !owners.empty());
    RowText rows;
    each_model(test, [&](const char* model, const std::vector<ClientQuality>& clients) {
        for (const ClientQuality& client : clients)
            table.append(rows, {round, model, client, owners.empty() ? std::string_view() : owners[client.client_id]});
    });
    return table.header() + fmt::to_string(rows);
}

std::int64_t round_of_client_table(std::string_view text, const clients::Metric& metric) {
    const bool is_one = text.starts_with(client_quality_csv(metric, false).header()) ||
                        text.starts_with(client_quality_csv(metric, true).header());
    if (!is_one) return 0;
    text.remove_prefix(text.find('\n') + 1);
    std::int64_t round = 0;
    std::from_chars(text.data(), text.data() + text.size(), round);
    return round;
}

}  // namespace fedhive::sim
