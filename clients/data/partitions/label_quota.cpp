// A fixed number of labels a client: the quantity-based label imbalance, #C = k, of Q. Li et al. 2022, "Federated Learning on Non-IID Data
// Silos: An Experimental Study" (arXiv:2102.02079). Every client is given k labels; the examples of a label are dealt in equal parts to the
// clients that have it.
//
// Differs   a client's first label goes round all labels in a drawn order, so that with at least as many clients as labels nothing is left
//           out; the others are drawn. Examples of a label that nobody has are not used.
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"

#include <span>
#include <utility>

namespace fedhive::clients {

namespace {

/// Which clients have each label, [num_classes].
std::vector<std::vector<std::size_t>> owners_of_labels(const Deal& deal, std::size_t quota) {
    const auto classes = static_cast<std::size_t>(deal.num_classes);
    std::vector<std::uint32_t> first = all_indices(classes);
    Stream stream(deal.seed, Purpose::Partition, kSizes);
    shuffle(std::span(first), stream);
    std::vector<std::vector<std::size_t>> owners(classes);
    for (std::size_t client = 0; client < deal.clients; ++client) {
        std::vector<std::uint32_t> labels = all_indices(classes);
        std::swap(labels[0], labels[first[client % classes]]);
        for (std::size_t i = 1; i < quota; ++i) std::swap(labels[i], labels[i + stream.below(classes - i)]);
        for (std::size_t i = 0; i < quota; ++i) owners[labels[i]].push_back(client);
    }
    return owners;
}

Partition deal_labels(const Deal& deal, const Values& values) {
    check_enough_examples(deal.labels.size(), deal.clients);
    const auto quota = static_cast<std::size_t>(values.integer("labels_per_client"));
    if (quota > static_cast<std::size_t>(deal.num_classes))
        throw ConfigError(fmt::format("{} labels a client, but the data have {} classes", quota, deal.num_classes));
    std::vector<std::vector<std::uint32_t>> by_label(static_cast<std::size_t>(deal.num_classes));
    for (std::size_t i = 0; i < deal.labels.size(); ++i)
        by_label.at(static_cast<std::size_t>(deal.labels[i])).push_back(static_cast<std::uint32_t>(i));
    const auto owners = owners_of_labels(deal, quota);
    std::vector<std::vector<std::uint32_t>> shards(deal.clients);
    for (std::size_t label = 0; label < owners.size(); ++label) {
        Stream stream(deal.seed, Purpose::Partition, kDeal, static_cast<std::uint32_t>(label));
        shuffle(std::span(by_label[label]), stream);
        for (std::size_t i = 0; i < by_label[label].size() && !owners[label].empty(); ++i)
            shards[owners[label][i % owners[label].size()]].push_back(by_label[label][i]);
    }
    return joined(shards);
}

}  // namespace

PartitionScheme label_quota() {
    return {.name = "label_quota",
            .summary = "so many labels a client, each dealt equally to those who have it (arXiv:2102.02079)",
            .keys = {{.name = "labels_per_client",
                      .default_value = std::int64_t{2},
                      .range = between(1, kMost),
                      .doc = "Labels each client has, at most the classes there are (k)."}},
            .by_label = true,
            .deal = deal_labels};
}

}  // namespace fedhive::clients
