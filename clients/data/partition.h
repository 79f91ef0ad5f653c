// Partition schemes: how training examples are dealt to clients. Each scheme is a pure function of (labels, values of its keys,
// seed), including the order of a client's list. Each is one file of partitions/. To add one: write its file, add its line to
// partition.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/dataset.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

/// The clients' index lists, concatenated: client k holds indices[offsets[k] .. offsets[k + 1]).
struct Partition {
    std::vector<std::uint32_t> indices;
    std::vector<std::uint64_t> offsets;  // [clients + 1]

    std::size_t num_clients() const { return offsets.size() - 1; }
    std::size_t num_examples(std::size_t client) const { return offsets[client + 1] - offsets[client]; }
    std::span<const std::uint32_t> shard(std::size_t client) const {
        return std::span(indices).subspan(offsets[client], num_examples(client));
    }
    std::uint64_t fingerprint() const;  // of the clients' lists, in order; stored in the manifest
};

/// Number of the shard's examples per label, [num_classes]; ignored targets are not counted. `labels`: of all examples.
std::vector<std::uint64_t> label_counts(std::span<const std::uint32_t> shard, std::span<const std::int32_t> labels,
                                        std::int64_t num_classes);
/// Number of the shard's examples per label, [num_classes]; empty unless targets are single classes.
std::vector<std::uint64_t> label_counts(std::span<const std::uint32_t> shard, const ExamplesView& examples,
                                        std::int64_t num_classes);

/// Input of a scheme.
struct Deal {
    std::span<const std::int32_t> labels;  // of all training examples; empty unless targets are single classes
    std::int64_t num_classes = 0;
    std::size_t clients = 0;  // 0: the scheme determines the number (names_clients)
    std::uint64_t seed = 0;
    std::span<const std::uint32_t> owners{};  // Examples::owners
    std::size_t examples = labels.size();
};

struct PartitionScheme {
    std::string name;
    std::string summary;  // effect and source: half a line
    std::vector<KeySpec> keys;
    bool by_label = false;       // reads labels
    bool names_clients = false;  // the data or a file determine the clients: their number may be left out
    bool by_owner = false;       // each client is one owner of examples
    bool by_number = false;      // a file names examples by their numbers in the training set
    /// Finds a wrong combination of values that are each valid; null: no combination is wrong.
    std::optional<KeyProblem> (*check)(const Values& values, std::int64_t clients) = nullptr;
    /// Deals the examples. `values`: of all its keys. Throws ConfigError, with the numbers, if they cannot be dealt so.
    Partition (*deal)(const Deal& deal, const Values& values) = nullptr;
};

/// All schemes, in the order of REFERENCE.md.
const std::vector<PartitionScheme>& partition_catalog();

/// The name must exist.
const PartitionScheme& partition_scheme(const std::string& name);

}  // namespace fedhive::clients
