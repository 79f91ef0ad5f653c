// model.layers: reading, writing back, and every mistake.
#include "clients/models/layer_kind.h"
#include "sim/config/layer_fields.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

std::string config_with(const std::string& model) { return "data: {format: glyphs}\nmodel: {" + model + "}\n"; }

clients::LayerList layers_of(const std::string& text) {
    return from_yaml(config_with("layers: " + text), "c.yaml").model.layers;
}

void check_layer_errors(const std::vector<std::pair<std::string, std::string>>& rows) {
    for (const auto& [layers, problem] : rows)
        check_message("config", layers, error_of(config_with("layers: " + layers)), "c.yaml:2: model.layers" + problem);
}

}  // namespace

TEST_SUITE_BEGIN("LayersConfig");

TEST_CASE("LayersAreReadInEachForm") {
    clients::LayerList expected;
    expected.add("conv2d", {10, 5})
        .add("conv2d", {10, 3, 2, 1, 5})
        .add("max_pool", {2})
        .add("residual")
        .add("relu")
        .add("residual");
    expected.add("tanh").end().end().add("flatten").add("linear", {50}).add("dropout").add("dropout", {0.25F}).add("linear");
    CHECK(
        layers_of(
            "[{conv2d: {out: 10, kernel: 5}}, {conv2d: {out: 10, kernel: 3, stride: 2, padding: 1, groups: 5}}, {max_pool: 2}, "
            "{residual: [relu, {residual: [tanh]}]}, flatten, {linear: {out: 50}}, dropout, {dropout: 0.25}, linear]") ==
        expected);
    clients::LayerList shortcut;
    shortcut.add("residual")
        .add("conv2d", {8, 3, 2, 1, 1, 0})
        .shortcut()
        .add("residual")
        .add("relu")
        .end()
        .add("conv2d", {8, 1, 2});
    const std::string layers = "residual: [{conv2d: {out: 8, kernel: 3, stride: 2, padding: 1, bias: false}}]",
                      beside = "shortcut: [{residual: [relu]}, {conv2d: {out: 8, kernel: 1, stride: 2}}]";
    CHECK(layers_of("[{" + layers + ", " + beside + "}, flatten]") == shortcut.end().add("flatten"));
    CHECK(layers_of("[{" + beside + ", " + layers + "}, flatten]") == shortcut);
    CHECK(layers_of("[{avg_pool: 2}, avg_pool]") == clients::LayerList().add("avg_pool", {2}).add("avg_pool", {0}));
    CHECK(layers_of("[flatten, linear]") == clients::LayerList().add("flatten").add("linear"));
}

TEST_CASE("LayersAreWrittenWithEveryArgument") {
    const std::string text =
        "[{conv2d: {out: 10, kernel: 5, stride: 1, padding: 0, groups: 1, bias: true}}, {residual: [relu, {residual: "
        "[tanh]}]}, flatten, "
        "{linear: 50}, "
        "{dropout: 0.1}, linear]";
    CHECK_EQ(text_of(layers_of("[{conv2d: {out: 10, kernel: 5}}, {residual: [relu, {residual: [tanh]}]}, flatten, {linear: "
                               "50}, {dropout: 0.1}, linear]")),
             text);
    CHECK_EQ(text_of(layers_of(text)), text);
    CHECK_EQ(text_of(layers_of("[dropout, dropout2d]")), "[{dropout: 0.5}, {dropout2d: 0.5}]");
    const std::string shortcut =
        "[{residual: [relu, {residual: [tanh]}], shortcut: [relu, tanh]}, {avg_pool: 0}, flatten, linear]";
    CHECK_EQ(text_of(layers_of(shortcut)), shortcut);
    const std::string sequence =
        "[{embedding: 8}, {lstm: {hidden: 5, layers: 2, all_positions: true, bidirectional: false, dropout: 0}}, {gru: "
        "{hidden: 5, "
        "layers: 1, all_positions: false, bidirectional: true, dropout: 0}}, {linear: 3}]";
    CHECK_EQ(text_of(layers_of("[{embedding: 8}, {lstm: {hidden: 5, layers: 2, all_positions: true}}, {gru: {hidden: 5, "
                               "bidirectional: true}}, {linear: 3}]")),
             sequence);
    CHECK_EQ(text_of(layers_of(sequence)), sequence);
    const std::string attention =
        "[position, layer_norm, {layer_norm: true}, {attention: {heads: 2, causal: false, dropout: 0}}, last_position]";
    CHECK_EQ(text_of(layers_of("[position, {layer_norm: false}, {layer_norm: {each_position: true}}, {attention: 2}, "
                               "last_position]")),
             attention);
    CHECK_EQ(text_of(layers_of(attention)), attention);
    const std::string pools = "[{max_pool: {size: 3, stride: 2, padding: 1}}, {avg_pool: {size: 2, stride: 1}}, {max_pool: 2}]";
    CHECK_EQ(text_of(layers_of("[{max_pool: {size: 3, stride: 2, padding: 1}}, {avg_pool: {size: 2, stride: 1, padding: 0}}, "
                               "{max_pool: {size: 2}}]")),
             pools);
    CHECK_EQ(text_of(layers_of(pools)), pools);
    const std::string factors =
        "[{linear: {out: 5, bias: false, lora: 2}}, {scale: 0.5}, {linear: {lora: 3, alpha: 6}}, {attention: {heads: 2, "
        "causal: "
        "false, dropout: 0, lora: 4}}, {channel_shuffle: 2}]";
    CHECK_EQ(text_of(layers_of("[{linear: {out: 5, lora: 2, bias: false}}, {scale: 0.5}, {linear: {bias: true, alpha: 6, lora: "
                               "3}}, {attention: {heads: 2, lora: 4}}, {channel_shuffle: {groups: 2}}]")),
             factors);
    CHECK_EQ(text_of(layers_of(factors)), factors);
    CHECK_EQ(values_below(from_yaml(config_with("layers: " + text), "c.yaml"), "model"),
             std::map<std::string, std::string>{{"model.layers", text}});
}

