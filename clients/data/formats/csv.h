// CSV tables: a row per example, a column per feature, one column of labels or several of regression targets.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::clients {

struct CsvFiles {
    std::filesystem::path train;
    std::filesystem::path test;
    std::vector<std::string> target;  // target columns: names, or numbers from 0 without a header
    std::string client;               // column of owners; empty: none
    bool header = true;               // the first line names the columns
    bool numbers = false;             // true: targets are numbers, in one or more columns; false: classes, in one column
};

/// Reads features, targets and owners from two CSV files; shape {features, 1, 1}, f32.
///
/// Features   all columns but target and client, in the file's order; names may repeat.
/// Cells      separated by commas, optionally quoted, "" for a quote inside; empty lines are skipped.
/// Targets    classes: whole numbers from 0 or kIgnored; class count 1 + largest training label unless `num_classes` > 0.
///            Numbers (f32): no class count.
/// Owners     any text, blanks included, in the order of owner_names.h.
///
/// Throws   ConfigError naming file, line and column: missing files or columns, target or client columns that are not unique,
///          rows of another length, cells that are empty, not numbers or beyond f32, labels outside the classes,
///          test columns that differ.
/// Memory   one copy of the values; lines are read one at a time.
Dataset read_csv_files(const CsvFiles& files, std::int64_t num_classes = 0);

}  // namespace fedhive::clients
