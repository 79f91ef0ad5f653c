// The attacks that a config can name in `attack`. The attackers of a round see all its honest updates u_1, …, u_K, and every attacker
// sends the same vector, Σ_k a_k u_k + b · e; e is one more vector that some attacks need (ExtraRow). An attack reads counts and
// inner products and returns the coefficients a and b, never a vector. So its result does not depend on the number of workers or ranks.
// To add one: write its file in this folder, add its line to attack_catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// The vector e. A column is one parameter's values in all honest updates. Deviation: the standard deviation of each column
/// (math/deviation.h). SignOfMean: the sign of each column's mean.
enum class ExtraRow { None, Deviation, SignOfMean };

/// What the attackers of a round know.
struct HonestUpdates {
    std::size_t count = 0;      // K >= 1
    std::size_t attackers = 0;  // m >= 1
    /// Inner products of the honest updates in cohort order, then of e if the attack has one; null unless AttackSpec::products.
    const InnerProducts* products = nullptr;
};

/// The coefficients of what every attacker sends: Σ_k a_k u_k + b · e.
struct Crafted {
    std::vector<double> of_updates;  // a_k, one for each honest update
    double of_extra = 0.0;           // b
};

struct AttackSpec {
    std::string name;
    std::string summary;  // what attackers send, and its source: half a line
    std::vector<KeySpec> keys{};
    bool products = false;                                                          // `craft` needs inner products
    ExtraRow (*extra)(const Values& values) = nullptr;                              // null: None
    Crafted (*craft)(const HonestUpdates& honest, const Values& values) = nullptr;  // null: nobody attacks
};

/// All attacks, in the order of REFERENCE.md; the first is "none".
const std::vector<AttackSpec>& attack_catalog();

/// The name must exist.
const AttackSpec& attack_spec(const std::string& name);

/// The row that the attack needs; `values` must have all keys.
ExtraRow extra_row(const AttackSpec& attack, const Values& values);

/// The key `share` of all attacks: the attackers among all clients.
KeySpec share_of_attackers();

}  // namespace fedhive::aggregation
