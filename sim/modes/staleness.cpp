#include "sim/modes/staleness.h"

#include <cmath>

namespace fedhive::sim {

double Staleness::discount(std::uint64_t tau) const {
    const auto age = static_cast<double>(tau);
    switch (function) {
        case Function::Constant:
            return 1.0;
        case Function::Hinge:
            return age <= b ? 1.0 : 1.0 / (a * (age - b) + 1.0);
        case Function::Polynomial:
            return std::pow(1.0 + age, -a);
    }
    return 1.0;
}

std::vector<KeySpec> staleness_keys() {
    return {{.name = "staleness",
             .default_value = Staleness::Function::Polynomial,
             .choices = words_of<Staleness::Function>(),
             .doc = "Weight of an update with a staleness of τ server steps. constant: 1; hinge: 1 up to τ = b, then 1 / (a (τ "
                    "- b) + 1); polynomial: (1 + τ)^-a; FedBuff uses 1 / sqrt(1 + τ) (s)."},
            {.name = "staleness_a",
             .default_value = 0.5,
             .range = between(0, 1000),
             .with = {{"staleness", {word_of(Staleness::Function::Hinge), word_of(Staleness::Function::Polynomial)}}},
             .doc = "hinge: slope, typically 10; polynomial: exponent, typically 0.5 (a)."},
            {.name = "staleness_b",
             .default_value = 4.0,
             .range = between(0, kMost),
             .with = {{"staleness", {word_of(Staleness::Function::Hinge)}}},
             .doc = "Number of server steps without a discount, typically 4 (b)."}};
}

Staleness staleness_of(const Values& values) {
    return {.function = values.choice<Staleness::Function>("staleness"),
            .a = values.number("staleness_a"),
            .b = values.number("staleness_b")};
}

}  // namespace fedhive::sim
