#include "clients/data/formats/csv.h"

#include "aggregation/base/csv_cells.h"
#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "clients/data/data_warnings.h"
#include "clients/data/formats/owner_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace fedhive::clients {

namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t kMostRows = std::numeric_limits<std::uint32_t>::max();

std::string_view without_blanks(std::string_view cell) {
    const std::size_t begin = cell.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

/// Strips blanks around each cell.
Cells without_blanks(Cells cells) {
    for (std::string& cell : cells) cell = std::string(without_blanks(cell));
    return cells;
}

/// The cells of a line, blanks included; nothing if a quote is not closed on it.
std::optional<Cells> cells_of(std::string_view line) {
    CsvCells split = split_cells(line);
    if (!split.closed) return {};
    return std::move(split.cells);
}

template <typename Number>
std::optional<Number> number_in(std::string_view cell) {
    Number number{};
    const char* begin = cell.data() + (cell.starts_with('+') && !cell.starts_with("+-") ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), number);
    if (error != std::errc() || end != cell.data() + cell.size()) return {};
    return number;
}

/// Reads the rows of a file, one at a time, and words its errors.
class CsvTable {
public:
    CsvTable(const std::filesystem::path& file, bool header) : file_(file.string()), lines_(file) {
        if (!next()) throw ConfigError(fmt::format("{}: has no rows; expected: a table with cells separated by commas", file_));
        header_line_ = number_;
        refuse_other_separators();
        columns_ = without_blanks(cells_);
        if (header) {
            pending_ = false;
            return;
        }
        pending_ = true;
        for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i] = std::to_string(i);
    }

    const std::string& file() const { return file_; }
    const Cells& columns() const { return columns_; }
    std::string_view cell(std::size_t column) const { return without_blanks(cells_[column]); }
    const std::string& cell_with_blanks(std::size_t column) const { return cells_[column]; }

    /// "FILE:LINE" of the line with the columns' names.
    std::string header() const { return fmt::format("{}:{}", file_, header_line_); }

    /// Reads the next row; false at the end. Throws ConfigError if it has not one cell per column.
    bool row() {
        if (!pending_ && !next()) return false;
        pending_ = false;
        if (cells_.size() != columns_.size())
            throw ConfigError(fmt::format("{}:{}: has {} cells; expected: {}, like the first line", file_, number_,
                                          cells_.size(), columns_.size()));
        return true;
    }

    /// Index of the only column of that name; `key` is the config key that names it, for errors.
    std::size_t column(const std::string& name, const char* key) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < columns_.size(); ++i)
            if (columns_[i] == name) found.push_back(i);
        if (found.size() == 1) return found.front();
        if (!found.empty())
            throw ConfigError(
                fmt::format("{}: {}: columns {} and {} are both named '{}'; remove one, or rename it, because the model would "
                            "learn from it",
                            header(), key, found[0] + 1, found[1] + 1, name));
        const std::size_t shown = std::min<std::size_t>(columns_.size(), 20);
        throw ConfigError(fmt::format("{}: {}: no column '{}'; the columns are: {}{}", header(), key, name,
                                      fmt::join(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                                      shown < columns_.size() ? ", …" : ""));
    }

    /// Throws ConfigError about the current row's cell.
    [[noreturn]] void fail(std::size_t column, const std::string& wanted) const {
        const std::string_view found = cell(column);
        throw ConfigError(fmt::format("{}:{}: column '{}': {}; expected: {}", file_, number_, columns_[column],
                                      found.empty() ? "is empty" : fmt::format("is '{}'", found.substr(0, 60)), wanted));
    }

