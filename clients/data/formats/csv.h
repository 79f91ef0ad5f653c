// Tables of numbers: a row an example, a column a feature, one column the label, or some of them the numbers to tell.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::clients {

struct CsvFiles {
    std::filesystem::path train;
    std::filesystem::path test;
    std::vector<std::string> target;  // the targets' columns: names, or numbers from 0 where there is no header
    std::string client;               // the owners' column; empty: none
    bool header = true;               // the first line names the columns
    bool numbers = false;             // targets are numbers, of one column or several; else the classes of one
};

/// All columns but target and client are features, f32, in the file's order: shape {features, 1, 1}; two may have one name. Cells are parted by
/// commas and may stand in quotes, "" for one of them inside; empty lines are nothing. Labels are whole numbers from 0; owners any texts, with
/// their blanks, in the order of owner_names.h. Class count: 1 + largest training label, unless `num_classes` > 0; none where targets are numbers, f32.
///
/// Throws   ConfigError naming file, line and column: missing files or columns, target or client twice, rows of another length, cells that are
///          empty, no number, or more than an f32 can be; labels outside the classes; test columns that are not the training file's.
/// Memory   one copy of the values; lines are read one at a time.
Dataset read_csv_files(const CsvFiles& files, std::int64_t num_classes = 0);

}  // namespace fedhive::clients
