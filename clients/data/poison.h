// Poisoned training data: attackers train on changed examples. Each kind of change is one file of poisons/. To add one: write its file,
// add its line to poison.cpp.
//
//   label_flip, label_map   other labels
//   trigger                 a square stamped on a share of the images, which get the attackers' label: a backdoor
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/dataset.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

struct PoisonSpec {
    std::string name;
    std::string summary;  // what it does, and its source: half a line
    std::vector<KeySpec> keys{};
    /// Throws ConfigError if data with these training examples cannot be poisoned so.
    void (*check)(const Values& values, const Examples& train, std::int64_t num_classes) = nullptr;
    /// Changes these training examples, all of one attacker. seed: of the draws, which are keyed by the example.
    void (*apply)(const Values& values, Examples& train, std::span<const std::uint32_t> indices, std::int64_t num_classes,
                  std::uint64_t seed) = nullptr;
    /// For a backdoor: copies of the test examples of other labels, each with the trigger and the attackers' label. Null: no backdoor.
    Examples (*triggered)(const Values& values, const Examples& test) = nullptr;
};

/// All kinds, in the order of REFERENCE.md; the first one poisons nothing.
const std::vector<PoisonSpec>& poison_catalog();

/// The name must exist.
const PoisonSpec& poison_spec(const std::string& name);

/// The examples that a client trains on, by client.
using TrainedBy = std::function<std::span<const std::uint32_t>(std::size_t client)>;

/// Poisons the training examples of the attackers among `num_clients` clients, and puts triggered test examples after the others
/// (Dataset::num_triggered).
///
/// Order    draws of an example: Stream(seed, Purpose::Poison, 0, example), the same for any partition.
/// Throws   ConfigError if the data cannot be poisoned so, or nobody attacks.
void poison(Dataset& dataset, const Chosen& kind, std::size_t num_clients, const TrainedBy& trained_by,
            const std::function<bool(std::size_t client)>& is_attacker, std::uint64_t seed);

/// Throws ConfigError unless each example has one class.
void require_classes(const Examples& train);

}  // namespace fedhive::clients
