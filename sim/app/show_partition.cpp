#include "sim/app/show_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace fedhive::sim {

namespace {

constexpr std::size_t kMostRows = 20;    // clients shown one by one …
constexpr std::size_t kFirstRows = 10;   // … and if there are more, the first of them
constexpr std::size_t kMostLabels = 12;  // labels with a column each

using Counts = std::vector<std::uint64_t>;  // [num_classes]

std::size_t num_labels_of(const Counts& counts) {
    return static_cast<std::size_t>(std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; }));
}

std::uint64_t num_examples_of(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

/// "3 (41 %)": the most frequent label.
std::string most_frequent(const Counts& counts) {
    const auto most = std::max_element(counts.begin(), counts.end());
    return fmt::format(
        "{} ({:.0f} %)", most - counts.begin(),
        100.0 * static_cast<double>(*most) / static_cast<double>(std::max<std::uint64_t>(1, num_examples_of(counts))));
}

/// "  held out" (a client's value or the column's name), if the data have held-out examples.
template <class Value>
std::string held_out_cell(const clients::DatasetMap& map, const Value& value) {
    return map.num_held_out == 0 ? "" : fmt::format(" {:>9}", value);
}

/// With feature skew: a client's rotation of images and standard deviation of noise.
std::string skew_cells(const clients::FeatureSkew& skew, std::size_t client, std::size_t clients) {
    return skew.any() ? fmt::format(" {:>6}° {:>7.3f}", skew.degrees(client), skew.noise_std(client, clients)) : "";
}

/// The client's name as the last cell, if clients have names.
std::string owner_cell(const ExperimentData& data, std::size_t client) {
    return data.owners.empty() ? "" : "  " + data.owners[client];
}

std::string skew_head(const clients::FeatureSkew& skew) {
    return skew.any() ? fmt::format(" {:>7} {:>7}", "turned", "noise") : "";
}

/// Every example has a label.
bool has_labels(const clients::DatasetMap& map) { return map.target.kind == clients::TargetKind::Class; }

/// `skew`: the head's cells for skew.
std::string partition_head(const clients::DatasetMap& map, const std::string& skew, const std::string& end) {
    const auto classes = static_cast<std::size_t>(map.num_classes);
    if (!has_labels(map))
        return fmt::format("{:>8} {:>9}{}{}{}", "client", "examples", held_out_cell(map, "held out"), skew, end);
    std::string text =
        fmt::format("{:>8} {:>9}{}{} {:>7}", "client", "examples", held_out_cell(map, "held out"), skew, "labels");
    if (classes > kMostLabels) return text + "  most frequent label" + end;
    for (std::size_t label = 0; label < classes; ++label) text += fmt::format(" {:>7}", fmt::format("label_{}", label));
    return text + end;
}

std::string partition_row(const clients::DatasetMap& map, const std::string& name, std::uint64_t examples, const Counts& counts,
                          std::uint64_t held_out, const std::string& skew, const std::string& owner = "") {
    std::string text = fmt::format("{:>8} {:>9}{}{}", name, examples, held_out_cell(map, held_out), skew);
    if (!has_labels(map)) return text + owner + "\n";
    text += fmt::format(" {:>7}", num_labels_of(counts));
    if (counts.size() > kMostLabels) return text + "  " + most_frequent(counts) + owner + "\n";
    for (const std::uint64_t count : counts) text += fmt::format(" {:>7}", count);
    return text + owner + "\n";
}

/// Total variation distance of two label distributions, Σ |p - q| / 2: 0 equal, 1 no label in common.
double label_distance(const Counts& one, const Counts& other) {
    const auto share = [](const Counts& counts, std::size_t label) {
        return static_cast<double>(counts[label]) / static_cast<double>(std::max<std::uint64_t>(1, num_examples_of(counts)));
    };
    double sum = 0.0;
    for (std::size_t label = 0; label < one.size(); ++label) sum += std::abs(share(one, label) - share(other, label));
    return sum / 2;
}

/// "12 to 403, median 88", or a single number if all are equal.
std::string range_of(std::vector<std::uint64_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    if (numbers.front() == numbers.back()) return fmt::format("{}", numbers.front());
    return fmt::format("{} to {}, median {}", numbers.front(), numbers.back(), numbers[numbers.size() / 2]);
}

}  // namespace

std::string partition_table(const RunConfig& run, const ExperimentData& data) {
    const clients::DatasetMap& map = data.dataset.map();
    const auto classes = has_labels(map) ? static_cast<std::size_t>(map.num_classes) : 0;
    const clients::FeatureSkew features = run.data.skew.resolved();
    const std::size_t shown = map.num_clients <= kMostRows ? map.num_clients : kFirstRows;
    const auto counts_of = [&](std::size_t client) {
        return clients::label_counts(data.dataset.shard(client), data.dataset.train(), map.num_classes);
    };
    Counts all(classes);
    for (std::size_t client = 0; client < map.num_clients; ++client) {
        const Counts counts = counts_of(client);
        std::transform(all.begin(), all.end(), counts.begin(), all.begin(), std::plus<>());
    }
    std::string rows;
    std::vector<std::uint64_t> sizes, labels;
    double skew = 0.0;
    for (std::size_t client = 0; client < map.num_clients; ++client) {
        const Counts counts = counts_of(client);
        const std::size_t examples = data.dataset.shard(client).size();
        if (client < shown)
            rows += partition_row(map, std::to_string(client), examples, counts, data.dataset.held_out(client).size(),
                                  skew_cells(features, client, map.num_clients), owner_cell(data, client));
        sizes.push_back(examples);
        labels.push_back(num_labels_of(counts));
        skew += label_distance(counts, all) / static_cast<double>(map.num_clients);
    }
    if (shown < map.num_clients) rows += fmt::format("{:>8} and {} more\n", "…", map.num_clients - shown);
    const std::string held_out = map.num_held_out == 0 ? "" : fmt::format("; the clients hold out {} more", map.num_held_out);
    const std::string root = map.num_root == 0 ? "" : fmt::format("; {} are the server's", map.num_root);
    const std::string of_labels = has_labels(map)
                                      ? fmt::format(
                                            "; labels of a client: {} of {}\nlabel skew {:.3f}: mean distance of a client's "
                                            "label proportions from those of all clients; 0: equal, 1: no common label\n",
                                            range_of(labels), classes, skew)
                                      : "\n";
    return fmt::format(
        "{}: {} of {} training examples to {} clients by {}{}{}, seed {}\n{}{}{}"
        "examples of a client: {}{}"
        "partition fingerprint {:016x}, data fingerprint {:016x}\n",
        run.name, map.num_indices, map.num_train, map.num_clients, run.data.partition.scheme, held_out, root,
        run.all_seeds().partition, partition_head(map, skew_head(features), data.owners.empty() ? "\n" : "  owner\n"), rows,
        partition_row(map, "all", map.num_indices, all, map.num_held_out, std::string(skew_head(features).size(), ' ')),
        range_of(sizes), of_labels, data.partition_fingerprint, data.fingerprint);
}

}  // namespace fedhive::sim
