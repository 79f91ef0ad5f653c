#include "clients/data/formats/leaf.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/given_shape.h"
#include "clients/data/formats/leaf_json.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace fedhive::clients {

namespace {

const char* kind_of(const LeafPart& part) { return part.kind == LeafKind::Numbers ? "numbers" : "bytes of text"; }

void check_alike(const LeafFiles& files, const LeafPart& train, const LeafPart& test) {
    if (test.kind != train.kind || test.width != train.width)
        throw ConfigError(fmt::format("{}: test examples are {} {}, but training examples {} {}; both must be of the same kind",
                                      files.test.string(), test.width, kind_of(test), train.width, kind_of(train)));
    if (train.kind == LeafKind::Characters && files.num_classes > 0)
        throw ConfigError(fmt::format("{}: examples are texts, whose classes are their characters; remove data.classes",
                                      files.train.string()));
    if (train.kind == LeafKind::Characters && files.shape)
        throw ConfigError(fmt::format("{}: examples are texts, which have no shape; remove data.shape", files.train.string()));
    if (train.kind == LeafKind::Numbers && files.unseen == Unseen::Class)
        throw ConfigError(
            fmt::format("{}: examples are numbers, but data.unseen applies only to texts; remove it", files.train.string()));
    if (!files.shape) return;
    if (files.shape->num_values() != train.width)
        throw ConfigError(fmt::format("{}: examples have {} numbers, but data.shape {} x {} x {} has {}", files.train.string(),
                                      train.width, files.shape->channels, files.shape->height, files.shape->width,
                                      files.shape->num_values()));
}

/// Alphabet of the training part. Throws ConfigError for the first test example with another character if these are refused.
Characters alphabet_of(const LeafFiles& files, const LeafPart& train, const LeafPart& test) {
    Characters alphabet(files.unseen);
    const auto bytes_at = [](const LeafPart& part, std::size_t example) {
        std::string bytes(reinterpret_cast<const char*>(part.values.data()) + example * part.width, part.width);
        return bytes + static_cast<char>(part.labels[example]);
    };
    for (std::size_t i = 0; i < train.labels.size(); ++i) alphabet.show(bytes_at(train, i));
    alphabet.number();
    std::size_t at = 0;
    for (const LeafUser& user : test.users)
        for (std::size_t i = 0; i < user.num_examples; ++i, ++at) {
            const std::string bytes = bytes_at(test, at);
            const auto unknown =
                std::ranges::find_if(bytes, [&](char c) { return !alphabet.knows(static_cast<std::uint8_t>(c)); });
            if (unknown == bytes.end()) continue;
            const bool label = unknown + 1 == bytes.end();
            throw ConfigError(fmt::format("{}: user '{}': {}[{}]: {}", test.files[user.file].string(), user.name.substr(0, 60),
                                          label ? "y" : "x", i, unseen_problem(static_cast<std::uint8_t>(*unknown))));
        }
    return alphabet;
}

void make_tokens(LeafPart& part, const Characters& alphabet) {
    for (std::uint8_t& value : part.values) value = alphabet.token(value);
    for (std::int32_t& label : part.labels) label = alphabet.token(static_cast<std::uint8_t>(label));
}

/// Throws ConfigError for the first label that is not a class, naming file, user and index.
void check_leaf_labels(const LeafPart& part, std::int64_t num_classes) {
    std::size_t at = 0;
    for (const LeafUser& user : part.users)
        for (std::size_t i = 0; i < user.num_examples; ++i, ++at)
            if (part.labels[at] >= num_classes)
                throw ConfigError(fmt::format("{}: user '{}': y[{}]: is {}; allowed: 0 to {}; set data.classes to at least {}",
                                              part.files[user.file].string(), user.name.substr(0, 60), i, part.labels[at],
                                              num_classes - 1, part.labels[at] + 1));
}

/// Owner of each example, [n]; also sets the data set's owner names and the number of users without examples.
std::vector<std::uint32_t> owners_of(const LeafPart& part, Dataset& dataset) {
    std::map<std::string_view, std::uint32_t> numbers;
    for (const LeafUser& user : part.users)
        if (user.num_examples > 0) numbers[user.name] = 0;
    std::uint32_t next = 0;
    for (auto& [name, number] : numbers) {
        number = next++;
        dataset.owner_names.emplace_back(name);
    }
    dataset.owners_left_out = static_cast<std::uint32_t>(part.users.size() - numbers.size());
    std::vector<std::uint32_t> owners;
    owners.reserve(part.labels.size());
    for (const LeafUser& user : part.users)
        if (user.num_examples > 0) owners.insert(owners.end(), user.num_examples, numbers[user.name]);
    return owners;
}

LeafFiles leaf_files(const Values& values) {
    return {values.path("train"), values.path("test"), given_shape(values), values.integer("classes"),
            values.choice<Unseen>("unseen")};
}

}  // namespace

Dataset read_leaf(const LeafFiles& files) {
    LeafPart train = read_leaf_part(files.train), test = read_leaf_part(files.test);
    check_alike(files, train, test);
    Dataset dataset;
    ExampleShape shape = files.shape.value_or(ExampleShape{static_cast<std::int64_t>(train.width), 1, 1});
    if (train.kind == LeafKind::Characters) {
        const Characters alphabet = alphabet_of(files, train, test);
        shape.vocabulary = dataset.num_classes = alphabet.size();
        for (LeafPart* part : {&train, &test}) make_tokens(*part, alphabet);
    } else {
        dataset.num_classes =
            files.num_classes > 0 ? files.num_classes : 1 + std::int64_t{*std::ranges::max_element(train.labels)};
        for (const LeafPart* part : {&train, &test}) check_leaf_labels(*part, dataset.num_classes);
    }
    const ValueType type = train.kind == LeafKind::Numbers ? ValueType::F32 : ValueType::U8;
    std::vector<std::uint32_t> owners = owners_of(train, dataset);
    dataset.train = {shape, std::move(train.values), std::move(train.labels), type, std::move(owners)};
    dataset.test = {shape, std::move(test.values), std::move(test.labels), type};
    return dataset;
}

DataFormat leaf() {
    return {
        .name = "leaf",
        .summary = "LEAF's JSON files: users with their own examples",
        .keys = {{.name = "train",
                  .default_value = std::filesystem::path(),
                  .required = true,
                  .may_change = true,
                  .doc = "The training examples: the folder `train` that LEAF's preprocessing has written, or one of its files "
                         "*.json; examples are lists of numbers with a class, or texts of one length with the character that "
                         "follows each; relative to the config file. docs/data.md."},
                 {.name = "test",
                  .default_value = std::filesystem::path(),
                  .required = true,
                  .may_change = true,
                  .doc = "The test examples, in the same form: the folder `test`."},
                 shape_key("Channels, height and width of an example, for models that take images: `[1, 28, 28]` for FEMNIST, "
                           "whose files have 784 numbers in a row; if it is left out, each number is a channel of 1 × 1."),
                 {.name = "classes",
                  .default_value = std::int64_t{0},
                  .range = between(0, kWide),
                  .doc = "Number of classes; 0: counted from the training labels. FEMNIST has 62. Not for texts, whose classes "
                         "are their characters."},
                 unseen_key()},
        .check = shape_problem,
        .shape =
            [](const Values& values, TargetKind) {
                const Dataset dataset = read_leaf(leaf_files(values));
                return DataShape{dataset.train.shape, dataset.num_classes};
            },
        .read = [](const Values& values, std::uint64_t, TargetKind) { return read_leaf(leaf_files(values)); }};
}

}  // namespace fedhive::clients