TEST_CASE("EveryMistakeInALayerIsNamed") {
    check_layer_errors({{"3", ""},
                        {"[]", ""},
                        {"[max_pol]", "[0]"},
                        {"[relu, {zzzzz: 1}]", "[1]"},
                        {"[[relu]]", "[0]"},
                        {"[{relu: 1, tanh: 2}]", "[0]"},
                        {"[{conv2d: {out: 10, kernle: 5, kernel: 5}}]", "[0].conv2d.kernle"},
                        {"[{conv2d: {out: 10}}]", "[0].conv2d.kernel"},
                        {"[max_pool]", "[0].max_pool.size"},
                        {"[{linear: 1.5}]", "[0].linear.out"},
                        {"[{linear: 0}]", "[0].linear.out"},
                        {"[{dropout: 1}]", "[0].dropout.p"},
                        {"[{relu: 3}]", "[0].relu"},
                        {"[{linear: [3]}]", "[0].linear"},
                        {"[residual]", "[0].residual"},
                        {"[{residual: relu}]", "[0].residual"},
                        {"[{residual: [relu], shortcut: 3}]", "[0].shortcut"},
                        {"[{residual: [relu], shortcut: [relu, {linear: x}]}]", "[0].shortcut[1].linear.out"},
                        {"[{shortcut: [relu]}]", "[0]"},
                        {"[{relu: 1, shortcut: [relu]}]", "[0]"},
                        {"[{residual: [tanh, {linear: x}]}]", "[0].residual[1].linear.out"}});
}

TEST_CASE("AListThatIsTooLongIsRefusedOnce") {
    std::string layers = "[relu";
    for (int i = 0; i < 99; ++i) layers += ", relu";
    CHECK_ERROR_AT(error_of(config_with("layers: " + layers + "]")), "c.yaml:2: model.layers[96]");
}

TEST_CASE("OneOfNameAndLayersIsGiven") {
    CHECK_ERROR_AT(error_of(config_with("name: lr, layers: [flatten, linear]")), "c.yaml:2: model.layers");
    CHECK_ERROR_AT(error_of(config_with("init: x")), "c.yaml: model.name");
    CHECK_ERROR_AT(error_of(config_with("layers: [flatten, linear], hidden: 3")), "c.yaml:2: model.hidden");
}

TEST_CASE("BlameOfALayerNamesItsLine") {
    const TemporaryFolder folder;
    const auto file = folder.write("c.yaml",
                                   "data: {format: glyphs}\nmodel:\n  layers:\n    - flatten\n    - residual:\n        - "
                                   "relu\n        - tanh\n    - linear\n");
    const LoadedConfig loaded = load_config(file);
    CHECK_EQ(std::string(loaded.source->error("model.layers[1].residual[1]", "is bad").what()),
             file.string() + ":7: model.layers[1].residual[1]: is bad");
    const auto other =
        folder.write("s.yaml",
                     "data: {format: glyphs}\nmodel:\n  layers:\n    - residual: [relu]\n      shortcut:\n        - "
                     "relu\n        - tanh\n    - flatten\n    - linear\n");
    CHECK_EQ(std::string(load_config(other).source->error("model.layers[0].shortcut[1]", "is bad").what()),
             other.string() + ":7: model.layers[0].shortcut[1]: is bad");
    CHECK_EQ(std::string(loaded.source->error("model.layers[9]", "is bad").what()),
             file.string() + ": model.layers[9]: is bad");
}

TEST_CASE("OtherLayersAreAChangeThatAResumedRunMayNotHave") {
    const RunConfig before = from_yaml(config_with("layers: [flatten, linear]"), "c.yaml");
    const RunConfig after = from_yaml(config_with("layers: [flatten, {linear: 5}, linear]"), "c.yaml");
    REQUIRE(changes(before, after).size() == 1);
    CHECK_EQ(changes(before, after)[0].key, "model.layers");
    CHECK_EQ(changes(before, after)[0].after, "[flatten, {linear: 5}, linear]");
    CHECK_FALSE(changes(before, after)[0].allowed);
    CHECK(changes(before, before).empty());
}

TEST_SUITE_END();
