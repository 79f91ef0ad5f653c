// Texts and files that are not configs, and harmless oddities.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("ConfigErrors");

TEST_CASE("TextsThatAreNoConfig") {
    const std::string empty = "c.yaml";
    check_errors({{"", empty},
                  {"# nothing\n\n", empty},
                  {"---\n", empty},
                  {"hello\n", "c.yaml:1"},
                  {"- a\n", "c.yaml:1"},
                  {"training:\n\tbatch_size: 3\n", "c.yaml:2"},
                  {"seed: 1\n\t\n", "c.yaml:2"},
                  {"training:\n  \tbatch_size: 3\n", "c.yaml:2"},
                  {"seed: 1\n---\nrounds: 3\n", "c.yaml:2"},
                  {"training: &t {cohort: 2}\n", "c.yaml:1: training"},
                  {"seed: !!int 3\n", "c.yaml:1: seed"},
                  {"{a: 1}: 2\n", "c.yaml:1"},
                  {": 2\n", "c.yaml:1"},
                  {"training: {'': 2}\n", "c.yaml:1: training"}});
}

TEST_CASE("TextThatIsNoYamlIsShownWithItsPlaceAndWhatIsUsuallyWrong") {
    check_errors({{"seed: 1\n  rounds: 3\n", "c.yaml:2:9"},
                  {"name: a: b\n", "c.yaml:1:8"},
                  {"seed: 1\ndata: [a\nrounds: 3\n", "c.yaml:3:7"}});
    const auto first_line = [](const std::string& text) {
        const std::string error = error_of(text);
        return error.substr(0, error.find('\n'));
    };
    CHECK(first_line("data: {format: glyphs\nmodel: {name: lr}\n").ends_with("the { on line 1 is not closed"));
    CHECK(first_line("name: \"a\nseed: 1\n").ends_with("the \" on line 1 is not closed"));
    CHECK(first_line("name: 'a # ]\nseed: 1\n").ends_with("the ' on line 1 is not closed"));
    CHECK(first_line("name: @a\n").ends_with("have a meaning in YAML; put the value in quotes"));
    CHECK(first_line("faults: - a\n").ends_with("or all of them as [a, b] after the key"));
    CHECK(first_line("seed: 1]\n# isn't [\nname: }\n").ends_with("remove it, or put the text in quotes"));
    CHECK(first_line("name: \"a\\q\"\n").ends_with("a backslash begins an escape; use single quotes"));
    const std::string wide = error_of("name: " + std::string(300, 'x') + ": b\n");
    for (std::size_t begin = wide.find('\n') + 1, end = 0; begin < wide.size(); begin = end + 1) {
        end = std::min(wide.find('\n', begin), wide.size());
        CHECK_LE(end - begin, 110);
    }
}

TEST_CASE("FilesThatCannotBeRead") {
    const TemporaryFolder folder;
    folder.write("mnist.yaml", kMinimal);
    const auto refused = [&](const std::string& entry, const std::string& name) {
        const std::filesystem::path file = folder.path() / name;
        const std::string message = fedhive::testing::message_of<ConfigError>([&] { load_config(file); });
        check_message("config", entry, message, file.string());
    };
    refused("two letters swapped", "mnsit.yaml");
    refused("another ending", "mnist.yml");
    refused("no ending", "mnist");
    refused("nothing like it", "x.yaml");
    // A short name that matches by half is no suggestion, however long its common ending is.
    folder.write("type.yaml", kMinimal);
    refused("half of a short name", "nope.yaml");
    for (const char* name : {"a.yaml", "b.yaml", "c.yaml", "d.yaml"}) folder.write(name, kMinimal);
    refused("many files", "nope.yaml");
    std::filesystem::create_directory(folder.path() / "configs");
    refused("an empty folder", "configs/x.yaml");
    refused("two letters of the folder swapped", "confgs/x.yaml");
    refused("no folder", "none/x.yaml");
    const std::string message = fedhive::testing::message_of<ConfigError>([&] { load_config(folder.path()); });
    check_message("config", "a folder", message, folder.path().string());
}

TEST_CASE("SpacesTabsAndLineEndsThatAreHarmless") {
    CHECK_EQ(error_of("seed:\t1\r\n\r\n  # note\t\r\ndata: {format: glyphs}\t# note\r\nmodel: {name: lr}\r\n"), "");
    CHECK_EQ(error_of("\xEF\xBB\xBF---\n" + kMinimal + "...\n"), "");
    CHECK_EQ(error_of(kMinimal + "rounds: +3\ntraining: {optimizer: {lr: +.5}}\n"), "");
}

TEST_SUITE_END();
