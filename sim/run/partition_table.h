// partition.csv: which client holds how many examples of which label.
#pragma once

#include "clients/data/feature_skew.h"
#include "clients/data/shared_dataset.h"
#include "sim/record/table.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// Limits of partition.csv: the number of clients, enough to see the partition, and the number of counts (clients × classes).
inline constexpr std::size_t kMostPartitioned = 10000;
inline constexpr std::size_t kMostPartitionCounts = 10'000'000;

/// How many of the first clients partition.csv lists.
std::size_t num_partitioned(std::size_t num_clients, std::size_t num_classes);

struct ClientOfPartition {
    std::size_t client_id = 0;
    std::size_t num_examples = 0;
    std::vector<std::uint64_t> label_counts{};  // of each class; empty without class labels
    std::size_t held_out = 0;
    std::uint32_t turned_deg = 0;
    double noise_std = 0.0;
    std::string_view owner{};
};

Table<ClientOfPartition> partition_csv(std::size_t num_classes, bool with_skew, bool with_owners);

/// Writes partition.csv: for each of the first num_partitioned() clients its training examples per label, its number of
/// held-out examples, its feature skew if there is one, and its name if there are `owners`.
void write_partition(const std::filesystem::path& file, const clients::SharedDataset& dataset, const clients::FeatureSkew& skew,
                     const std::vector<std::string>& owners);

}  // namespace fedhive::sim
