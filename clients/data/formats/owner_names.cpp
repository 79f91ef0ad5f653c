#include "clients/data/formats/owner_names.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fedhive::clients {

namespace {

struct WholeNumber {
    bool negative = false;
    std::string_view digits;  // without leading zeros; empty for 0
    bool operator==(const WholeNumber&) const = default;

    bool operator<(const WholeNumber& other) const {
        if (negative != other.negative) return negative;
        const std::pair size(digits.size(), digits), other_size(other.digits.size(), other.digits);
        return negative ? other_size < size : size < other_size;
    }
};

std::optional<WholeNumber> whole_number_in(std::string_view name) {
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    const bool negative = name.starts_with('-');
    if (negative || name.starts_with('+')) name.remove_prefix(1);
    if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return {};
    name.remove_prefix(std::min(name.find_first_not_of('0'), name.size()));
    return WholeNumber{negative && !name.empty(), name};
}

bool comes_before(std::string_view a, std::string_view b) {
    const auto number = whole_number_in(a), other = whole_number_in(b);
    if (number.has_value() != other.has_value()) return number.has_value();
    return number && *number != *other ? *number < *other : a < b;
}

}  // namespace

std::vector<std::uint32_t> numbered(const std::vector<std::string>& owners) {
    std::unordered_map<std::string_view, std::uint32_t> numbers;
    std::vector<std::string_view> names;
    for (const std::string& owner : owners)
        if (numbers.try_emplace(owner).second) names.push_back(owner);
    std::ranges::sort(names, comes_before);
    for (std::uint32_t number = 0; number < names.size(); ++number) numbers[names[number]] = number;
    std::vector<std::uint32_t> result;
    result.reserve(owners.size());
    for (const std::string& owner : owners) result.push_back(numbers[owner]);
    return result;
}

}  // namespace fedhive::clients
