#include "clients/data/formats/given_shape.h"

#include <fmt/format.h>

#include <cmath>

namespace fedhive::clients {

KeySpec shape_key(const std::string& doc) {
    return {
        .name = "shape", .default_value = std::vector<double>{}, .range = between(1, kWide), .default_note = "–", .doc = doc};
}

std::optional<KeyProblem> shape_problem(const Values& values) {
    const std::vector<double>& shape = values.numbers("shape");
    if (shape.empty()) return {};
    if (shape.size() != 3)
        return KeyProblem{"shape", fmt::format("has {} numbers; give three: channels, height, width", shape.size())};
    double product = 1.0;
    for (const double side : shape) {
        if (side != std::floor(side))
            return KeyProblem{"shape", fmt::format("{} is not an integer; give channels, height, width", side)};
        product *= side;
    }
    if (product > kWide)
        return KeyProblem{"shape", fmt::format("an example would have {} values; allowed: at most {}", product, kWide)};
    return {};
}

std::optional<ExampleShape> given_shape(const Values& values) {
    const std::vector<double>& shape = values.numbers("shape");
    if (shape.empty()) return {};
    const auto side = [&](std::size_t i) { return static_cast<std::int64_t>(shape[i]); };
    return ExampleShape{side(0), side(1), side(2)};
}

}  // namespace fedhive::clients
