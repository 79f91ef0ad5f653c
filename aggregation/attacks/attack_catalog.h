// Attacks by colluding clients that see all honest updates of a round, as a config names them in `attack`. Every attacker sends the
// same vector, Σ_k a_k u_k + b · e: u_k are the K honest updates, and e is one more row that some attacks need. An attack sees
// counts and inner products and returns the coefficients, never a vector, so it is the same for any number of workers and ranks.
// To add one: write its file in this folder, add its line to attack_catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// The row e. Deviation: the standard deviation of each column of the honest updates (math/deviation.h). SignOfMean: the sign of
/// each column of their mean.
enum class ExtraRow { None, Deviation, SignOfMean };

/// What the attackers of a round know.
struct HonestUpdates {
    std::size_t count = 0;      // K >= 1
    std::size_t attackers = 0;  // m >= 1
    /// Of the honest updates in cohort order, then of the extra row if there is one; null unless the attack needs them.
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
