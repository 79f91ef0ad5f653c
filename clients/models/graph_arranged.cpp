#include "clients/models/graph_arranged.h"

#include <algorithm>
#include <limits>

namespace fedhive::clients {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of a size, so that products fit

using Dimension = Arranged::Dimension;

/// Joins neighbouring parts that one index runs over, and leaves out parts of size 1.
Dimension joined(const Dimension& parts) {
    Dimension result;
    for (const Arranged::Part& part : parts) {
        if (!part.examples && part.size == 1) continue;
        if (!result.empty() && !part.examples && !result.back().examples && result.back().stride == part.stride * part.size) {
            result.back() = {result.back().size * part.size, part.stride};
            continue;
        }
        result.push_back(part);
    }
    return result;
}

Arranged with(const Arranged& from, std::vector<Dimension> dimensions) {
    Arranged result = from;
    for (Dimension& each : dimensions) each = joined(each);
    result.dimensions = std::move(dimensions);
    return result;
}

ArrangedSize size_of(const Dimension& parts) {
    ArrangedSize size;
    for (const Arranged::Part& part : parts) {
        size.examples = size.examples || part.examples;
        if (!part.examples) size.number *= part.size;
    }
    return size;
}

/// Deals `parts` out to dimensions of the given sizes, in order, and splits a part where two of them meet in it.
std::optional<std::vector<Dimension>> dealt(Dimension parts, std::vector<ArrangedSize> sizes) {
    const ArrangedSize all = size_of(parts);
    ArrangedSize known;
    ArrangedSize* rest = nullptr;
    for (ArrangedSize& size : sizes) {
        if (size.number == -1 && !size.examples && rest == nullptr) {
            rest = &size;
            continue;
        }
        if (size.number < 1 || size.number > kMost || known.number > kMost || (size.examples && known.examples)) return {};
        known = {known.number * size.number, known.examples || size.examples};
    }
    if (rest != nullptr) *rest = {all.number / known.number, all.examples && !known.examples};
    std::reverse(parts.begin(), parts.end());  // the next one is the last
    std::vector<Dimension> dimensions;
    for (ArrangedSize size : sizes) {
        Dimension& dimension = dimensions.emplace_back();
        while (size != ArrangedSize{}) {
            if (parts.empty()) return {};
            Arranged::Part& next = parts.back();
            if (next.examples) {
                if (!size.examples) return {};
                size.examples = false;
            } else if (size.number % next.size == 0) {
                size.number /= next.size;
            } else if (size.number > 1 && next.size % size.number == 0) {
                const std::int64_t inner = next.size / size.number;
                dimension.push_back({size.number, next.stride * inner});
                next.size = inner;
                size.number = 1;
                continue;
            } else {
                return {};
            }
            dimension.push_back(next);
            parts.pop_back();
        }
    }
    return parts.empty() ? std::optional(dimensions) : std::nullopt;
}

}  // namespace

ArrangedSize Arranged::size(std::size_t dimension) const { return size_of(dimensions.at(dimension)); }

std::optional<std::size_t> Arranged::index(std::int64_t dimension) const {
    const auto rank = std::ssize(dimensions);
    if (dimension < -rank || dimension >= rank) return {};
    return static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension);
}

Arranged whole_sequence(const std::string& of, std::int64_t positions, std::int64_t features) {
    return with({.of = of}, {{{1, 0, true}}, {{positions, features}}, {{features, 1}}});
}

Arranged in_heads(const std::string& of, std::int64_t positions, std::int64_t features, std::int64_t heads, std::int64_t width,
                  std::int64_t first) {
    return with({.of = of, .offset = first}, {{{1, 0, true}}, {{heads, width}}, {{positions, features}}, {{width, 1}}});
}

std::optional<Arranged> viewed(const Arranged& from, const std::vector<ArrangedSize>& sizes) {
    Dimension parts;
    for (const Dimension& each : from.dimensions) parts.insert(parts.end(), each.begin(), each.end());
    const auto dimensions = dealt(parts, sizes);
    return dimensions ? std::optional(with(from, *dimensions)) : std::nullopt;
}

