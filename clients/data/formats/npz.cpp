#include "clients/data/formats/npz.h"

#include "aggregation/base/error.h"
#include "clients/data/data_warnings.h"
#include "clients/data/formats/npz_targets.h"
#include "clients/data/formats/npz_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace fedhive::clients {

namespace {

/// The content of x.
enum class NpzContent { Numbers, Tokens };
constexpr auto all_words(NpzContent) { return std::array{"numbers", "tokens"}; }

constexpr std::uint64_t kMostExamples = std::numeric_limits<std::uint32_t>::max();
constexpr auto kMostTokens = static_cast<std::int64_t>(kWide);

template <typename From>
std::vector<std::uint8_t> read_floats(NpzArray& array, std::uint64_t count) {
    std::vector<std::uint8_t> values(count * sizeof(float));
    for_each_float<From>(array, "x", count,
                         [&](float value, std::uint64_t at) { std::memcpy(&values[at * sizeof value], &value, sizeof value); });
    return values;
}

/// Shape of an example by the shape of x. Throws ConfigError for others.
ExampleShape shape_of(const NpzArray& x) {
    const std::vector<std::uint64_t>& shape = x.header().shape;
    if (shape.size() < 2 || shape.size() > 4)
        x.fail(fmt::format("has the shape {}; expected: (n, features), (n, height, width) or (n, channels, height, width)",
                           x.header().shape_text()),
               shape.empty() ? "numpy.atleast_2d(x)" : "x.reshape(len(x), -1)");
    double values = 1.0;
    for (std::size_t i = 1; i < shape.size(); ++i) values *= static_cast<double>(shape[i]);
    if (values < 1.0 || values > kMost || shape[0] == 0 || shape[0] > kMostExamples)
        x.fail(fmt::format("has the shape {}; expected: 1 to {} examples of 1 to {:.0f} values each", x.header().shape_text(),
                           kMostExamples, kMost),
               R"(numpy.savez("FILE.npz", x=x, y=y))");
    const auto side = [&](std::size_t i) { return static_cast<std::int64_t>(shape[i]); };
    if (shape.size() == 2) return {side(1), 1, 1};
    if (shape.size() == 3) return {1, side(1), side(2)};
    return {side(1), side(2), side(3)};
}

ValueType type_of(const NpzArray& x) {
    const NpyHeader& header = x.header();
    if (header.kind() == 'u' && header.item_bytes() == 1) return ValueType::U8;
    if (header.kind() == 'f' && (header.item_bytes() == 4 || header.item_bytes() == 8)) return ValueType::F32;
    x.fail(fmt::format("has the dtype {}; expected: uint8 (bytes, 0 to 255), float32 or float64", header.dtype),
           R"(x.astype("float32"))");
}

std::vector<std::uint8_t> read_bytes(NpzArray& array, std::uint64_t count) {
    std::vector<std::uint8_t> values(count);
    array.read({reinterpret_cast<char*>(values.data()), count});
    array.expect_end();
    return values;
}

/// Reads x as tokens; `vocabulary` becomes at least the largest token + 1.
Examples read_tokens(NpzArray& x, std::int64_t& vocabulary) {
    const NpyHeader& header = x.header();
    if (header.kind() == 'f')
        x.fail(fmt::format("has the dtype {}; expected: integers, because data.values is tokens", header.dtype),
               R"(x.astype("int32"))");
    if (header.shape.size() != 2)
        x.fail(fmt::format("has the shape {}; expected: (n, positions), because data.values is tokens", header.shape_text()),
               header.shape.empty() ? "numpy.atleast_2d(x)" : "x.reshape(len(x), -1)");
    Examples part{.shape = shape_of(x), .values = {}, .labels = {}};
    const std::uint64_t count = header.shape[0] * header.shape[1];
    if (header.kind() == 'u' && header.item_bytes() == 1) {
        part.values = read_bytes(x, count);
        vocabulary = 1 + std::int64_t{*std::max_element(part.values.begin(), part.values.end())};
        return part;
    }
    part.type = ValueType::I32;
    part.values.resize(count * sizeof(std::int32_t));
    for_each_integer(x, count, [&](auto given, std::uint64_t at) {
        if (std::cmp_less(given, 0) || std::cmp_greater_equal(given, kMostTokens))
            x.fail(fmt::format("{} is {}; expected: tokens from 0, below {}", place_of("x", header, at), given, kMostTokens),
                   "numpy.unique(x, return_inverse=True)[1].reshape(x.shape)");
        const auto token = static_cast<std::int32_t>(given);
        std::memcpy(&part.values[at * sizeof token], &token, sizeof token);
        vocabulary = std::max(vocabulary, std::int64_t{token} + 1);
    });
    return part;
}

/// Sets the vocabulary of both parts: the given one, else that of the training part. Throws ConfigError for tokens outside.
void set_vocabulary(const NpzFiles& files, Dataset& dataset, std::int64_t in_train, std::int64_t in_test) {
    const std::int64_t vocabulary = files.vocabulary > 0 ? files.vocabulary : in_train;
    for (const auto& [file, seen] : {std::pair(files.train, in_train), std::pair(files.test, in_test)})
        if (seen > vocabulary)
            throw ConfigError(fmt::format("{}: x: has the token {}; allowed: 0 to {}; set data.vocabulary to at least {}",
                                          file.string(), seen - 1, vocabulary - 1, seen));
    dataset.train.shape.vocabulary = dataset.test.shape.vocabulary = vocabulary;
}

/// Reads a part. `rounded` becomes true if values were f64; `vocabulary` becomes that of its tokens.
Examples read_part(const std::filesystem::path& file, const NpzFiles& files, bool& rounded, std::int64_t& vocabulary) {
    const NpzArchive archive(file);
    NpzArray x = archive.open("x");
    if (files.tokens) {
        Examples part = read_tokens(x, vocabulary);
        read_targets(archive, file.string(), files.targets, part, x.header().shape[0], rounded);
        return part;
    }
    Examples part{.shape = shape_of(x), .values = {}, .labels = {}, .type = type_of(x)};
    const std::uint64_t size = x.header().shape[0], count = size * part.shape.num_values();
    const bool doubles = x.header().item_bytes() == 8;
    rounded = rounded || doubles;
    if (part.type == ValueType::U8)
        part.values = read_bytes(x, count);
    else
        part.values = doubles ? read_floats<double>(x, count) : read_floats<float>(x, count);
    read_targets(archive, file.string(), files.targets, part, size, rounded);
    return part;
}

/// The array `client` as owners, numbered from 0 in ascending order of their values; empty without such an array.
std::vector<std::uint32_t> read_owners(const std::filesystem::path& file, std::uint64_t count) {
    const NpzArchive archive(file);
    if (!archive.has("client")) return {};
    NpzArray client = open_one_each(archive, "client", count);
    std::vector<std::uint64_t> given;  // the sign bit is flipped, so unsigned order is the values' order
    given.reserve(count);
    for_each_integer(client, count, [&](auto owner, std::uint64_t) {
        given.push_back(static_cast<std::uint64_t>(owner) ^ (std::is_signed_v<decltype(owner)> ? std::uint64_t{1} << 63U : 0U));
    });
    std::vector<std::uint64_t> distinct = given;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<std::uint32_t> owners(given.size());
    std::transform(given.begin(), given.end(), owners.begin(), [&](std::uint64_t owner) {
        return static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), owner) - distinct.begin());
    });
    return owners;
}