private:
    /// A line with one cell and another separator is refused: no valid table has a single column.
    void refuse_other_separators() const {
        for (const auto& [sign, what] : {std::pair(';', "semicolons"), {'\t', "tabs"}, {'|', "bars"}})
            if (cells_.size() == 1 && cells_.front().find(sign) != std::string::npos)
                throw ConfigError(
                    fmt::format("{}:{}: expected cells separated by commas, but this line has {}; write the table with commas "
                                "between cells and decimal points in numbers",
                                file_, number_, what));
    }

    bool next() {
        std::string line;
        do {
            if (!lines_.next(line)) return false;
            if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte-order mark
            if (line.ends_with('\r')) line.pop_back();
        } while (line.empty());
        std::optional<Cells> cells = cells_of(line);
        if (!cells) throw ConfigError(fmt::format("{}:{}: a quote is not closed; close it on the same line", file_, number_));
        cells_ = std::move(*cells);
        return true;
    }

    std::string file_;
    LineReader lines_;
    std::size_t number_ = 0;  // of the current line
    std::size_t header_line_ = 0;
    Cells columns_;
    Cells cells_;           // of the current row
    bool pending_ = false;  // row() has not returned the current row yet
};

float number_of(const CsvTable& table, std::size_t column) {
    const auto value = number_in<double>(table.cell(column));
    if (!value || !std::isfinite(*value) || !std::isfinite(static_cast<float>(*value)))
        table.fail(column, "a number that fits in f32");
    return static_cast<float>(*value);
}

std::int32_t label_in(const CsvTable& table, std::size_t column) {
    const auto label = number_in<double>(table.cell(column));  // pandas writes 1.0 if the column ever had a missing label
    if (!label || *label != std::floor(*label) || *label >= kWide || (*label != kIgnored && *label < 0.0))
        table.fail(column,
                   fmt::format("a class, an integer from 0, below {:.0f}, or {} for an ignored target", kWide, kIgnored));
    return static_cast<std::int32_t>(*label);
}

struct CsvPart {
    Examples examples;
    Cells features;  // names
    Cells owner_names;
    std::string header;  // "FILE:LINE"
};

CsvPart read_table(const std::filesystem::path& file, const CsvFiles& files, bool owned) {
    CsvTable table(file, files.header);
    std::vector<std::size_t> targets;
    for (const std::string& name : files.target) targets.push_back(table.column(name, "target"));
    const bool with_client = !files.client.empty();
    // Test examples have no owners, so the test file may lack the column.
    const bool has_client = with_client && (owned || std::ranges::count(table.columns(), files.client) > 0);
    const std::size_t client = has_client ? table.column(files.client, "client") : table.columns().size();
    CsvPart part;
    part.header = table.header();
    std::vector<std::size_t> features;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
        if (i == client || std::ranges::count(targets, i) > 0) continue;
        features.push_back(i);
        part.features.push_back(table.columns()[i]);
    }
    if (features.empty())
        throw ConfigError(fmt::format("{}: has no column besides target{}; expected: features, separated by commas",
                                      table.header(), has_client ? " and client" : ""));
    part.examples.shape = {static_cast<std::int64_t>(features.size()), 1, 1};
    part.examples.type = ValueType::F32;
    if (files.numbers) part.examples.target = {TargetKind::Numbers, static_cast<std::uint32_t>(targets.size())};
    Cells owners;
    while (table.row()) {
        if (part.examples.size() == kMostRows)
            throw ConfigError(fmt::format("{}: has more than {} rows", table.file(), kMostRows));
        for (const std::size_t column : features) {
            const float value = number_of(table, column);
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
            part.examples.values.insert(part.examples.values.end(), bytes, bytes + sizeof value);
        }
        for (const std::size_t target : targets) {
            if (files.numbers)
                part.examples.numbers.push_back(number_of(table, target));
            else
                part.examples.labels.push_back(label_in(table, target));
        }
        if (!has_client || !owned) continue;
        if (table.cell(client).empty()) table.fail(client, "the owner's name");
        owners.push_back(table.cell_with_blanks(client));
    }
    if (part.examples.size() == 0)
        throw ConfigError(fmt::format("{}: has no rows; expected: one for each example", table.file()));
    part.examples.owners = numbered(owners);
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const std::size_t owner = part.examples.owners[i];
        if (owner >= part.owner_names.size()) part.owner_names.resize(owner + 1);
        part.owner_names[owner] = owners[i];
    }
    return part;
}

std::int64_t classes_in(const Examples& part) {
    if (part.labels.empty()) return 0;
    return 1 + std::int64_t{std::max(-1, *std::max_element(part.labels.begin(), part.labels.end()))};  // kIgnored: no class
}

