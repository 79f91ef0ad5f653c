#include "sim/run/partition_table.h"

#include "sim/record/durable_file.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr Column<ClientOfPartition> kShard[]{
    {"client_id", "", "the client", [](const ClientOfPartition& row) { return row.client_id; }},
    {"num_examples", "", "its training examples", [](const ClientOfPartition& row) { return row.num_examples; }},
};

constexpr Column<ClientOfPartition> kHeldOut[]{
    {"held_out", "",
     "examples that it does not train on ([`data.partition.holdout`](../docs/data.md#held-out-examples)), not in the other "
     "counts",
     [](const ClientOfPartition& row) { return row.held_out; }},
};

constexpr Column<ClientOfPartition> kSkew[]{
    {"turned_deg", "", "only with [`data.skew`](../docs/data.md#skewed-features): degrees, counter-clockwise",
     [](const ClientOfPartition& row) { return row.turned_deg; }},
    {"noise_std", "", "likewise: standard deviation before normalisation",
     [](const ClientOfPartition& row) { return row.noise_std; }},
};

constexpr Column<ClientOfPartition> kName[]{
    {"owner", "",
     "only where the data name the clients ([owners](../docs/data.md#owners)), here, in clients.csv and in "
     "client_accuracy.csv: text, in quotes where it has a comma or a quote, cut off after 200 bytes",
     [](const ClientOfPartition& row) { return row.owner; }},
};

}  // namespace

Table<ClientOfPartition> partition_csv(std::size_t num_classes, bool with_skew, bool with_owners) {
    Table<ClientOfPartition> table;
    table.add(kShard);
    for (std::size_t label = 0; label < num_classes; ++label)
        table.add(fmt::format("label_{}", label), "", label == 0 ? "its training examples of each label" : "",
                  [label](const ClientOfPartition& row) { return row.label_counts[label]; });
    table.add(kHeldOut);
    if (with_skew) table.add(kSkew);
    if (with_owners) table.add(kName);
    return table;
}

void write_partition(const std::filesystem::path& file, const clients::SharedDataset& dataset, const clients::FeatureSkew& skew,
                     const std::vector<std::string>& owners) {
    const clients::DatasetMap& map = dataset.map();
    // Without class labels there are no counts per class.
    const bool labelled = map.target.kind == clients::TargetKind::Class;
    const std::size_t num_classes = labelled ? static_cast<std::size_t>(map.num_classes) : 0;
    const Table<ClientOfPartition> table = partition_csv(num_classes, skew.any(), !owners.empty());
    write_file(file, [&](const WritePart& write) {
        write(table.header());
        for (std::size_t client = 0; client < num_partitioned(map.num_clients, num_classes); ++client) {
            const auto shard = dataset.shard(client);
            RowText row;
            table.append(row, {.client_id = client,
                               .num_examples = shard.size(),
                               .label_counts = clients::label_counts(shard, dataset.train(), map.num_classes),
                               .held_out = dataset.held_out(client).size(),
                               .turned_deg = skew.any() ? skew.degrees(client) : 0,
                               .noise_std = skew.any() ? skew.noise_std(client, map.num_clients) : 0.0,
                               .owner = owners.empty() ? std::string_view() : owners[client]});
            write(text_of(row));
        }
    });
}

std::size_t num_partitioned(std::size_t num_clients, std::size_t num_classes) {
    const std::size_t fitting = kMostPartitionCounts / std::max<std::size_t>(1, num_classes);
    return std::min({num_clients, kMostPartitioned, std::max<std::size_t>(1, fitting)});
}

}  // namespace fedhive::sim