std::int64_t num_classes_of(const std::vector<std::int32_t>& labels) {
    if (labels.empty()) return 0;
    return 1 + std::int64_t{std::max(-1, *std::max_element(labels.begin(), labels.end()))};  // kIgnored: no class
}

void check_labels(const std::filesystem::path& file, const Examples& part, std::int64_t num_classes) {
    const auto outside =
        std::find_if(part.labels.begin(), part.labels.end(), [&](std::int32_t label) { return label >= num_classes; });
    if (outside == part.labels.end()) return;
    const auto at = outside - part.labels.begin(), width = static_cast<std::ptrdiff_t>(part.target.width);
    const std::string place =
        part.target.kind == TargetKind::Class ? fmt::format("{}", at) : fmt::format("{}, {}", at / width, at % width);
    throw ConfigError(fmt::format("{}: y: y[{}] is {}; allowed: 0 to {}; set data.classes to at least {}", file.string(), place,
                                  *outside, num_classes - 1, *outside + 1));
}

const char* name_of(ValueType type) {
    return type == ValueType::U8 ? "uint8" : type == ValueType::F32 ? "float32" : "of more than one byte";
}

DataShape npz_shape(const NpzFiles& files, std::int64_t num_classes) {
    const NpzArchive archive(files.train);
    NpzArray x = archive.open("x");
    const std::uint64_t size = x.header().shape.empty() ? 0 : x.header().shape[0];
    std::int64_t vocabulary = 0;
    ExampleShape shape = files.tokens ? read_tokens(x, vocabulary).shape : shape_of(x);
    if (files.tokens) shape.vocabulary = files.vocabulary > 0 ? files.vocabulary : vocabulary;
    Examples part;
    bool rounded = false;
    read_targets(archive, files.train.string(), files.targets, part, size, rounded);
    return {shape, num_classes > 0 ? num_classes : num_classes_of(part.labels), part.target};
}

