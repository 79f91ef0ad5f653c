// Texts and files that are no config at all, and oddities that are harmless.
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
                  {"seed: 1\ndata: [a\nrounds: 3\n", "c.yaml:3: not valid YAML: end of sequence flow not found"},
                  {"seed: 1\n  rounds: 3\n", "c.yaml:2: not valid YAML: illegal map value"},
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

TEST_CASE("FilesThatCannotBeRead") {
    const TemporaryFolder folder;
    folder.write("mnist.yaml", kMinimal);
    const std::string at = folder.path().string();
    CHECK_THROWS_WITH_AS(load_config(folder.path() / "mnsit.yaml"),
                         (at + "/mnsit.yaml: no such file; did you mean '" + at + "/mnist.yaml'?").c_str(), ConfigError);
    CHECK_THROWS_WITH_AS(load_config(folder.path() / "x.yaml"), (at + "/x.yaml: no such file").c_str(), ConfigError);
    CHECK_THROWS_WITH_AS(load_config(folder.path() / "none/x.yaml"), (at + "/none/x.yaml: no such file").c_str(), ConfigError);
    CHECK_THROWS_WITH_AS(load_config(folder.path()), (at + ": is a folder; name a YAML file").c_str(), ConfigError);
}

TEST_CASE("SpacesTabsAndLineEndsThatAreHarmless") {
    CHECK_EQ(error_of("seed:\t1\r\n\r\n  # note\t\r\ndata: {format: glyphs}\t# note\r\nmodel: {name: lr}\r\n"), "");
    CHECK_EQ(error_of("\xEF\xBB\xBF---\n" + kMinimal + "...\n"), "");
    CHECK_EQ(error_of(kMinimal + "rounds: +3\ntraining: {optimizer: {lr: +.5}}\n"), "");
}

TEST_SUITE_END();
