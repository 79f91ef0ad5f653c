// A Little Is Enough: the mean of the honest updates, moved by a small multiple of their standard deviation.
#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/normal_quantile.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// z = Φ⁻¹((n − m − s) / (n − m)), s = ⌊n/2⌋ + 1 − m: of n updates, m are the attackers', and with s honest ones they are a majority.
double largest_unnoticed(double honest, double attackers) {
    const double supporters = std::max(1.0, std::floor((honest + attackers) / 2.0) + 1.0 - attackers);
    const double below = (honest - supporters) / honest;
    return below <= 0.5 ? 0.0 : normal_quantile(below);
}

/// out = μ − z σ, column by column, with mean μ and standard deviation σ of the honest updates.
///
/// Shapes   K >= 1 honest updates; with K = 1, σ = 0.
/// Source   Baruch, Baruch, Goldberg 2019 (arXiv:1902.06156).
/// Differs  vectors are updates, not gradients; μ and σ are those of the honest updates, which the paper's attackers estimate; s >= 1
///          and z >= 0, so that z exists for any attackers among a round's clients.
Crafted craft_alie(const HonestUpdates& honest, const Values& values) {
    const auto count = static_cast<double>(honest.count);
    const double z = values.optional_number("z").value_or(largest_unnoticed(count, static_cast<double>(honest.attackers)));
    return {.of_updates = std::vector<double>(honest.count, 1.0 / count), .of_extra = -z};
}

}  // namespace

AttackSpec alie() {
    return {
        .name = "alie",
        .summary =
            "the mean of the honest updates minus `z` of their standard deviations, column by column (A Little Is "
            "Enough, arXiv:1902.06156)",
        .keys = {share_of_attackers(),
                 {.name = "z",
                  .default_value = std::optional<double>(),
                  .range = at_least(0),
                  .empty_word = "auto",
                  .doc = "Standard deviations from the mean (z), typically 0.3–1.5. auto: the normal quantile of (n - m - s) "
                         "/ (n - m), where m of a round's n updates are the attackers' and s = ⌊n/2⌋ + 1 - m; 0 if that "
                         "is negative."}},
        .extra = [](const Values&) { return ExtraRow::Deviation; },
        .craft = craft_alie};
}

}  // namespace fedhive::aggregation
