// The columns of all result tables, for people and for programs.
#pragma once

#include "sim/record/table.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fedhive::sim {

struct TableText {
    std::string file;   // "rounds.csv"
    std::string about;  // Markdown, a paragraph
    std::vector<ColumnText> columns;
};

/// All tables of a run's folder, as a run of the first task writes them, with every optional column.
std::vector<TableText> result_tables();

/// results/COLUMNS.md
std::string columns_markdown();

/// {"rounds.csv": [{"name": "round", "unit": "from 1", "text": false}, …], …}
nlohmann::ordered_json columns_json();

}  // namespace fedhive::sim
