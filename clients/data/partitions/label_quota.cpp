// Label quota: every client has k labels, and a label's examples are dealt in equal parts to the clients that have it.
//
// Source    quantity-based label imbalance, #C = k, of Q. Li et al. 2022, "Federated Learning on Non-IID Data Silos: An
//           Experimental Study" (arXiv:2102.02079).
// Differs   a client's first label cycles through all labels in a drawn order, so with at least as many clients as labels every
//           label is used; the other labels are drawn. Only labels of training examples count. A label of n examples goes to at
//           most n clients, so that every client has examples of k labels. Examples of a label without a client are not used.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"

#include <algorithm>
#include <span>
#include <utility>

namespace fedhive::clients {

namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

/// Example indices per label, for the labels of training examples, ascending.
Lists examples_of_labels(const Deal& deal) {
    Lists by_label(static_cast<std::size_t>(deal.num_classes));
    for (std::size_t i = 0; i < deal.labels.size(); ++i)
        by_label.at(static_cast<std::size_t>(deal.labels[i])).push_back(static_cast<std::uint32_t>(i));
    std::erase_if(by_label, [](const auto& examples) { return examples.empty(); });
    return by_label;
}

/// Throws ConfigError if `quota` labels per client are impossible, with the largest possible number.
void check_quota(std::size_t quota, const Deal& deal, const Lists& by_label) {
    std::size_t places = 0;  // pairs (client, label) that the examples allow
    for (const auto& examples : by_label) places += std::min(examples.size(), deal.clients);
    const std::size_t possible = places / deal.clients;
    if (quota <= possible) return;
    throw ConfigError(fmt::format(
        "labels_per_client is {}, but the training examples have {} label{}{}; allowed: 1 to {}", quota, by_label.size(),
        by_label.size() == 1 ? "" : "s",
        quota <= by_label.size() ? fmt::format(", and some labels have fewer examples than there are clients, {}", deal.clients)
                                 : "",
        possible));
}

/// Draws each client's labels; returns the clients of each label.
Lists drawn_owners(const Deal& deal, std::size_t num_labels, std::size_t quota) {
    std::vector<std::uint32_t> first = all_indices(num_labels);
    Stream stream(deal.seed, Purpose::Partition, kSizes);
    shuffle(std::span(first), stream);
    Lists owners(num_labels);
    for (std::size_t client = 0; client < deal.clients; ++client) {
        std::vector<std::uint32_t> labels = all_indices(num_labels);
        std::swap(labels[0], labels[first[client % num_labels]]);
        for (std::size_t i = 1; i < quota; ++i) std::swap(labels[i], labels[i + stream.below(num_labels - i)]);
        for (std::size_t i = 0; i < quota; ++i) owners[labels[i]].push_back(static_cast<std::uint32_t>(client));
    }
    return owners;
}

bool has(const std::vector<std::uint32_t>& owners, std::uint32_t client) {
    return std::ranges::find(owners, client) != owners.end();
}

/// Replaces `client` by `by`; the list keeps its length.
void replace(std::vector<std::uint32_t>& owners, std::uint32_t client, std::uint32_t by) {
    *std::ranges::find(owners, client) = by;
}

/// Moves one place from label `full` to label `roomy`; every client keeps its number of labels.
///
/// An owner of `full` that lacks `roomy` changes labels. If all have `roomy`, a client without it takes it and gives one of
/// its labels to an owner of `full`.
void move_one(Lists& owners, std::size_t full, std::size_t roomy, std::size_t clients) {
    for (std::size_t i = owners[full].size(); i-- > 0;) {
        const std::uint32_t client = owners[full][i];
        if (has(owners[roomy], client)) continue;
        owners[full].erase(owners[full].begin() + static_cast<std::ptrdiff_t>(i));
        owners[roomy].push_back(client);
        return;
    }
    const std::uint32_t client = owners[full].back();
    std::uint32_t other = 0;
    while (has(owners[roomy], other)) ++other;
    FEDHIVE_CHECK(other < clients, "all {} clients have a label that has room", clients);
    for (auto& label : owners) {
        if (!has(label, other) || has(label, client)) continue;
        replace(label, other, client);
        owners[full].pop_back();
        owners[roomy].push_back(other);
        return;
    }
    throw Fault("a client has no label that another one lacks");
}

/// Reduces each label's owners to the number of its examples, keeping labels per client; check_quota()
/// ensures that it is possible.
void fit_to_examples(Lists& owners, const Lists& by_label, const Deal& deal) {
    Stream stream(deal.seed, Purpose::Partition, kRepair);
    for (std::size_t label = 0; label < owners.size(); ++label) {
        while (owners[label].size() > by_label[label].size()) {
            std::vector<std::size_t> roomy;
            for (std::size_t other = 0; other < owners.size(); ++other)
                if (owners[other].size() < std::min(by_label[other].size(), deal.clients)) roomy.push_back(other);
            FEDHIVE_CHECK(!roomy.empty(), "{} clients have {} labels each", deal.clients, owners.size());
            move_one(owners, label, roomy[stream.below(roomy.size())], deal.clients);
        }
    }
}

Partition deal_labels(const Deal& deal, const Values& values) {
    check_enough_examples(deal.labels.size(), deal.clients);
    const auto quota = static_cast<std::size_t>(values.integer("labels_per_client"));
    Lists by_label = examples_of_labels(deal);
    check_quota(quota, deal, by_label);
    Lists owners = drawn_owners(deal, by_label.size(), quota);
    fit_to_examples(owners, by_label, deal);
    Lists shards(deal.clients);
    for (std::size_t place = 0; place < owners.size(); ++place) {
        auto& examples = by_label[place];
        const auto label = static_cast<std::uint32_t>(deal.labels[examples.front()]);
        Stream stream(deal.seed, Purpose::Partition, kDeal, label);
        shuffle(std::span(examples), stream);
        for (std::size_t i = 0; i < examples.size() && !owners[place].empty(); ++i)
            shards[owners[place][i % owners[place].size()]].push_back(examples[i]);
    }
    return joined(shards);
}

}  // namespace

PartitionScheme label_quota() {
    return {
        .name = "label_quota",
        .summary = "a fixed number of labels per client; the clients of a label share its examples equally (arXiv:2102.02079)",
        .keys = {{.name = "labels_per_client",
                  .default_value = std::int64_t{2},
                  .range = between(1, kMost),
                  .doc = "Number of labels of each client (k), at most the number of labels in the training examples."}},
        .by_label = true,
        .deal = deal_labels};
}

}  // namespace fedhive::clients
