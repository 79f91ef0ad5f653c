#include "clients/data/formats/npz_targets.h"

#include "aggregation/base/error.h"
#include "aggregation/base/keys.h"
#include "clients/data/formats/npz_values.h"

#include <string_view>

namespace fedhive::clients {

namespace {

constexpr double kMostClasses = kWide;

/// y, of as many examples as x has; what it holds of each.
std::uint64_t width_of(const NpzArray& y, std::uint64_t count, const char* wanted) {
    const NpyHeader& header = y.header();
    if (header.shape.empty() || header.shape.size() > 2)
        y.fail(fmt::format("has the shape {}; wanted: ({},) or ({}, {})", header.shape_text(), count, count, wanted),
               "y.reshape(len(x), -1)");
    if (header.shape[0] != count)
        y.fail(fmt::format("has {} values, but x has {} examples; the counts must be equal", header.shape[0], count),
               "y[:len(x)]");
    const std::uint64_t width = header.shape.size() == 2 ? header.shape[1] : 1;
    if (width == 0 || static_cast<double>(width) > kWide)
        y.fail(fmt::format("has the shape {}; wanted: 1 to {:.0f} {} an example", header.shape_text(), kWide, wanted),
               "y.reshape(len(x), -1)");
    return width;
}

std::vector<std::int32_t> as_labels(const std::vector<std::int64_t>& given, const NpyHeader& header, const std::string& file) {
    std::vector<std::int32_t> labels;
    labels.reserve(given.size());
    for (const std::int64_t label : given) {
        if (label < 0 || static_cast<double>(label) >= kMostClasses)
            throw ConfigError(
                fmt::format("{}: y: {} is {}; wanted: classes from 0, below {:.0f}; mend it, before training "
                            "and test examples are parted: y = numpy.unique(y, return_inverse=True)[1]{}",
                            file, place_of("y", header, labels.size()), label, kMostClasses,
                            header.shape.size() == 2 ? ".reshape(y.shape)" : ""));
        labels.push_back(static_cast<std::int32_t>(label));
    }
    return labels;
}

void read_numbers(const NpzArchive& archive, Examples& part, std::uint64_t count, bool& rounded) {
    NpzArray y = archive.open("y");
    const NpyHeader& header = y.header();
    const bool doubles = header.kind() == 'f' && header.item_bytes() == 8;
    if (!doubles && !(header.kind() == 'f' && header.item_bytes() == 4))
        y.fail(fmt::format("has the dtype {}; wanted: float32 or float64, the numbers of task regression", header.dtype),
               R"(y.astype("float32"))");
    const std::uint64_t width = width_of(y, count, "numbers");
    part.target = {TargetKind::Numbers, static_cast<std::uint32_t>(width)};
    part.numbers.resize(count * width);
    const auto take = [&](float value, std::uint64_t at) { part.numbers[at] = value; };
    doubles ? for_each_float<double>(y, "y", count * width, take) : for_each_float<float>(y, "y", count * width, take);
    rounded = rounded || doubles;
}

void read_classes_of_positions(const NpzArchive& archive, const std::string& file, Examples& part, std::uint64_t count) {
    NpzArray y = archive.open("y");
    if (y.header().kind() == 'f')
        y.fail(fmt::format("has the dtype {}; wanted: integers", y.header().dtype), R"(y.astype("int64"))");
    const std::uint64_t width = width_of(y, count, "positions");
    part.target = {TargetKind::ClassEach, static_cast<std::uint32_t>(width)};
    part.labels = as_labels(read_integers(y, count * width), y.header(), file);
}

}  // namespace

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
    if (header.kind() == 'f')
        array.fail(fmt::format("has the dtype {}; wanted: integers{}", header.dtype,
                               std::string_view(name) == "y" ? ", or task: regression, whose targets are numbers" : ""),
                   R"(ARRAY.astype("int64"))");
    if (header.shape.size() != 1)
        array.fail(fmt::format("has the shape {}; wanted: ({},), one integer for each example", header.shape_text(), count),
                   header.shape.size() == 2 && header.shape[1] > 1 ? "ARRAY.argmax(axis=1)" : "ARRAY.ravel()");
    if (header.shape[0] != count)
        array.fail(fmt::format("has {} values, but x has {} examples; the counts must be equal", header.shape[0], count),
                   "ARRAY[:len(x)]");
    return read_integers(array, count);
}

void read_targets(const NpzArchive& archive, const std::string& file, TargetKind wanted, Examples& part, std::uint64_t count,
                  bool& rounded) {
    if (wanted == TargetKind::Numbers) return read_numbers(archive, part, count, rounded);
    const NpyHeader header = archive.open("y").header();
    if (wanted == TargetKind::ClassEach && header.shape.size() == 2)
        return read_classes_of_positions(archive, file, part, count);
    part.labels = as_labels(read_one_each(archive, "y", count), header, file);
}

}  // namespace fedhive::clients
