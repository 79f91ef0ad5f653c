#include "clients/data/formats/npz_values.h"

#include <string_view>

namespace fedhive::clients {

std::string place_of(const char* name, const NpyHeader& header, std::uint64_t at) {
    std::string text;
    for (std::size_t i = header.shape.size(); i-- > 0; at /= header.shape[i])
        text = fmt::format("{}{}{}", at % header.shape[i], text.empty() ? "" : ", ", text);
    return fmt::format("{}[{}]", name, text);
}

NpzArray open_one_each(const NpzArchive& archive, const char* name, std::uint64_t count) {
    NpzArray array = archive.open(name);
    const NpyHeader& header = array.header();
    const bool floats = header.kind() == 'f';
    const char* or_numbers =
        floats && std::string_view(name) == "y" ? "; for targets that are numbers set task: regression" : "";
    // Checked before the type: of one score per class, floats or not, argmax gives the class.
    if (header.shape.size() != 1)
        array.fail(fmt::format("has the shape {}; expected: ({},), one integer for each example{}", header.shape_text(), count,
                               or_numbers),
                   std::string_view(name) == "y" && header.shape.size() == 2 && header.shape[1] > 1 ? "ARRAY.argmax(axis=1)"
                                                                                                    : "ARRAY.ravel()");
    if (floats)
        array.fail(fmt::format("has the dtype {}; expected: integers{}", header.dtype, or_numbers), R"(ARRAY.astype("int64"))");
    if (header.shape[0] != count)
        array.fail(fmt::format("has {} values, but x has {} examples; the counts must be equal", header.shape[0], count),
                   "ARRAY[:len(x)]");
    return array;
}

}  // namespace fedhive::clients
