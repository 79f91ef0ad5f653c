// Two levels of Dirichlet partitions: among groups (regions, edge servers), then among the clients of each group.
#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/partitions/dealing.h"
#include "clients/data/partitions/schemes.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

/// Throws ConfigError unless every group can get most_clients * min_examples examples, the need of the largest group.
void check_enough_for_groups(const Deal& deal, std::size_t groups, std::size_t min_examples) {
    const std::size_t most_clients = divide_up(deal.clients, groups), possible = deal.examples / (groups * most_clients);
    if (min_examples <= possible) return;
    throw ConfigError(fmt::format(
        "{} groups of up to {} clients with at least {} examples each, but only {} examples; {}give all groups the same size: "
        "{} clients",
        groups, most_clients, min_examples, deal.examples,
        possible == 0 ? "" : fmt::format("allowed: at most {} each; or ", possible), groups * (deal.clients / groups)));
}

}  // namespace

Partition partition_dirichlet_groups(const Deal& deal, std::size_t groups, double group_alpha, double alpha,
                                     std::size_t min_examples) {
    if (groups == 0 || groups > deal.clients)
        throw ConfigError(fmt::format("{} groups of {} clients; allowed: 1 to {}", groups, deal.clients, deal.clients));
    check_enough_examples(deal.examples, deal.clients, min_examples);
    check_enough_for_groups(deal, groups, min_examples);
    const auto first_client = [&](std::size_t group) { return group * deal.clients / groups; };
    const std::size_t most_clients = divide_up(deal.clients, groups);
    const Partition dealt =
        partition_dirichlet(deal.labels, deal.num_classes, groups, group_alpha, most_clients * min_examples, deal.seed);
    std::vector<std::vector<std::uint32_t>> shards;
    for (std::size_t group = 0; group < groups; ++group) {
        // Ascending, so the clients' partition depends on the group's set of examples, not on the order
        // in which they were dealt.
        std::vector<std::uint32_t> examples(dealt.shard(group).begin(), dealt.shard(group).end());
        std::ranges::sort(examples);
        std::vector<std::int32_t> labels;
        labels.reserve(examples.size());
        for (const std::uint32_t example : examples) labels.push_back(deal.labels[example]);
        const std::uint64_t seed = Stream(deal.seed, Purpose::Partition, kGroups, static_cast<std::uint32_t>(group)).next_u64();
        const Partition within = partition_dirichlet(labels, deal.num_classes, first_client(group + 1) - first_client(group),
                                                     alpha, min_examples, seed);
        for (std::size_t client = 0; client < within.num_clients(); ++client) {
            auto& shard = shards.emplace_back();
            for (const std::uint32_t place : within.shard(client)) shard.push_back(examples[place]);
        }
    }
    return joined(shards);
}

PartitionScheme dirichlet_groups() {
    return {
        .name = "dirichlet_groups",
        .summary = "skewed labels and sizes of groups of clients, and of clients within each (arXiv:1909.06335, twice)",
        .keys =
            {{.name = "groups",
              .default_value = std::int64_t{2},
              .range = between(1, kMost),
              .doc = "Number of groups, at most one per client; group g begins with client ⌊g · N / groups⌋."},
             {.name = "group_alpha",
              .default_value = 0.1,
              .range = between(0.001, 1e6),
              .doc =
                  "Concentration of the groups' label proportions, dimensionless, typically 0.1 (skewed) to 100 (nearly iid)."},
             {.name = "client_alpha",
              .default_value = 1.0,
              .range = between(0.001, 1e6),
              .doc = "The same for the clients within a group."},
             min_examples_key()},
        .by_label = true,
        .check = [](const Values& values, std::int64_t clients) -> std::optional<KeyProblem> {
            const std::int64_t groups = values.integer("groups");
            if (groups <= clients) return std::nullopt;
            return KeyProblem{"groups", fmt::format("{} groups of {} clients; allowed: 1 to {}", groups, clients, clients)};
        },
        .deal =
            [](const Deal& deal, const Values& values) {
                return partition_dirichlet_groups(deal, static_cast<std::size_t>(values.integer("groups")),
                                                  values.number("group_alpha"), values.number("client_alpha"),
                                                  static_cast<std::size_t>(values.integer("min_examples")));
            }};
}

}  // namespace fedhive::clients
