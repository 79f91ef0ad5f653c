#include "clients/data/formats/npz_targets.h"

#include "aggregation/base/error.h"
#include "aggregation/base/keys.h"
#include "clients/data/formats/npz_values.h"

#include <utility>

namespace fedhive::clients {

namespace {

constexpr auto kMostClasses = static_cast<std::int64_t>(kWide);

/// Checks that y has `count` examples; returns the number of targets per example.
std::uint64_t width_of(const NpzArray& y, std::uint64_t count, const char* wanted) {
    const NpyHeader& header = y.header();
    if (header.shape.empty() || header.shape.size() > 2)
        y.fail(fmt::format("has the shape {}; expected: ({},) or ({}, {})", header.shape_text(), count, count, wanted),
               "y.reshape(len(x), -1)");
    if (header.shape[0] != count)
        y.fail(fmt::format("has {} values, but x has {} examples; the counts must be equal", header.shape[0], count),
               "y[:len(x)]");
    const std::uint64_t width = header.shape.size() == 2 ? header.shape[1] : 1;
    if (width == 0 || static_cast<double>(width) > kWide)
        y.fail(fmt::format("has the shape {}; expected: 1 to {:.0f} {} per example", header.shape_text(), kWide, wanted),
               "y.reshape(len(x), -1)");
    return width;
}

/// Python that turns a y with the invalid `label` into classes. It must not renumber tokens, nor give ignored targets a class.
template <typename Integer>
std::string mend_of(Integer label, bool at_positions) {
    const bool negative = std::cmp_less(label, 0);
    const std::string counted =
        negative ? fmt::format(", if {0} marks targets to ignore: y[y == {0}] = {1}", label, kIgnored) : "";
    if (at_positions) return negative ? counted : ": number the tokens of x and y from 0 with one common table";
    return fmt::format(
        "{}{}, before splitting into training and test examples: k = y != {}; y[k] = numpy.unique(y[k], "
        "return_inverse=True)[1]",
        counted, counted.empty() ? "" : "; or else", kIgnored);
}

std::vector<std::int32_t> read_labels(NpzArray& y, std::uint64_t count, const std::string& file) {
    std::vector<std::int32_t> labels;
    labels.reserve(count);
    for_each_integer(y, count, [&](auto label, std::uint64_t at) {
        const bool is_class = std::cmp_greater_equal(label, 0) && std::cmp_less(label, kMostClasses);
        if (!is_class && !std::cmp_equal(label, kIgnored))
            throw ConfigError(
                fmt::format("{}: y: {} is {}; expected: classes from 0, below {}, or {} for an ignored target; fix{}", file,
                            place_of("y", y.header(), at), label, kMostClasses, kIgnored,
                            mend_of(+label, y.header().shape.size() == 2 && y.header().shape[1] > 1)));
        labels.push_back(static_cast<std::int32_t>(label));
    });
    return labels;
}

void read_numbers(const NpzArchive& archive, Examples& part, std::uint64_t count, bool& rounded) {
    NpzArray y = archive.open("y");
    const NpyHeader& header = y.header();
    const bool doubles = header.kind() == 'f' && header.item_bytes() == 8;
    if (!doubles && !(header.kind() == 'f' && header.item_bytes() == 4))
        y.fail(
            fmt::format("has the dtype {}; expected: float32 or float64, because task regression needs numbers", header.dtype),
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
        y.fail(fmt::format("has the dtype {}; expected: integers", y.header().dtype), R"(y.astype("int64"))");
    const std::uint64_t width = width_of(y, count, "positions");
    part.target = {TargetKind::ClassEach, static_cast<std::uint32_t>(width)};
    part.labels = read_labels(y, count * width, file);
}

}  // namespace

void read_targets(const NpzArchive& archive, const std::string& file, TargetKind wanted, Examples& part, std::uint64_t count,
                  bool& rounded) {
    if (wanted == TargetKind::Numbers) return read_numbers(archive, part, count, rounded);
    if (wanted == TargetKind::ClassEach && archive.open("y").header().shape.size() == 2)
        return read_classes_of_positions(archive, file, part, count);
    NpzArray y = open_one_each(archive, "y", count);
    part.labels = read_labels(y, count, file);
}

}  // namespace fedhive::clients
