// Typed access to an array's values, one by one, with error messages about single values.
#pragma once

#include "clients/data/formats/npz_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

inline constexpr std::size_t kValuesAtOnce = 1 << 20;  // values

/// Position `at` of an array: "x[3, 0, 7]".
std::string place_of(const char* name, const NpyHeader& header, std::uint64_t at);

/// Calls take(value, position) for all values in order; From is the array's type.
template <typename From, typename Take>
void for_each_value(NpzArray& array, std::uint64_t count, const Take& take) {
    std::vector<From> chunk(std::min<std::uint64_t>(count, kValuesAtOnce));
    for (std::uint64_t done = 0; done < count;) {
        const std::size_t size = std::min<std::uint64_t>(count - done, kValuesAtOnce);
        array.read({reinterpret_cast<char*>(chunk.data()), size * sizeof(From)});
        for (std::size_t i = 0; i < size; ++i) take(chunk[i], done + i);
        done += size;
    }
    array.expect_end();
}

/// Calls take(value, position) for all values, rounded to f32. Throws ConfigError for values that are not finite in f32.
template <typename From, typename Take>
void for_each_float(NpzArray& array, const char* name, std::uint64_t count, const Take& take) {
    for_each_value<From>(array, count, [&](From given, std::uint64_t at) {
        const auto value = static_cast<float>(given);
        if (!std::isfinite(value)) {
            const std::string place = place_of(name, array.header(), at);
            if (std::isfinite(given))
                array.fail(fmt::format("{} is {}, which does not fit in f32", place, given),
                           fmt::format("{0} / numpy.abs({0}).max()", name));
            array.fail(fmt::format("{} is {}; expected: finite numbers", place, given),
                       fmt::format("numpy.nan_to_num({})", name));
        }
        take(value, at);
    });
}

/// Calls take(value, position) for all integers in the array's type; types smaller than int are promoted.
template <typename Take>
void for_each_integer(NpzArray& array, std::uint64_t count, const Take& take) {
    const bool is_signed = array.header().kind() == 'i';
    const auto widened = [&](auto value, std::uint64_t at) { take(+value, at); };
    const auto each = [&]<typename Signed, typename Unsigned>(Signed, Unsigned) {
        is_signed ? for_each_value<Signed>(array, count, widened) : for_each_value<Unsigned>(array, count, widened);
    };
    switch (array.header().item_bytes()) {
        case 1:
            return each(std::int8_t{}, std::uint8_t{});
        case 2:
            return each(std::int16_t{}, std::uint16_t{});
        case 4:
            return each(std::int32_t{}, std::uint32_t{});
        default:
            return each(std::int64_t{}, std::uint64_t{});
    }
}

/// Opens an array of one integer per example, to be read by the caller. Throws ConfigError for another shape, count or type.
NpzArray open_one_each(const NpzArchive& archive, const char* name, std::uint64_t count);

}  // namespace fedhive::clients
