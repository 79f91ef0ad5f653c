#include "sim/strategies/python_code.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

std::string keys_as_json(const PythonCode& code, const Values& values) {
    nlohmann::json numbers = nlohmann::json::object();
    for (const KeySpec& key : code.keys) {
        if (std::holds_alternative<std::int64_t>(key.default_value))
            numbers[key.name] = values.integer(key.name);
        else
            numbers[key.name] = values.number(key.name);
    }
    return numbers.dump();
}

}  // namespace fedhive::sim
