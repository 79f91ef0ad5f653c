#include "sim/sweep/run_result.h"

#include "aggregation/base/input_file.h"
#include "sim/record/table_reader.h"
#include "sim/screen/run_view.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

namespace {

void add_row(RunResult& result, const RunView::Row& row, const std::optional<double>& target_accuracy) {
    result.rounds = row.round;
    result.version = row.version;
    result.failed += row.failed;
    result.bytes_down += row.bytes_down;
    result.bytes_up += row.bytes_up;
    result.virtual_s = row.virtual_s;
    if (!row.test_accuracy) return;
    result.final_loss = row.test_loss;
    result.final_accuracy = row.test_accuracy;
    if (!result.best_accuracy || *row.test_accuracy > *result.best_accuracy) {
        result.best_accuracy = row.test_accuracy;
        result.best_round = row.round;
    }
    if (target_accuracy && !result.rounds_to_target && *row.test_accuracy >= *target_accuracy)
        result.rounds_to_target = row.round;
}

void add_fairness(RunResult& result, const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return;
    try {
        for (TableReader table(file); table.next();) {
            RunResult::OnClients row;
            const bool whole = parse_cell(table.text("accuracy_mean"), row.mean) &&
                               parse_cell(table.text("accuracy_std"), row.std) &&
                               parse_cell(table.text("accuracy_worst_10"), row.worst_10);
            if (whole) (table.text("model") == "personalized" ? result.personalized : result.global) = row;
        }
    } catch (const ConfigError&) {
        return;  // what was read before stays
    }
}

}  // namespace

RunResult read_result(const std::filesystem::path& run, const std::optional<double>& target_accuracy) {
    RunResult result;
    RunView view(run);
    view.refresh();
    for (const RunView::Row& row : view.rows()) add_row(result, row, target_accuracy);
    add_fairness(result, run / "fairness.csv");
    const auto manifest = nlohmann::json::parse(read_file_or_nothing(run / "manifest.json"), nullptr, false);
    if (!manifest.is_object()) return result;
    const auto number = [&](const nlohmann::json::json_pointer& where) {
        return manifest.contains(where) && manifest[where].is_number() ? std::optional(manifest[where].get<double>())
                                                                       : std::nullopt;
    };
    result.wall_s = number(nlohmann::json::json_pointer("/wall_s/total"));
    if (const auto failures = number(nlohmann::json::json_pointer("/failures/failures")))
        result.failures = static_cast<std::uint64_t>(*failures);
    const auto sha = manifest.find("model_sha256");
    if (sha != manifest.end() && sha->is_string()) result.model_sha256 = sha->get<std::string>();
    return result;
}

}  // namespace fedhive::sim