std::optional<Arranged> permuted(const Arranged& from, const std::vector<std::int64_t>& order) {
    std::vector<Dimension> dimensions;
    std::vector<bool> taken(from.dimensions.size());
    for (const std::int64_t each : order) {
        const auto at = from.index(each);
        if (!at || taken[*at]) return {};
        taken[*at] = true;
        dimensions.push_back(from.dimensions[*at]);
    }
    return dimensions.size() == from.dimensions.size() ? std::optional(with(from, dimensions)) : std::nullopt;
}

std::optional<Arranged> swapped(const Arranged& from, std::int64_t one, std::int64_t other) {
    const auto a = from.index(one), b = from.index(other);
    if (!a || !b) return {};
    std::vector<Dimension> dimensions = from.dimensions;
    std::swap(dimensions[*a], dimensions[*b]);
    return with(from, dimensions);
}

std::optional<Arranged> flattened(const Arranged& from, std::int64_t first, std::int64_t last) {
    const auto begin = from.index(first), end = from.index(last);
    if (!begin || !end || *begin > *end) return {};
    std::vector<Dimension> dimensions;
    for (std::size_t i = 0; i < from.dimensions.size(); ++i) {
        const Dimension& each = from.dimensions[i];
        if (i > *begin && i <= *end)
            dimensions.back().insert(dimensions.back().end(), each.begin(), each.end());
        else
            dimensions.push_back(each);
    }
    return with(from, dimensions);
}

std::optional<Arranged> unflattened(const Arranged& from, std::int64_t dimension, const std::vector<ArrangedSize>& sizes) {
    const auto at = from.index(dimension);
    if (!at) return {};
    const auto inner = dealt(from.dimensions[*at], sizes);
    if (!inner) return {};
    std::vector<Dimension> dimensions = from.dimensions;
    const auto place = dimensions.erase(dimensions.begin() + static_cast<std::ptrdiff_t>(*at));
    dimensions.insert(place, inner->begin(), inner->end());
    return with(from, dimensions);
}

std::optional<Arranged> selected(const Arranged& from, std::int64_t dimension, std::int64_t index) {
    const auto at = from.index(dimension);
    if (!at || from.size(*at).examples) return {};
    const std::int64_t size = from.size(*at).number;
    if (index < -size || index >= size) return {};
    std::int64_t left = index < 0 ? index + size : index;
    Arranged result = from;
    const Dimension& parts = from.dimensions[*at];
    for (std::size_t number = parts.size(); number > 0; --number) {
        const auto& part = parts[number - 1];
        result.offset += left % part.size * part.stride;
        left /= part.size;
    }
    result.dimensions.erase(result.dimensions.begin() + static_cast<std::ptrdiff_t>(*at));
    return result;
}

std::optional<Arranged> unsqueezed(const Arranged& from, std::int64_t dimension) {
    const auto rank = std::ssize(from.dimensions) + 1;
    if (dimension < -rank || dimension >= rank) return {};
    Arranged result = from;
    result.dimensions.insert(result.dimensions.begin() + (dimension < 0 ? dimension + rank : dimension), Dimension());
    return result;
}

std::optional<Arranged> squeezed(const Arranged& from, std::int64_t dimension) {
    const auto at = from.index(dimension);
    if (!at || from.size(*at).examples) return {};  // which depends on their number
    Arranged result = from;
    if (from.dimensions[*at].empty()) result.dimensions.erase(result.dimensions.begin() + static_cast<std::ptrdiff_t>(*at));
    return result;
}

std::optional<Arranged> sliced(const Arranged& from, std::int64_t dimension, std::int64_t begin, std::int64_t count) {
    const auto at = from.index(dimension);
    if (!at) return {};
    const ArrangedSize size = from.size(*at);
    if (size.examples || begin < 0 || count < 1 || begin > size.number || count > size.number - begin) return {};
    if (count == size.number) return from;
    if (from.dimensions[*at].size() != 1) return {};
    Arranged result = from;
    Arranged::Part& part = result.dimensions[*at].front();
    result.offset += begin * part.stride;
    part.size = count;
    return with(result, result.dimensions);
}

}  // namespace fedhive::clients
