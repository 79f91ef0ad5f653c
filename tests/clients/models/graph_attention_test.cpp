// Attention in graphs of torch.export: what becomes the layer, and every near miss that must stay a graph.
#include "clients/models/graph_layers.h"
#include "tests/clients/models/kept_graphs.h"

#include <algorithm>

using namespace fedhive;
using namespace fedhive::testing;
using Json = nlohmann::json;

TEST_SUITE("GraphLayers") {
    TEST_CASE("AttentionThatDiffersKeepsTheGraph") {
        const auto differs = [](const char* operation, const char* argument, const Json& value) {
            check_kept(
                "token_encoder", "", [&](ExportedFile& file) { file.argument(operation, argument, value); }, token_spec());
        };
        differs("scaled_dot_product", "scale", real(0.25));
        differs("scaled_dot_product", "key", tensor("view_5"));
        differs("select.int", "index", integer(1));
        differs("permute", "dims", ints({2, 1, 0, 3}));
        differs("arange", "end", integer(5));
        ExportedFile same("token_encoder");
        same.argument("scaled_dot_product", "scale", real(0.5));  // 1 / sqrt(4)
        CHECK(kept(same.archive(), token_spec()).empty());
    }

    TEST_CASE("AttentionWrittenByHandThatDiffersKeepsTheGraph") {
        const auto differs = [](const char* name, const char* result, const char* argument, const Json& value,
                                const char* why) {
            check_kept(
                name, why,
                [&](ExportedFile& file) {
                    for (Json& node : file.nodes()) {
                        if (node["outputs"] != Json::array({tensor(result)})) continue;
                        std::erase_if(node["inputs"].get_ref<Json::array_t&>(),
                                      [&](const Json& input) { return input["name"] == argument; });
                        node["inputs"].push_back({{"name", argument}, {"arg", value}, {"kind", 1}});
                    }
                },
                token_spec());
        };
        differs("token_gpt", "linear_1", "input", tensor("embedding"), "attends between different sequences");
        differs("token_gpt", "view_1", "size", ints({-1, 6, 4, 2}), "heads in another order than the layer's");
        differs("token_gpt", "view", "size", ints({-1, 3, 2, 8}), "attends with another number of features");
        differs("token_gpt", "transpose_1", "dim1", integer(3), "heads in another order than the layer's");
        differs("token_gpt", "transpose_3", "dim1", integer(3), "mixes examples, positions or features");
        differs("token_gpt", "view_3", "size", ints({-1, 8, 6}), "mixes examples, positions or features");
        differs("token_gpt", "linear_3", "input", tensor("transpose_3"), "takes something else than all features");
        differs("token_gpt", "linear_3", "weight", tensor("p_blocks_0_wide_0_weight"), "gives another number of features");
        differs("token_gpt", "mul_1", "other", real(0.5), "scales scores by another number");
        differs("token_gpt", "masked_fill", "value", real(-1.0), "hides scores by a number above -1000000000");
        differs("token_gpt", "masked_fill", "mask", tensor("layer_norm_2"), "has a mask that is not a constant");
        differs("token_gpt", "eq_4", "other", integer(1), "does not hide exactly the later positions");
        differs("token_gpt", "softmax", "dim", integer(2), "is not over the positions");
        differs("token_gpt", "dropout_1", "train", flag(false), "drops nothing in training");
        differs("token_gpt", "matmul_1", "self", tensor("masked_fill"), "takes scores without a softmax");
        differs("token_gpt", "matmul_1", "other", tensor("transpose_4"), "attends with another number of features");
        differs("token_gpt", "matmul_1", "other", tensor("matmul"), "weights something else than heads");
        differs("token_gpt", "tril", "diagonal", integer(1), "does not hide exactly the later positions");
        differs("token_gpt", "ones", "size", ints({5, 6}), "does not hide exactly the later positions");
        differs("token_gpt", "arange", "end", integer(5), "");
        differs("token_vit", "full", "fill_value", real(-2.0), "adds a mask that has other values");
        differs("token_vit", "div", "other", real(2.0), "scales scores by another number");
        differs("token_vit", "permute", "dims", ints({2, 0, 1, 3, 4}), "");
        differs("token_vit", "bmm", "mat2", tensor("linear_5"), "attends with another number of features");
        const std::string no_product = "is not a product of queries and keys, or of shares and values";
        differs("token_mean", "einsum", "equation", text("bqhd,bkhd->bhq"), no_product.c_str());
        differs("token_mean", "einsum", "equation", text("bqhd,bkhd->hbqk"), "attends with another number of features");
        differs("token_mean", "einsum", "equation", text("bqhd,bqhd->bhqd"), no_product.c_str());
        differs("token_mean", "einsum", "equation", text("...qd,...kd->...qk"), "has an index twice in a value");
        differs("token_mean", "einsum", "equation", text("bqhd,bkhd"), "is not a sum of products of two values with '->'");
        differs("token_mean", "einsum", "equation", text("bqd,bkd->bqk"), "names another number of indices");
        differs("token_mean", "einsum", "equation", text("bhqd,bhkd->bhqk"), "attends with another number of features");
        differs("token_mean", "einsum_1", "equation", text("bhqk,bqhd->bkhd"), no_product.c_str());
        differs("token_mean", "einsum_1", "equation", text("bhqk,bkhd->bhqd"), "takes something else than all features");
        differs("token_mean", "einsum_1", "tensors", Json{{"as_tensors", {{{"name", "einsum"}}, {{"name", "view_2"}}}}},
                "takes scores without a softmax");
        differs("token_mean", "m_t", "self", tensor("getitem"), "attends with");
        differs("token_mean", "mean", "keepdim", flag(true), "without keepdim");
        differs("token_mean", "mean", "dim", ints({2}), "is not a mean");
        differs("token_mean", "mean", "dim", ints({0, 1}), "is not a mean");
        // The same network with masks that hide the same, or nothing.
        const auto same = [](const char* operation, const char* argument, const Json& value) {
            ExportedFile file("token_gpt");
            file.argument(operation, argument, value);
            CHECK(kept(file.archive(), token_spec()).empty());
        };
        same("masked_fill", "value", real(-1e9));
        same("eq.Scalar", "other", integer(-1));
        ExportedFile letters("token_mean");
        letters.argument("einsum", "equation", text("a i n x , a j n x -> a n i j"));
        CHECK(kept(letters.archive(), token_spec()).empty());
        // A part of an attention that is used elsewhere, too.
        check_kept(
            "token_gpt", "is a part of an attention, but used elsewhere, too",
            [](ExportedFile& file) {
                std::size_t at = 0;
                while (file.nodes()[at]["outputs"] != Json::array({tensor("linear_3")})) ++at;
                file.insert(at + 1, "add.Tensor", "linear_3", {{"other", tensor("linear")}}, "both");
                for (std::size_t i = at + 2; i < file.nodes().size(); ++i)
                    for (Json& input : file.nodes()[i]["inputs"])
                        if (input["arg"] == tensor("linear_3")) input["arg"] = tensor("both");
            },
            token_spec());
    }

    TEST_CASE("ValueWithTheNameOfOneInOrderKeepsTheGraph") {
        for (const char* name : {"linear in order", "scaled_dot_product_attention in order"})
            check_kept(
                "token_encoder", "a second time",
                [&](ExportedFile& file) { file.insert(2, "tanh.default", "embedding", Json::object(), name); }, token_spec());
    }

    TEST_CASE("MaskThatHidesLaterPositionsIsCausalAndAnyOtherKeepsTheGraph") {
        ExportedFile file("token_decoder");
        file.argument("scaled_dot_product", "is_causal", flag(false));
        const auto first_attends = [&](const ExportedFile& from) {
            ExportedFile written = from;
            const GraphLayers found = layers_of_graph(program_in(written.archive()), {6});
            const auto attention =
                std::ranges::find(found.entries, static_cast<std::uint8_t>(LayerKind::Attention), &ListedLayer::kind);
            return attention->arguments[1] > 0.0F;
        };
        CHECK_FALSE(first_attends(file));
        file.argument("scaled_dot_product", "attn_mask", tensor("b_mask"));
        CHECK(first_attends(file));
        for (auto& [name, content] : file.members)
            if (name.find("/data/constants/") != std::string::npos && !name.ends_with(".json"))
                content[content.size() - 8] ^= 1;
        CHECK_FALSE(kept(file.archive(), token_spec()).empty());
        ExportedFile other("token_decoder");
        other.argument("scaled_dot_product", "attn_mask", tensor("p_place_weight"));
        CHECK_FALSE(kept(other.archive(), token_spec()).empty());
    }
}
