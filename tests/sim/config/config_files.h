// Config files for tests: a folder per test, and loading that returns the error's text.
#pragma once

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/aggregator.h"
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/models/catalog.h"
#include "clients/uploads/upload.h"
#include "sim/config/load_config.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"
#include "sim/strategies/strategy.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fedhive::sim::testing {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "fedhive-config-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw os_fault("mkdtemp");
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const { return path_; }

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name, std::ios::binary) << text;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

/// Lines 1 to 6; a test's own lines begin on line 7.
inline const std::string kMinimal =
    "seed: 1\n"
    "data:\n"
    "  format: glyphs\n"
    "  partition: {clients: 4}\n"
    "model:\n"
    "  name: lr\n";

/// The ConfigError's text without the folder, or "" if the file loads.
inline std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.write("c.yaml", text);
    try {
        load_config(file, overrides);
    } catch (const ConfigError& error) {
        std::string message = error.what();
        const std::string prefix = folder.path().string() + "/";
        for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
            message.erase(at, prefix.size());
        return message;
    }
    return "";
}

inline RunConfig loaded(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const TemporaryFolder folder;
    return load_config(folder.write("c.yaml", text), overrides).run;
}

/// "glyphs, synthetic, …": the names in a catalog.
template <class Catalog>
std::string names_in(const Catalog& catalog) {
    return fmt::format("{}", fmt::join(names_of(catalog), ", "));
}

/// A message with the names of catalogs taken out of it: a new strategy or model rewords no message.
inline std::string without_catalogs(const std::string& message) {
    return fedhive::testing::masked(message, {{names_in(clients::data_catalog()), "{data formats}"},
                                              {names_in(clients::model_catalog()), "{models}"},
                                              {names_in(clients::partition_catalog()), "{partition schemes}"},
                                              {names_in(strategy_catalog()), "{strategies}"},
                                              {names_in(mode_catalog()), "{modes}"},
                                              {names_in(sampler_catalog()), "{samplers}"},
                                              {names_in(aggregation::aggregator_catalog()), "{aggregators}"},
                                              {names_in(aggregation::attack_catalog()), "{attacks}"},
                                              {names_in(clients::upload_catalog()), "{upload steps}"}});
}

/// Checks the places of a message, a line each, "file:line: key", and that its wording is the entry `name` of an area.
inline void check_message(const std::string& area, const std::string& name, const std::string& message,
                          const std::string& places) {
    CHECK_MESSAGE(fedhive::testing::is_at(message, places), message);
    if (!places.empty()) CHECK_MESSAGE_IS(area, name, without_catalogs(message));
}

/// A text and where its mistakes are: "c.yaml:7: rounds", one line for each; nothing where it loads.
struct ErrorRow {
    std::string text;
    std::string places;
};

/// Removes the lines about missing keys, unless `places` has them.
inline std::string without_missing_keys(const std::string& message, const std::string& places) {
    std::string kept;
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t missing = line.find(": is missing");
        if (missing == std::string::npos || places.find(line.substr(0, missing)) != std::string::npos)
            kept += (kept.empty() ? "" : "\n") + line;
    }
    return kept;
}

inline void check_errors(const std::vector<ErrorRow>& rows, const std::string& before = "") {
    for (const ErrorRow& row : rows) {
        CAPTURE(row.text);
        check_message("config", row.text, without_missing_keys(error_of(before + row.text), row.places), row.places);
    }
}

inline std::string data_formats() { return names_in(clients::data_catalog()); }
inline std::string models() { return names_in(clients::model_catalog()); }
inline std::string partition_schemes() { return names_in(clients::partition_catalog()); }

/// "'idx' or …": the formats with a key of that name.
inline std::string formats_with(const std::string& key) {
    std::vector<std::string> names;
    for (const clients::DataFormat& format : clients::data_catalog())
        for (const KeySpec& one : format.keys)
            if (one.name == key) names.push_back("'" + format.name + "'");
    return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace fedhive::sim::testing

/// Where `message` says that the mistakes are, a line each, and its wording under the name of that place.
#define CHECK_ERROR_AT(message, places) ::fedhive::sim::testing::check_message("config", places, message, places)
