#include "clients/data/formats/npz_values.h"

#include <string_view>

namespace fedhive::clients {

std::string place_of(const char* name, const NpyHeader& header, std::uint64_t at) {
    std::string text;
    for (std::size_t i = header.shape.size(); i-- > 0; at /= header.shape[i])
        text = fmt::format("{}{}{}", at % header.shape[i], text.empty() ? "" : ", ", text);
    return fmt::format("{}[{}]", name, text);
}

std::vector<std::int64_t> read_integers(NpzArray& array, std::uint64_t count) {
    std::vector<std::int64_t> values(count);
    const auto read = [&]<typename From>(From) {
        for_each_value<From>(array, count,
                             [&](From given, std::uint64_t at) { values[at] = static_cast<std::int64_t>(+given); });
    };
    const bool is_signed = array.header().kind() == 'i';
    switch (array.header().item_bytes()) {
        case 1:
            is_signed ? read(std::int8_t{}) : read(std::uint8_t{});
            break;
        case 2:
            is_signed ? read(std::int16_t{}) : read(std::uint16_t{});
            break;
        case 4:
            is_signed ? read(std::int32_t{}) : read(std::uint32_t{});
            break;
        default:
            is_signed ? read(std::int64_t{}) : read(std::uint64_t{});
    }
    return values;
}

std::vector<std::int64_t> read_one_each(const NpzArchive& archive, const char* name, std::uint64_t count) {
    NpzArray array = archive.open(name);
    const NpyHeader& header = array.header();
    const bool floats = header.kind() == 'f';
    const char* or_numbers = floats && std::string_view(name) == "y" ? ", or task: regression, whose targets are numbers" : "";
    // Before the type: of one value for each class, whatever its type, the place of the largest is the class.
    if (header.shape.size() != 1)
        array.fail(fmt::format("has the shape {}; wanted: ({},), one integer for each example{}", header.shape_text(), count,
                               or_numbers),
                   header.shape.size() == 2 && header.shape[1] > 1 ? "ARRAY.argmax(axis=1)" : "ARRAY.ravel()");
    if (floats)
        array.fail(fmt::format("has the dtype {}; wanted: integers{}", header.dtype, or_numbers), R"(ARRAY.astype("int64"))");
    if (header.shape[0] != count)
        array.fail(fmt::format("has {} values, but x has {} examples; the counts must be equal", header.shape[0], count),
                   "ARRAY[:len(x)]");
    return read_integers(array, count);
}

}  // namespace fedhive::clients
