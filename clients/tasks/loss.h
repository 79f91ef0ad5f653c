// Losses of local training by name. Each has a file with its formula for one target (losses/NAME.h) and one with its keys
// (losses/NAME.cpp). To add one: write both, add its line to loss.cpp, its LossKind, and its line to losses/row_loss.h. Every
// engine calls that formula; plain cross-entropy and the squared error have faster forms beside it.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/tasks/losses/terms.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace fedhive::clients {

/// A loss with its constants, as plain data for workers.
struct LossPlan {
    static constexpr std::size_t kMostWeights = 1024;

    LossKind kind = LossKind::CrossEntropy;
    float smoothing = 0.0F, gamma = 0.0F;
    std::uint32_t num_weights = 0;  // 0: no class weights
    std::array<float, kMostWeights> class_weights{};

    /// `weights`: the class weights in the memory where the engine computes; null only if there are none.
    LossTerms terms(const float* weights) const { return {kind, smoothing, gamma, num_weights > 0 ? weights : nullptr}; }
    LossTerms terms_on_host() const { return terms(class_weights.data()); }
};
static_assert(std::is_trivially_copyable_v<LossPlan>);

struct LossSpec {
    std::string name;
    std::string summary;  // half a line, with its source
    std::vector<KeySpec> keys;
    /// Finds conflicts between values that are each valid; null: there can be none.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// `values` must have all keys.
    LossPlan (*build)(const Values& values) = nullptr;
};

/// All losses, in the order of REFERENCE.md.
const std::vector<LossSpec>& loss_catalog();

/// The name must exist.
const LossSpec& loss_spec(const std::string& name);

/// Keys of losses of classes: class_weights, balanced.
std::vector<KeySpec> class_weight_keys();
std::optional<KeyProblem> check_class_weights(const Values& values);
/// Finds class weights whose number is not that of the data's classes.
std::optional<KeyProblem> check_class_weights(const Values& values, std::int64_t num_classes);

/// Sets the plan's class weights from those keys: the given ones; with `balanced` w_c = n / (C · n_c) with n_c =
/// examples_by_class[c] of n (0 for a class without examples); none otherwise.
void set_class_weights(LossPlan& plan, const Values& values, std::span<const std::uint64_t> examples_by_class);

}  // namespace fedhive::clients
