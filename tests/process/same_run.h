// Compares two runs' folders: everything that does not depend on time must be equal byte for byte.
#pragma once

#include "sim/state/state_file.h"
#include "tests/process/csv_rows.h"

#include <set>
#include <span>

namespace fedhive::testing {

/// A table's rows without the columns that depend on timing.
inline std::string comparable(const std::filesystem::path& table) {
    const auto lines = read_lines(table);
    const auto names = cells_of(lines.empty() ? "" : lines[0]);
    std::string text;
    for (const std::string& line : lines) {
        const auto values = cells_of(line);
        for (std::size_t i = 0; i < std::max(names.size(), values.size()); ++i) {
            const std::string name = i < names.size() ? names[i] : "";
            const bool timing = (name.ends_with("_s") && name != "virtual_s") || name == "seconds" || name == "worker";
            if (!timing || &line == &lines[0]) text += (i < values.size() ? values[i] : "(missing)") + ",";
        }
        text += "\n";
    }
    // Marks a last line without a newline, which would look complete otherwise.
    const std::string raw = read_text(table);
    return text + (raw.ends_with('\n') ? "" : "(torn)");
}

inline nlohmann::json manifest_of(const std::filesystem::path& run) {
    return nlohmann::json::parse(read_text(run / "manifest.json"));
}

/// Names of the events in order; each line of events.jsonl must be JSON.
inline std::vector<std::string> events_of(const std::filesystem::path& run) {
    std::vector<std::string> events;
    const std::string text = read_text(run / "events.jsonl");
    CHECK((text.empty() || text.ends_with('\n')));
    for (const std::string& line : read_lines(run / "events.jsonl")) {
        const auto event = nlohmann::json::parse(line, nullptr, false);
        CHECK_MESSAGE(event.is_object(), line);
        if (event.is_object()) events.push_back(event.value("event", ""));
    }
    return events;
}

inline void check_no_leftovers(const std::filesystem::path& run) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
        const std::string name = entry.path().filename().string();
        CHECK_MESSAGE(!name.ends_with(".part"), name);
        CHECK(name != ".lock");
    }
}

/// A tensor's bytes in a checkpoint.
inline std::string bytes_of(const sim::OpenState& state, const sim::TensorPlace& tensor) {
    std::string bytes(tensor.bytes, '\0');
    state.read(tensor, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

/// `run` was interrupted and then finished, `whole` was not interrupted: their results must be equal.
inline void check_same_run(const std::filesystem::path& run, const std::filesystem::path& whole) {
    CHECK(manifest_of(run)["exit_status"] == "finished");
    CHECK(manifest_of(run)["model_sha256"] == manifest_of(whole)["model_sha256"]);
    CHECK(manifest_of(run)["version"] == manifest_of(whole)["version"]);
    CHECK(comparable(run / "rounds.csv") == comparable(whole / "rounds.csv"));
    CHECK(comparable(run / "clients.csv") == comparable(whole / "clients.csv"));
    for (const char* table : {"fairness.csv", "client_accuracy.csv"}) CHECK(read_text(run / table) == read_text(whole / table));
    CHECK((read_text(run / "model.safetensors") == read_text(whole / "model.safetensors")));  // too long to print
    events_of(run);
    check_no_leftovers(run);
}

/// The visit in the last row of clients.csv gives the same bits again.
inline void check_last_visit_replays(const FedhiveRun& run) {
    const auto row = read_csv(run.out() / "clients.csv").back();
    FedhiveRun again;
    again.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
    const std::string ended = again.end();
    CHECK_MESSAGE(ended == "exited with status 0", again.output());
    CHECK_MESSAGE(again.output().find(": the same bits as in the run") != std::string::npos, again.output());
}

}  // namespace fedhive::testing
