// Texts and files that are not configs, and harmless oddities.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("ConfigErrors");

TEST_CASE("TextsThatAreNoConfig") {
    const std::string empty = "c.yaml: is empty; the shortest config has data.format and model.name";
    check_errors({{"", empty},
                  {"# nothing\n\n", empty},
                  {"---\n", empty},
                  {"hello\n", "c.yaml:1: wants keys with values, such as `seed: 1`"},
                  {"- a\n", "c.yaml:1: wants keys with values, such as `seed: 1`"},
                  {"training:\n\tbatch_size: 3\n", "c.yaml:2: a tab in the indentation; YAML wants spaces"},
                  {"seed: 1\n\t\n", "c.yaml:2: a tab in the indentation; YAML wants spaces"},
                  {"training:\n  \tbatch_size: 3\n", "c.yaml:2: a tab in the indentation; YAML wants spaces"},
                  {"seed: 1\n---\nrounds: 3\n", "c.yaml:2: a second document starts here; a config is one document"},
                  {"training: &t {cohort: 2}\n",
                   "c.yaml:1: training: YAML anchors and aliases (&, *) are not supported; write the value out"},
                  {"seed: !!int 3\n", "c.yaml:1: seed: YAML tags (tag:yaml.org,2002:int) are not supported; leave it out"},
                  {"{a: 1}: 2\n", "c.yaml:1: a list or map cannot be a key, or its bracket is not closed; write `key: value`"},
                  {": 2\n", "c.yaml:1: a key is missing here; write `key: value`"},
                  {"training: {'': 2}\n", "c.yaml:1: training: a key is missing here; write `key: value`"}});
}

TEST_CASE("TextThatIsNoYamlIsShownWithItsPlaceAndWhatIsUsuallyWrong") {
    const std::string columns =
        "keys of one section begin in the same column, and a space follows each colon; a text with ': ' in it wants quotes";
    check_errors(
        {{"seed: 1\n  rounds: 3\n",
          "c.yaml:2:9: not valid YAML: illegal map value; " + columns + "\n    2 |   rounds: 3\n                ^"},
         {"name: a: b\n",
          "c.yaml:1:8: not valid YAML: illegal map value; " + columns + "\n    1 | name: a: b\n               ^"},
         {"seed: 1\ndata: [a\nrounds: 3\n",
          "c.yaml:3:7: not valid YAML: end of sequence flow not found; the [ on line 2 is not closed\n    3 | rounds: 3\n"
          "              ^"}});
    const auto first_line = [](const std::string& text) {
        const std::string error = error_of(text);
        return error.substr(0, error.find('\n'));
    };
    CHECK(first_line("data: {format: glyphs\nmodel: {name: lr}\n").ends_with("the { on line 1 is not closed"));
    CHECK(first_line("name: \"a\nseed: 1\n").ends_with("the \" on line 1 is not closed"));
    CHECK(first_line("name: 'a # ]\nseed: 1\n").ends_with("the ' on line 1 is not closed"));
    CHECK(first_line("name: @a\n").ends_with("mean something in YAML; put it in quotes"));
    CHECK(first_line("faults: - a\n").ends_with("or are written [a, b] behind the key"));
    CHECK(first_line("seed: 1]\n# isn't [\nname: }\n").ends_with("take it out, or put the text in quotes"));
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
    const std::string at = folder.path().string();
    CHECK_THROWS_WITH_AS(load_config(folder.path() / "mnsit.yaml"),
                         (at + "/mnsit.yaml: no such file; did you mean '" + at + "/mnist.yaml'?").c_str(), ConfigError);
    const auto error = [](const std::filesystem::path& file) -> std::string {
        try {
            load_config(file);
        } catch (const ConfigError& problem) {
            return problem.what();
        }
        return "";
    };
    CHECK_EQ(error(folder.path() / "mnist.yml"), at + "/mnist.yml: no such file; did you mean '" + at + "/mnist.yaml'?");
    CHECK_EQ(error(folder.path() / "mnist"), at + "/mnist: no such file; did you mean '" + at + "/mnist.yaml'?");
    CHECK_EQ(error(folder.path() / "x.yaml"), at + "/x.yaml: no such file; its folder has mnist.yaml");
    // A short name that matches by half is no suggestion, however long its common ending is.
    folder.write("type.yaml", kMinimal);
    CHECK_EQ(error(folder.path() / "nope.yaml"), at + "/nope.yaml: no such file; its folder has mnist.yaml, type.yaml");
    for (const char* name : {"a.yaml", "b.yaml", "c.yaml", "d.yaml"}) folder.write(name, kMinimal);
    CHECK_EQ(error(folder.path() / "nope.yaml"),
             at + "/nope.yaml: no such file; its folder has a.yaml, b.yaml, c.yaml, d.yaml, mnist.yaml, and 1 more");
    std::filesystem::create_directory(folder.path() / "configs");
    CHECK_EQ(error(folder.path() / "configs/x.yaml"), at + "/configs/x.yaml: no such file; its folder has no YAML file at all");
    CHECK_EQ(error(folder.path() / "confgs/x.yaml"),
             at + "/confgs/x.yaml: no such file: there is no folder " + at + "/confgs; did you mean '" + at + "/configs'?");
    CHECK_EQ(error(folder.path() / "none/x.yaml"), at + "/none/x.yaml: no such file: there is no folder " + at + "/none");
    CHECK_THROWS_WITH_AS(load_config(folder.path()), (at + ": is a folder; name a YAML file").c_str(), ConfigError);
}

TEST_CASE("SpacesTabsAndLineEndsThatAreHarmless") {
    CHECK_EQ(error_of("seed:\t1\r\n\r\n  # note\t\r\ndata: {format: glyphs}\t# note\r\nmodel: {name: lr}\r\n"), "");
    CHECK_EQ(error_of("\xEF\xBB\xBF---\n" + kMinimal + "...\n"), "");
    CHECK_EQ(error_of(kMinimal + "rounds: +3\ntraining: {optimizer: {lr: +.5}}\n"), "");
}

TEST_SUITE_END();
