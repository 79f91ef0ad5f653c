// configs/REFERENCE.md agrees with the code, and its tables are complete.
#include "sim/config/fields.h"
#include "sim/config/suggest.h"
#include "tests/sim/config/config_files.h"
#include "tests/sim/config/every_choice.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("Reference");

TEST_CASE("ReferenceIsUpToDate") {
    std::ifstream stream(fedhive::testing::source_folder() / "configs/REFERENCE.md");
    std::ostringstream text;
    text << stream.rdbuf();
    INFO("mend it with: fedhive reference > configs/REFERENCE.md");
    CHECK((text.str() == reference_markdown()));
}

TEST_CASE("ReferenceRows") {
    const std::string page = reference_markdown();
    const auto has = [&](const std::string& line) { return page.find(line + "\n") != std::string::npos; };
    CHECK(has("### data.partition"));
    CHECK(
        has("| `alpha` | number, 0.001 to 1000000 | `0.5` | *Only with scheme `dirichlet`.* Concentration of the label "
            "proportions, "
            "dimensionless, typically 0.1 (skewed) to 100 (nearly iid) (α). |"));
    CHECK(
        has("| `beta1` | number, 0 or more, below 1 | `0.9` | *Only with server `adam`, `yogi`.* Decay of the first moment, "
            "typically 0.9 (β₁). |"));
    CHECK(
        has("## devices\n\n*Only with clock `virtual`.* Simulated devices for the virtual clock: how long a round trip of a "
            "client takes, and when a client is available."));
    CHECK(has("### devices.compute\n\n*Only without `trace`.* Training speed of clients."));
    CHECK(page.find("(\\|S\\|)") != std::string::npos);
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("|")) continue;
        std::size_t bars = 0;
        for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
        CAPTURE(line);
        CHECK_EQ(bars, 5);
    }
}

namespace {

/// "training.batch_size" -> "`32`": the column Default of every table.
std::map<std::string, std::string> defaults_of(const std::string& page) {
    std::map<std::string, std::string> defaults;
    std::string section;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) section = line.substr(line.find(' ') + 1);
        if (!line.starts_with("| `")) continue;
        std::vector<std::string> cells;
        for (std::size_t at = 0; at != std::string::npos; at = line.find(" | ", at + 1))
            cells.push_back(line.substr(at == 0 ? 2 : at + 3, line.find(" | ", at + 1) - (at == 0 ? 2 : at + 3)));
        const std::string key = cells[0].substr(1, cells[0].size() - 2);
        const std::string place = section == "Top level" ? "" : section + ".";
        defaults[place + key] = cells[2];
        // A key that several choices have with different defaults is also listed per choice: "training.optimizer.lr of adam".
        const std::string only = cells[3].substr(0, cells[3].find(".*"));
        const bool of_name = only.starts_with("*Only with name ") &&
                             (section.starts_with("training.") || section == "upload" || section == "download");
        if (!of_name && !only.starts_with("*Only with server ")) continue;
        for (std::size_t at = only.find('`'); at != std::string::npos; at = only.find('`', only.find('`', at + 1) + 1))
            defaults[place + key + " of " + only.substr(at + 1, only.find('`', at + 1) - at - 1)] = cells[2];
    }
    return defaults;
}

/// "faults[0].kind" in the reference's form, "faults.kind".
std::string key_in_reference(const std::string& key) {
    const std::size_t bracket = key.find('[');
    if (bracket != std::string::npos) return key.substr(0, bracket) + key.substr(key.find(']') + 1);
    return key;
}

}  // namespace

TEST_CASE("DefaultIsWhatShowConfigPrints") {
    const std::map<std::string, std::string> defaults = defaults_of(reference_markdown());
    REQUIRE_GE(defaults.size(), 80);
    // Defaults that the reference describes in words, since they follow from other keys.
    const std::set<std::string> worked_out = {"name",
                                              "training.cohort",
                                              "strategy.weighting",
                                              "strategy.local",
                                              "strategy.pre_aggregation",
                                              "strategy.aggregator",
                                              "strategy.server",
                                              "strategy.restart_every of dp_ftrl",
                                              "training.loss.name"};
    std::set<std::string> printed;
    for (const std::string& text : one_for_each_choice()) {
        CAPTURE(text);
        const RunConfig run = loaded(text);
        const RunConfig shown = from_yaml(to_yaml(run), "shown");
        for (const Leaf& leaf : leaves_of(shown)) {
            std::string key = key_in_reference(leaf.key);
            const std::string& chosen_name =
                leaf.key.starts_with("training.optimizer.") ? run.training.optimizer.name
                : leaf.key.starts_with("training.loss.")    ? run.training.loss.name
                : leaf.key.starts_with("strategy.")         ? run.strategy.parts.server.name
                : leaf.key.starts_with("upload[")           ? run.upload.at(std::stoul(leaf.key.substr(7))).name
                : leaf.key.starts_with("download[")         ? run.download.at(std::stoul(leaf.key.substr(9))).name
                                                            : run.training.lr_schedule.name;
            if (defaults.contains(key + " of " + chosen_name)) {
                printed.insert(key);
                key += " of " + chosen_name;
            }
            CAPTURE(key);
            REQUIRE(defaults.contains(key));
            const std::string& told = defaults.at(key);
            printed.insert(key);
            const std::string last = leaf.key.substr(leaf.key.rfind('.') + 1);
            const bool chosen =
                text.find(last + ": " + leaf.text) != std::string::npos;  // given in the text, so that other keys apply
            if (!chosen && !worked_out.contains(key)) CHECK_EQ(told, "`" + leaf.text + "`");
        }
    }
    // Keys that are never printed have words instead of a default value.
    for (const auto& [key, told] : defaults) {
        if (key.starts_with("model: layers.")) continue;  // layers_config_test.cpp
        CAPTURE(key);
        CHECK((printed.contains(key) || !told.starts_with("`")));
    }
}

TEST_CASE("RangeText") {
    CHECK_EQ(KeyRange{}.text(), "");
    CHECK_EQ(KeyRange{.low = 1e9, .high = 1e12}.text(), "1e9 to 1e12");
    CHECK_EQ(KeyRange{.low = 1, .high = 2}.text(), "1 to 2");
    CHECK_EQ(KeyRange{.low = 0, .low_excluded = true}.text(), "above 0");
    CHECK_EQ(KeyRange{.high = 3, .high_excluded = true}.text(), "below 3");
    CHECK_EQ(KeyRange{.low = 0, .high = 1, .high_excluded = true}.text(), "0 or more, below 1");
    CHECK_EQ(KeyRange{.low = 0, .high = 1, .low_excluded = true}.text(), "above 0, at most 1");
}

TEST_CASE("NearestWord") {
    const std::vector<std::string> words = {"lr", "momentum", "local_epochs", "batch_size"};
    CHECK_EQ(nearest_word("rl", words), "lr");
    CHECK_EQ(nearest_word("LR", words), "lr");
    CHECK_EQ(nearest_word("momentun", words), "momentum");
    CHECK_EQ(nearest_word("mometnum", words), "momentum");
    CHECK_EQ(nearest_word("momentumm", words), "momentum");
    CHECK_EQ(nearest_word("epochs", words), "local_epochs");
    CHECK_EQ(nearest_word("client_batch_size", words), "batch_size");
    CHECK_EQ(nearest_word("x", words), "");
    CHECK_EQ(nearest_word("device", words), "");
    CHECK_EQ(nearest_word("", words), "");
}

TEST_SUITE_END();
