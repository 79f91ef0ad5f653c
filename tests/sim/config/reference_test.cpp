// configs/REFERENCE.md is what the code says, and its tables are whole.
#include "sim/config/fields.h"
#include "sim/config/tree.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("Reference");

TEST_CASE("ReferenceIsUpToDate") {
    std::ifstream stream(std::filesystem::path(FEDHIVE_SOURCE_DIR) / "configs/REFERENCE.md");
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
    CHECK(has("| `beta1` | number, 0 or more, below 1 | `0.9` | Decay of the first moment, typically 0.9 (β₁). |"));
    CHECK(
        has("## devices\n\n*Only with clock `virtual`.* What the virtual clock knows of clients: how long a round trip takes, "
            "and when they are there at all."));
    CHECK(has("### devices.compute\n\n*Only without `trace`.* How fast clients train."));
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

TEST_CASE("RangeText") {
    CHECK_EQ(Range{}.text(), "");
    CHECK_EQ(Range{.low = 1e9, .high = 1e12}.text(), "1e9 to 1e12");
    CHECK_EQ(Range{.low = 1, .high = 2}.text(), "1 to 2");
    CHECK_EQ(Range{.low = 0, .low_excluded = true}.text(), "above 0");
    CHECK_EQ(Range{.high = 3, .high_excluded = true}.text(), "below 3");
    CHECK_EQ(Range{.low = 0, .high = 1, .high_excluded = true}.text(), "0 or more, below 1");
    CHECK_EQ(Range{.low = 0, .high = 1, .low_excluded = true}.text(), "above 0, at most 1");
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
