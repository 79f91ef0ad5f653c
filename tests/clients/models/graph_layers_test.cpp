// Graphs of torch.export as lists of layers: conversions, parameter names, and every near miss that must stay a graph.
#include "clients/models/graph_layers.h"

#include "clients/exported/roles.h"
#include "clients/models/cut.h"
#include "clients/models/model_plan.h"
#include "tests/clients/models/kept_graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;
using Json = nlohmann::json;

namespace {

/// "conv2d relu residual( … shortcut … )"
std::string described(const GraphLayers& layers) {
    std::string text;
    for (std::size_t i = 0; i < layers.entries.size(); ++i) {
        const std::uint8_t kind = layers.entries[i].kind;
        text += kind == LayerList::kEnd ? "end" : kind == LayerList::kShortcut ? "shortcut" : layer_catalog()[kind].name;
        text += layers.names[i].empty() ? " " : "=" + layers.names[i] + " ";
    }
    return text;
}

}  // namespace

TEST_SUITE("GraphLayers") {
    TEST_CASE("GraphOfKnownLayersBecomesTheirListUnderTheModulesNames") {
        CHECK(described(layers_of_graph(program_in(golden_bytes("cnn.pt2")), {1, 12, 12})) ==
              "conv2d=conv1 relu max_pool conv2d=conv2 relu flatten linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("bn_cnn.pt2")), {1, 12, 12})) ==
              "conv2d=0 batch_norm=1 relu max_pool flatten dropout linear=6 batch_norm=7 relu linear=9 ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("written.pt2")), {1, 12, 12})) ==
              "conv2d=conv tanh avg_pool flatten linear=one tanh linear=two ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_mlp.pt2")), {6})) ==
              "embedding=table flatten layer_norm=norm linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_reader.pt2")), {6})) ==
              "embedding=table gru=gru lstm=lstm last_position linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("shuffled.pt2")), {1, 12, 12})) ==
              "conv2d=stem relu channel_shuffle conv2d=groups channel_shuffle conv2d=depth relu channel_shuffle avg_pool "
              "flatten linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_adapted.pt2")), {6})) ==
              "embedding=table residual=widen linear=widen.layer shortcut linear=widen.down linear=widen.up scale end relu "
              "last_position "
              "residual=head linear=head.layer shortcut linear=head.down linear=head.up scale end ");
        const auto block = [](const std::string& name, bool norm_first) {
            const std::string attend = "attention=" + name + ".self_attn dropout ", one = "layer_norm=" + name + ".norm1 ",
                              feed = "linear=" + name + ".linear1 " + (norm_first ? "gelu" : "relu") +
                                     " dropout linear=" + name + ".linear2 dropout ",
                              two = "layer_norm=" + name + ".norm2 ", begin = "residual=" + name + ".",
                              linears = "linear1+" + name + ".linear2 ";
            if (norm_first)
                return begin + "norm1+" + name + ".self_attn " + one + attend + "end " + begin + "norm2+" + name + "." +
                       linears + two + feed + "end ";
            return begin + "self_attn " + attend + "end " + one + begin + linears + feed + "end " + two;
        };
        for (const bool norm_first : {false, true}) {
            const std::string bytes = golden_bytes(norm_first ? "token_decoder.pt2" : "token_encoder.pt2");
            const GraphLayers found = layers_of_graph(program_in(bytes), {6});
            CHECK(described(found) == "embedding=table position=place " + block("encoder.layers.0", norm_first) +
                                          block("encoder.layers.1", norm_first) +
                                          (norm_first ? "layer_norm=encoder.norm " : "") + "last_position linear=head ");
            for (const ListedLayer& layer : found.entries)
                if (layer.kind == static_cast<std::uint8_t>(LayerKind::Attention))
                    CHECK(layer.arguments == std::array{2.0F, norm_first ? 1.0F : 0.0F, 0.1F, 0.0F, 0.0F, 0.0F});
        }
        const auto part = [](const std::string& name, const std::string& attention) {
            const std::string two = name + ".before+" + name + "." + attention;
            return "residual=" + two + " layer_norm=" + name + ".before attention=" + name + "." + attention +
                   " end residual=" + name + ".behind+" + name + ".wide.0+" + name + ".wide.2 layer_norm=" + name +
                   ".behind linear=" + name + ".wide.0 gelu linear=" + name + ".wide.2 dropout end ";
        };
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_gpt.pt2")), {6})) ==
              "embedding=table position=place " + part("blocks.0", "attention") + part("blocks.1", "attention") +
                  part("blocks.2", "attention") + "layer_norm=norm last_position linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_vit.pt2")), {6})) ==
              "embedding=table position=place " + part("block", "attention") + part("one", "attention") +
                  "attention=q+k+v+out flatten linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("token_mean.pt2")), {6})) ==
              "embedding=table position=place " + part("blocks.0", "attention") + part("blocks.1", "attention") +
                  part("blocks.2", "attention") + "layer_norm=norm mean linear=head ");
        CHECK(described(layers_of_graph(program_in(golden_bytes("group_resnet.pt2")), {1, 12, 12})) ==
              "conv2d=stem group_norm=norm relu "
              "residual=one conv2d=one.conv1 group_norm=one.norm1 relu conv2d=one.conv2 group_norm=one.norm2 end relu "
              "residual=two conv2d=two.conv1 group_norm=two.norm1 relu conv2d=two.conv2 group_norm=two.norm2 "
              "shortcut conv2d=two.down.0 group_norm=two.down.1 end relu avg_pool flatten linear=fc ");
    }

    TEST_CASE("TensorsOfTheListAreTheFilesInItsOrder") {
        for (const char* name : {"cnn", "bn_cnn", "written", "group_resnet", "resnet18"}) {
            CAPTURE(name);
            const exported::SharedModelFile file(testing::golden_file(std::string(name) + ".pt2"));
            ModelSpec spec = image_spec();
            spec.exported = file.handle();
            CHECK(kept_as_graph(spec, program_of(spec)).empty());
            spec.as_layers = true;
            std::vector<std::string> of_list, of_file;
            for_each_tensor(plan_model(spec), [&](const std::string& tensor, const Parameter&) { of_list.push_back(tensor); });
            const aggregation::Layout layout = model_layout(spec);
            for (const aggregation::LayoutEntry& entry : layout.entries()) of_file.push_back(entry.name);
            CHECK(of_list == of_file);
            CHECK(num_parameters(spec) == static_cast<double>(layout.num_parameters()));
        }
    }

    TEST_CASE("FrozenOfTheFileAndByNameIsFrozenInTheList") {
        const exported::SharedModelFile file(testing::golden_file("cnn.pt2"));
        ModelSpec spec = image_spec();
        spec.exported = file.handle();
        spec.frozen = NamePatterns::of({"conv*"});
        spec.as_layers = true;
        CHECK(num_frozen(spec) == 4 * 9 + 4 + 6 * 4 * 9 + 6);
        ExportedFile altered("cnn");
        altered.meta("conv1.weight", "requires_grad", false);
        CHECK(kept(altered.archive()).empty());
    }

    TEST_CASE("ListOfAGraphIsCutAfterAModuleOrAResidualByItsName") {
        const exported::SharedModelFile file(testing::golden_file("group_resnet.pt2"));
        ModelSpec spec = image_spec();
        spec.exported = file.handle();
        spec.as_layers = true;
        const aggregation::Layout layout = model_layout(spec);
        const Cut cut = cut_after(spec, layout, "one");
        CHECK(cut.num_layers == 3);
        CHECK(cut.activation_floats == 4 * 12 * 12);
        for (const aggregation::LayoutEntry& entry : layout.entries())
            CHECK((entry.offset >= cut.offset) == (entry.name >= "two" || entry.name[0] == 'f'));
    }

    TEST_CASE("FirstOperationThatNoLayerComputesIsNamed") {
        const auto starts = [](const std::string& name, const std::string& why, const ModelSpec& spec = image_spec()) {
            const std::string problem = kept(golden_bytes(name + ".pt2"), spec);
            CHECK_MESSAGE(problem.starts_with(why), name << "\n" << problem);
            CHECK_MESSAGE_IS("models", name, problem);
        };
        starts("residual", "aten.silu.default ('silu') is not a layer");
        starts("tied", "aten.linear.default ('linear') takes features in a row");
        starts("kept", "");
        starts("gated", "aten.glu.default ('glu') is not a layer");
        starts("transformer", "");
        starts("bag", "aten.ne.Scalar ('ne') is not a layer", token_spec());
        starts("token_lstm", "aten.lstm.input ('getitem') gives its states at all positions and after the last one",
               token_spec());
    }

    TEST_CASE("ArgumentsThatNoLayerHasKeepTheGraph") {
        check_argument_kept("cnn", "conv2d", "dilation", ints({2, 2}), "has a dilation");
        check_argument_kept("cnn", "conv2d", "stride", ints({1, 2}), "has stride [1, 2], but layers are square");
        check_argument_kept("cnn", "conv2d", "padding", ints({-1, -1}), "has padding -1");
        check_argument_kept("cnn", "conv2d", "stride", ints({1 << 30, 1 << 30}), "has stride");
        check_argument_kept("cnn", "conv2d", "padding_mode", {{"as_string", "reflect"}}, "has the argument 'padding_mode'");
        check_argument_kept("cnn", "max_pool2d", "ceil_mode", flag(true), "has ceil_mode");
        check_argument_kept("cnn", "max_pool2d", "stride", ints({1, 2}), "has stride [1, 2], but layers are square");
        check_argument_kept("cnn", "max_pool2d", "padding", ints({2, 2}), "has padding 2; allowed: at most half its size, 1");
        check_argument_kept("cnn", "max_pool2d", "dilation", ints({2, 2}), "has a dilation");
        check_argument_kept("cnn", "flatten", "start_dim", integer(0), "mixes examples");
        check_argument_kept("cnn", "flatten", "start_dim", integer(2), "");
        check_argument_kept("cnn", "linear", "bias", kNone, "'head.bias' belongs to no layer");
        check_argument_kept("bn_cnn", "batch_norm", "eps", real(1e-3), "has a momentum or eps");
        check_argument_kept("bn_cnn", "batch_norm", "momentum", real(0.5), "has a momentum or eps");
        check_argument_kept("bn_cnn", "batch_norm", "weight", kNone, "");
        check_argument_kept("bn_cnn", "batch_norm", "training", flag(false), "trains in evaluation mode");
        check_argument_kept("bn_cnn", "dropout", "train", flag(false), "drops nothing in training");
        check_argument_kept("bn_cnn", "dropout", "p", real(1.0), "has p 1");
        check_argument_kept("group_resnet", "group_norm", "eps", real(1e-6), "has an eps");
        check_argument_kept("group_resnet", "adaptive", "output_size", ints({4, 4}), "");
        check_argument_kept("group_resnet", "add.Tensor", "alpha", real(2.0), "scales what it adds");
        check_argument_kept("written", "avg_pool2d", "ceil_mode", flag(true), "has ceil_mode");
        check_argument_kept("written", "avg_pool2d", "divisor_override", integer(3), "does not divide by");
        check_argument_kept("written", "addmm", "beta", real(0.5), "scales what it adds");
        check_argument_kept("written", "permute", "dims", ints({0, 1}), "transposes a value");
        check_argument_kept("written", "avg_pool2d", "kernel_size", ints({0, 0}), "has kernel_size 0");
        check_kept("written", "leaves the padding out of its means", [](ExportedFile& file) {
            file.argument("avg_pool2d", "padding", ints({1, 1}));
            file.argument("avg_pool2d", "count_include_pad", flag(false));
        });
        const ModelSpec tokens = token_spec();
        const auto embedding = [&](const char* argument, const Json& value, const char* why) {
            check_kept(
                "token_mlp", why, [&](ExportedFile& file) { file.argument("embedding", argument, value); }, tokens);
        };
        embedding("padding_idx", integer(0), "has a padding_idx");
        embedding("sparse", flag(true), "its gradients");
        embedding("scale_grad_by_freq", flag(true), "its gradients");
        const auto between = [](const char* operation, const Json& inputs, const char* why) {
            check_kept("cnn", why, [&](ExportedFile& file) {
                file.insert(2, operation, "relu", inputs, "between");
                file.argument("max_pool2d", "self", tensor("between"));
            });
        };
        between("gelu.default", {{"approximate", {{"as_string", "tanh"}}}}, "is an approximation");
        between("add.Tensor", {{"other", tensor("x")}}, "adds values of different shapes");
        check_argument_kept("shuffled", "transpose", "dim1", integer(3), "does not exchange groups of channels");
        check_argument_kept("shuffled", "permute", "dims", ints({0, 1, 2, 4, 3}), "does not exchange groups of channels");
        check_argument_kept("shuffled", "flatten", "end_dim", integer(3), "flattens other sizes than groups");
        check_argument_kept("shuffled", "aten.view.default", "size", ints({-1, 3, 4, 25}), "changes the shape of examples");
        check_kept(
            "token_adapted", "takes as other a value that is not a number",
            [](ExportedFile& file) { file.argument("mul", "other", tensor("relu")); }, token_spec());
    }

    TEST_CASE("RecurrentLayersThatDifferKeepTheGraph") {
        const auto differs = [](const char* operation, const char* argument, const Json& value, const std::string& why) {
            check_kept(
                "token_reader", why, [&](ExportedFile& file) { file.argument(operation, argument, value); }, token_spec());
        };
        differs("lstm", "batch_first", flag(false), "takes positions before examples");
        differs("lstm", "has_biases", flag(false), "has no biases");
        differs("gru", "num_layers", integer(1), "has other parameters than the layer");
        differs("gru", "hx", tensor("embedding"), "begins with a state other than zeros");
        differs("gru", "dropout", real(1.0), "has dropout 1");
        differs("select", "index", integer(0), "is not the last position");
        differs("slice", "start", integer(1), "takes a part of a value");
    }

    TEST_CASE("ValuesInAnothersPlaceKeepTheGraph") {
        check_argument_kept("cnn", "conv2d", "input", tensor("p_conv1_bias"), "");
        check_argument_kept("cnn", "conv2d", "bias", tensor("p_conv2_bias"), "");
        check_argument_kept("written", "addmm", "mat2", tensor("avg_pool2d"), "");
        check_argument_kept("written", "addmm", "mat1", tensor("avg_pool2d"), "");
    }

    TEST_CASE("ViewThatMixesExamplesKeepsTheGraph") {
        const auto as = [](const Json& sizes, const std::string& why) {
            check_argument_kept("written", "view", "size", sizes, why);
        };
        as(ints({-1, 54}), "mixes examples");
        as(ints({2, 108}), "mixes examples");
        as(ints({108, -1}), "mixes examples");
        as(ints({-1, 3, 36}), "changes the shape of examples");
        as(ints({-1}), "does not give examples with several");
        as({{"as_sym_ints", {integer(-1), integer(54)}}}, "mixes examples");
        as({{"as_sym_ints", {integer(-1), Json{{"as_name", "sym_size_int"}}}}}, "of a computed size");
        check_kept("written", "is not the number of examples",
                   [](ExportedFile& file) { file.argument("sym_size", "dim", integer(1)); });
        ExportedFile same("written");
        same.argument("view", "size", ints({-1, 108}));
        CHECK(kept(same.archive()).empty());
    }

    TEST_CASE("ValueThatIsUsedTwiceKeepsTheGraphUnlessAsAResidual") {
        check_kept("cnn", "uses 'conv1.bias' a second time", [](ExportedFile& file) {
            file.insert(1, "conv2d.default", "conv2d", Json::object(), "again");
            file.nodes()[1]["inputs"] = file.nodes()[0]["inputs"];
        });
        check_kept("cnn", "adds a value to itself", [](ExportedFile& file) {
            file.insert(2, "add.Tensor", "relu", {{"other", tensor("relu")}}, "twice");
            file.argument("max_pool2d", "self", tensor("twice"));
        });
        check_kept("cnn", "gives an unused value",
                   [](ExportedFile& file) { file.insert(2, "tanh.default", "relu", Json::object(), "lost"); });
        // Two sums of the same two values, crosswise: residuals do not nest this way.
        check_kept("cnn", "", [](ExportedFile& file) {
            file.insert(2, "tanh.default", "relu", Json::object(), "a");
            file.insert(3, "gelu.default", "relu", Json::object(), "b");
            file.insert(4, "add.Tensor", "a", {{"other", tensor("b")}}, "c");
            file.insert(5, "add.Tensor", "c", {{"other", tensor("a")}}, "d");
            file.argument("max_pool2d", "self", tensor("d"));
        });
        ExportedFile residual("cnn");
        residual.insert(2, "tanh.default", "relu", Json::object(), "a");
        residual.insert(3, "add.Tensor", "relu", {{"other", tensor("a")}}, "b");
        residual.argument("max_pool2d", "self", tensor("b"));
        CHECK(described(layers_of_graph(program_in(residual.archive()), {1, 12, 12})) ==
              "conv2d=conv1 relu residual tanh end max_pool conv2d=conv2 relu flatten linear=head ");
    }

    TEST_CASE("WriteThatAnotherUseWouldSeeKeepsTheGraph") {
        const auto written = [](const std::string& by) {
            return [by](ExportedFile& file) {
                file.insert(2, by, "relu", Json::object(), "a");
                file.insert(3, "add.Tensor", "relu", {{"other", tensor("a")}}, "b");
                file.argument("max_pool2d", "self", tensor("b"));
            };
        };
        check_kept("cnn", "", written("tanh_.default"));
        // In evaluation dropout's output aliases its operand, so the in-place write affects the operand, too.
        check_kept("cnn", "", [](ExportedFile& file) {
            file.insert(2, "dropout.default", "relu", {{"p", real(0.5)}, {"train", flag(true)}}, "seen");
            file.nodes()[2]["inputs"][0]["name"] = "input";
            file.insert(3, "tanh_.default", "seen", Json::object(), "a");
            file.insert(4, "add.Tensor", "relu", {{"other", tensor("a")}}, "b");
            file.argument("max_pool2d", "self", tensor("b"));
        });
    }

    TEST_CASE("ParametersInAnotherOrderThanTheLayersDoNotKeepTheGraphButForbidACut") {
        const exported::SharedModelFile file(testing::golden_file("token_encoder.pt2"));
        ModelSpec spec = token_spec();
        spec.exported = file.handle();
        spec.as_layers = true;
        const aggregation::Layout layout = model_layout(spec);
        CHECK(layout.entries()[2].name == "encoder.layers.0.self_attn.in_proj_weight");
        CHECK(layout.entries()[10].name == "encoder.layers.0.norm1.weight");
        CHECK_THROWN_MESSAGE("models", "", ConfigError, cut_after(spec, layout, "table"));
    }

    TEST_CASE("ParametersWithoutALayerKeepTheGraph") {
        check_argument_kept("cnn", "conv2d", "bias", kNone, "'conv1.bias' belongs to no layer");
    }

    TEST_CASE("ListThatDoesNotFitTheDataKeepsTheGraph") {
        ModelSpec other = image_spec();
        other.num_classes = 5;
        CHECK(kept(golden_bytes("cnn.pt2"), other).find("layer 6 (linear) is the last") != std::string::npos);
        const std::string bytes = golden_bytes("cnn.pt2");
        const exported::Program program = program_in(bytes);
        CHECK_THROWS_WITH_AS(layers_of_graph(program, {12, 12}), doctest::Contains("without the sizes of 1"), NoLayer);
    }
}