NpzFiles npz_files(const Values& values, TargetKind wanted) {
    const bool tokens = values.choice<NpzContent>("values") == NpzContent::Tokens;
    return {values.path("train"), values.path("test"), tokens, tokens ? values.integer("vocabulary") : 0, wanted};
}

}  // namespace

Dataset read_npz(const NpzFiles& files, std::int64_t num_classes) {
    Dataset dataset;
    std::int64_t in_train = 0, in_test = 0;
    dataset.train = read_part(files.train, files, dataset.rounded, in_train);
    dataset.train.owners = read_owners(files.train, dataset.train.size());
    dataset.test = read_part(files.test, files, dataset.rounded, in_test);
    if (files.tokens) set_vocabulary(files, dataset, in_train, in_test);
    dataset.num_classes = num_classes > 0 ? num_classes : num_classes_of(dataset.train.labels);
    check_labels(files.train, dataset.train, dataset.num_classes);
    check_labels(files.test, dataset.test, dataset.num_classes);
    const ExampleShape &train = dataset.train.shape, &test = dataset.test.shape;
    if (train != test)
        throw ConfigError(fmt::format(
            "{}: x: test examples are {} x {} x {}, but training examples {} x {} x {}; both must have the same shape; fix: "
            "x_test = x_test.reshape(-1, *x_train.shape[1:])",
            files.test.string(), test.channels, test.height, test.width, train.channels, train.height, train.width));
    if (dataset.train.type != dataset.test.type)
        throw ConfigError(
            fmt::format("{}: x: test examples are {}, but training examples {}; both must have the same type; fix: x_test = "
                        "x_test.astype(x_train.dtype)",
                        files.test.string(), name_of(dataset.test.type), name_of(dataset.train.type)));
    if (dataset.train.target != dataset.test.target)
        throw ConfigError(
            fmt::format("{}: y: has {} per example, but the training file has {}; both must have the same shape; fix: y_test = "
                        "y_test.reshape(-1, *y_train.shape[1:])",
                        files.test.string(), dataset.test.target.width, dataset.train.target.width));
    dataset.warnings = channels_last(dataset.train);
    return dataset;
}

DataFormat npz() {
    const auto file = [](const char* name, const char* doc) {
        return KeySpec{
            .name = name, .default_value = std::filesystem::path(), .required = true, .may_change = true, .doc = doc};
    };
    return {
        .name = "npz",
        .summary = "NumPy archives",
        .keys = {file("train",
                      "The training examples, a file of `numpy.savez`: x of (n, features), (n, height, width) or (n, channels, "
                      "height, width), uint8, float32, or float64, which is rounded to float32; y of (n,), integers; for task "
                      "regression y of (n,) or (n, numbers), float32 or float64; for next_token of (n,) or (n, positions), "
                      "integers; for scheme natural, client of (n,), integers; relative to the config file. docs/data.md."),
                 file("test", "The test examples, in the same form."),
                 {.name = "classes",
                  .default_value = std::int64_t{0},
                  .range = between(0, kWide),
                  .doc = "Number of classes; 0: counted from the training labels. Not for task regression."},
                 {.name = "values",
                  .default_value = NpzContent::Numbers,
                  .choices = words_of<NpzContent>(),
                  .doc =
                      "Content of x. tokens: integers from 0 of shape (n, positions), for a model that begins with embedding."},
                 {.name = "vocabulary",
                  .default_value = std::int64_t{0},
                  .range = between(0, kWide),
                  .with = KeySpec::Companion{"values", {word_of(NpzContent::Tokens)}},
                  .doc = "Size of the vocabulary; 0: counted from the training examples."}},
        .shape = [](const Values& values,
                    TargetKind wanted) { return npz_shape(npz_files(values, wanted), classes_wanted(values, wanted)); },
        .read = [](const Values& values, std::uint64_t,
                   TargetKind wanted) { return read_npz(npz_files(values, wanted), classes_wanted(values, wanted)); },
        .targets = {TargetKind::Class, TargetKind::ClassEach, TargetKind::Numbers}};
}

}  // namespace fedhive::clients