void check_classes(const std::filesystem::path& file, const std::string& target, const Examples& part, std::int64_t classes) {
    const std::int64_t largest = classes_in(part) - 1;
    if (largest >= classes)
        throw ConfigError(fmt::format("{}: column '{}': has the label {}; allowed: 0 to {}; set data.classes to at least {}",
                                      file.string(), target, largest, classes - 1, largest + 1));
}

/// The config's files and columns; "low, high" is split as CSV cells. Throws ConfigError for a name that is empty or given
/// twice, or for several columns of classes.
CsvFiles csv_files(const Values& values, TargetKind wanted) {
    CsvFiles files{values.path("train"), values.path("test"), {}, values.word("client"), values.flag("header")};
    files.numbers = wanted == TargetKind::Numbers;
    files.target = without_blanks(cells_of(values.word("target")).value_or(Cells{}));
    for (const std::string& one : files.target)
        if (one.empty() || std::ranges::count(files.target, one) > 1 || (!files.numbers && files.target.size() > 1))
            throw ConfigError(fmt::format("target is '{}'; expected: {}", values.word("target"),
                                          files.numbers
                                              ? "columns, each once, separated by commas"
                                              : "one column with classes; several columns of numbers need task: regression"));
    return files;
}

DataShape csv_shape(const Values& values, TargetKind wanted) {
    const CsvFiles files = csv_files(values, wanted);
    const Examples train = read_table(files.train, files, true).examples;
    const std::int64_t classes = classes_wanted(values, wanted);
    return {train.shape, classes > 0 ? classes : classes_in(train), train.target};
}

}  // namespace

Dataset read_csv_files(const CsvFiles& files, std::int64_t num_classes) {
    CsvPart train = read_table(files.train, files, true), test = read_table(files.test, files, false);
    const auto [one, other] = std::ranges::mismatch(train.features, test.features);
    if (one != train.features.end() || other != test.features.end())
        throw ConfigError(fmt::format("{}: {}; expected: the columns of the training file, in the same order", test.header,
                                      other == test.features.end() ? fmt::format("the column '{}' is missing", *one)
                                      : one == train.features.end()
                                          ? fmt::format("the column '{}' is not in the training file", *other)
                                          : fmt::format("the column '{}' is where the training file has '{}'", *other, *one)));
    Dataset dataset{std::move(train.examples), std::move(test.examples), num_classes};
    dataset.owner_names = std::move(train.owner_names);
    dataset.warnings = index_column(dataset.train, files.header ? std::optional(train.features.front()) : std::nullopt);
    if (files.numbers) {
        dataset.num_classes = 0;
        return dataset;
    }
    if (num_classes <= 0) dataset.num_classes = classes_in(dataset.train);
    check_classes(files.train, files.target.front(), dataset.train, dataset.num_classes);
    check_classes(files.test, files.target.front(), dataset.test, dataset.num_classes);
    return dataset;
}

DataFormat csv() {
    return {.name = "csv",
            .summary = "tables of numbers",
            .keys = {{.name = "train",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .may_change = true,
                      .doc = "The training examples, one per row, with cells separated by commas. All columns except target "
                             "and client are features, read as f32. Relative to the config file. docs/data.md."},
                     {.name = "test",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .may_change = true,
                      .doc = "The test examples, with the same columns."},
                     {.name = "target",
                      .default_value = "",
                      .required = true,
                      .doc = "The column of the labels, integers from 0: its name, or its number from 0 if header is false. "
                             "For task regression the columns of the targets, separated by commas: `low, high`."},
                     {.name = "client",
                      .default_value = "",
                      .default_note = "none",
                      .doc = "The column with the owner of each example, any text, for partition scheme natural."},
                     {.name = "header", .default_value = true, .doc = "true: the first line names the columns."},
                     {.name = "classes",
                      .default_value = std::int64_t{0},
                      .range = between(0, kWide),
                      .doc = "Number of classes; 0: counted from the training labels. Not for task regression."}},
            .shape = csv_shape,
            .read = [](const Values& values, std::uint64_t,
                       TargetKind wanted) { return read_csv_files(csv_files(values, wanted), classes_wanted(values, wanted)); },
            .targets = {TargetKind::Class, TargetKind::Numbers}};
}

}  // namespace fedhive::clients
