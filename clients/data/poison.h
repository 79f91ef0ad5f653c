// Poisoned training data: attackers train on changed examples. Each kind of change is one file of poisons/. To add one: write its file,
// add its line to poison.cpp.
//
//   label_flip   label y becomes classes − 1 − y
//   label_map    label y becomes labels[y]
//   trigger      a square stamped on a share of the images, which get the attackers' label: a backdoor
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
    /// Throws ConfigError if this kind cannot poison `train`.
    void (*check)(const Values& values, const Examples& train, std::int64_t num_classes) = nullptr;
    /// Changes train[i] for each i of `indices`, the examples of one attacker. seed: seeds the random draws, which differ by i.
    void (*apply)(const Values& values, Examples& train, std::span<const std::uint32_t> indices, std::int64_t num_classes,
                  std::uint64_t seed) = nullptr;
    /// For a backdoor: returns a copy of each test example whose label is not the attackers' label, with the trigger and the attackers' label.
    /// Null: no backdoor.
    Examples (*triggered)(const Values& values, const Examples& test) = nullptr;
};

/// All kinds, in the order of REFERENCE.md; the first one poisons nothing.
const std::vector<PoisonSpec>& poison_catalog();

/// The kind called `name`, which must exist.
const PoisonSpec& poison_spec(const std::string& name);

/// Maps a client to the indices of its training examples.
using TrainedBy = std::function<std::span<const std::uint32_t>(std::size_t client)>;

/// Poisons the training examples of the attackers among `num_clients` clients. Appends the triggered copies to the test examples;
/// Dataset::num_triggered counts them.
///
/// Random   example i draws from Stream(seed, Purpose::Poison, 0, i), so the draws do not depend on the partition.
/// Throws   ConfigError if this kind cannot poison the data, or no client attacks.
void poison(Dataset& dataset, const Chosen& kind, std::size_t num_clients, const TrainedBy& trained_by,
            const std::function<bool(std::size_t client)>& is_attacker, std::uint64_t seed);

/// Throws ConfigError unless each example has one class.
void require_classes(const Examples& train);

}  // namespace fedhive::clients
