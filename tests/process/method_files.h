// Methods as text in a file of a test's own, and what runs of them write.
#pragma once

#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::testing {

inline const Options kJudgedOwn{"data.partition.holdout=0.25", "evaluation.clients={every: 1, personalized: true}"};

struct MethodFile {
    explicit MethodFile(const std::string& text) { std::ofstream(file()) << text; }
    std::filesystem::path file() const { return folder.path() / "method.yaml"; }
    Options options(const Options& more = {}) const { return Options{"strategy={file: " + file().string() + "}"} + more; }
    TemporaryFolder folder;
};

inline void method_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Rows of a run's clients.csv.
inline std::vector<std::map<std::string, std::string>> clients_with(const MethodFile& method, const Options& more = {}) {
    FedhiveRun run(small_config(), set(method.options(more)));
    method_ended_well(run);
    return read_csv(run.out() / "clients.csv");
}

/// The accuracies of all clients' own models, and their losses.
inline std::pair<std::string, std::vector<double>> judged_with(const MethodFile& method, const Options& more = {}) {
    FedhiveRun run(small_config(), set(method.options(kJudgedOwn + more)));
    method_ended_well(run);
    std::pair<std::string, std::vector<double>> all;
    for (const auto& row : read_csv(run.out() / "client_accuracy.csv")) {
        if (row.at("model") != "personalized") continue;
        all.first += row.at("client_id") + " " + row.at("accuracy") + "\n";
        all.second.push_back(std::stod(row.at("loss")));
    }
    REQUIRE(!all.second.empty());
    return all;
}

}  // namespace fedhive::testing
