#include "clients/models/graph_attention.h"

#include "clients/exported/operations.h"
#include "clients/models/graph_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace fedhive::clients {

using exported::Argument;

namespace {

constexpr double kHidden = -1e9;  // added to a score, at most: its share is then 0

/// Which positions of a square mask are hidden: the later ones, none, or others.
enum class Hides : std::uint8_t { Later, Nothing, Other };

/// hides(value): whether a value of the mask hides; a mask of scores is added to them, so that other values must be 0.
template <typename Function>
Hides hidden_by(const GraphConstant& mask, std::int64_t positions, const Function& hides) {
    const std::size_t rank = mask.sizes.size();
    if (rank < 2 || mask.sizes[rank - 1] != positions || mask.sizes[rank - 2] != positions ||
        mask.values.size() != static_cast<std::size_t>(positions * positions))
        return Hides::Other;
    bool later = true, nothing = true;
    for (std::size_t i = 0; i < mask.values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const bool hidden = hides(mask.values[i]);
        later = later && hidden == (at % positions > at / positions);
        nothing = nothing && !hidden;
    }
    return later ? Hides::Later : nothing ? Hides::Nothing : Hides::Other;
}

/// Whether the mask is causal; refuses one that is neither causal nor without effect.
template <typename Function>
bool is_causal(GraphCall& call, const GraphConstant& mask, std::int64_t positions, const Function& hides) {
    const Hides hidden = hidden_by(mask, positions, hides);
    if (hidden == Hides::Other) call.refuse("has a mask that does not hide exactly the later positions");
    return hidden == Hides::Later;
}

/// Of a mask that is added.
bool is_causal_sum(GraphCall& call, const GraphConstant& mask, std::int64_t positions) {
    if (mask.flags || std::ranges::any_of(mask.values, [](float value) { return value != 0.0F && !(value <= kHidden); }))
        call.refuse("adds a mask that has other values than 0 and minus infinity");
    return is_causal(call, mask, positions, [](float value) { return value != 0.0F; });
}

const GraphConstant& mask_of(GraphValues& values, GraphCall& call, const char* name) {
    const GraphConstant* mask = values.constant(call.tensor(name));
    if (mask == nullptr) call.refuse("has a mask that is not a constant");
    return *mask;
}

std::int64_t positions_of(const AttentionScores& scores) {
    return scores.queries.size(scores.queries.dimensions.size() - 2).number;
}

/// scaled_dot_product_attention: softmax(q kᵀ · scale + mask) v.
bool read_fused(GraphValues& values, GraphCall& call) {
    std::array<Arranged, 3> parts;
    constexpr const char* kNames[]{"query", "key", "value"};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::optional<Arranged> part = values.arranged(call.tensor(kNames[i]));
        if (!part || part->dimensions.size() < 3)
            call.refuse(fmt::format("takes as {} something else than heads of a sequence", kNames[i]));
        parts[i] = *part;
    }
    AttentionScores scores{.queries = parts[0], .keys = parts[1], .shares = true};
    scores.dropout = call.real("dropout_p", 0.0);
    scores.causal = call.flag("is_causal", false);
    const double width = static_cast<double>(parts[0].size(parts[0].dimensions.size() - 1).number);
    scores.times = call.real("scale", 1.0 / std::sqrt(width));
    if (call.flag("enable_gqa", false)) call.refuse("shares keys between heads");
    if (const std::string mask = call.tensor("attn_mask"); !mask.empty()) {
        const GraphConstant& constant = mask_of(values, call, "attn_mask");
        scores.causal = constant.flags
                            ? is_causal(call, constant, positions_of(scores), [](float value) { return value == 0.0F; })
                            : is_causal_sum(call, constant, positions_of(scores));
    }
    values.keep_seen(call, scores, parts[2]);
    return true;
}

/// q kᵀ, or shares · v.
bool read_product(GraphValues& values, GraphCall& call) {
    const char* other = call.node().input("mat2") != nullptr ? "mat2" : "other";
    const AttentionScores* shares = values.scores(call.tensor("self"));
    const std::optional<Arranged> right = values.arranged(call.tensor(other));
    if (shares != nullptr) {
        if (!shares->shares) call.refuse("takes scores without a softmax");
        if (!right) call.refuse("weights something else than heads of a sequence");
        values.keep_seen(call, *shares, *right);
        return true;
    }
    const std::optional<Arranged> left = values.arranged(call.tensor("self"));
    if (!left || !right || left->dimensions.size() < 3) return false;
    const std::optional<Arranged> keys = swapped(*right, -2, -1);
    if (!keys || keys->dimensions.size() != left->dimensions.size()) call.refuse("multiplies values of different orders");
    values.keep_scores(call, {.queries = *left, .keys = *keys});
    return true;
}

/// A product of queries, keys, values or scores with a number, or a quotient.
bool read_multiple(GraphValues& values, GraphCall& call) {
    const std::string self = call.tensor("self");
    const AttentionScores* scores = values.scores(self);
    const std::optional<Arranged> part = values.arranged(self, true);
    if (scores == nullptr && !part) return false;
    const double other = call.real("other", 1.0),
                 by = call.node().target.find(".div.") != std::string::npos ? 1.0 / other : other;
    if (part) {
        Arranged result = *part;
        result.times *= by;
        values.keep_arranged(call, call.node().outputs.front().text, result);
        return true;
    }
    AttentionScores result = *scores;
    if (result.causal || result.shares) call.refuse("scales scores behind their mask or their softmax");
    result.times *= by;
    values.keep_scores(call, result);
    return true;
}

/// Scores with those of later positions replaced by a very small number: masked_fill(scores, mask, value).
bool read_masked(GraphValues& values, GraphCall& call) {
    const AttentionScores* scores = values.scores(call.tensor("self"));
    if (scores == nullptr) return false;
    AttentionScores result = *scores;
    if (result.shares) call.refuse("hides shares, not scores");
    if (!(call.real("value", 0.0) <= kHidden)) call.refuse(fmt::format("hides scores by a number above {}", kHidden));
    const bool causal =
        is_causal(call, mask_of(values, call, "mask"), positions_of(result), [](float value) { return value != 0.0F; });
    result.causal = result.causal || causal;
    values.keep_scores(call, result);
    return true;
}

/// Scores plus a mask.
bool read_added(GraphValues& values, GraphCall& call) {
    const AttentionScores* scores = values.scores(call.tensor("self"));
    if (scores == nullptr) return false;
    AttentionScores result = *scores;
    if (result.shares) call.refuse("adds to shares, not to scores");
    if (call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    const bool causal = is_causal_sum(call, mask_of(values, call, "other"), positions_of(result));
    result.causal = result.causal || causal;
    values.keep_scores(call, result);
    return true;
}

bool read_softmax(GraphValues& values, GraphCall& call) {
    const AttentionScores* scores = values.scores(call.tensor("self"));
    if (scores == nullptr) return false;
    AttentionScores result = *scores;
    const std::int64_t dim = call.integer("dim", 0);
    if (result.shares) call.refuse("follows another softmax");
    if (result.queries.index(dim) != result.queries.dimensions.size() - 1)
        call.refuse("is not over the positions that are attended to");
    if (call.node().input("dtype") != nullptr && call.node().input("dtype")->kind == Argument::Kind::ScalarType &&
        call.node().input("dtype")->number == exported::kFloat)
        call.ignore("dtype");
    result.shares = true;
    values.keep_scores(call, result);
    return true;
}

bool read_dropped(GraphValues& values, GraphCall& call) {
    const AttentionScores* scores = values.scores(call.tensor("input"));
    if (scores == nullptr) return false;
    AttentionScores result = *scores;
    if (!result.shares || result.dropout > 0.0) call.refuse("drops scores, or shares a second time");
    if (!call.flag("train", false)) call.refuse("drops nothing in training");
    result.dropout = call.real("p", 0.5);
    values.keep_scores(call, result);
    return true;
}

bool read_same_scores(GraphValues& values, GraphCall& call) {
    const AttentionScores* scores = values.scores(call.tensor("self"));
    if (scores == nullptr) return false;
    call.ignore("memory_format");
    values.keep_scores(call, *scores);
    return true;
}

/// A linear layer of what all heads have seen, or of examples and positions in another order.
bool read_projection(GraphValues& values, GraphCall& call) {
    const std::string weight = call.tensor("weight"), bias = call.tensor("bias"), input = call.tensor("input");
    std::map<std::string, std::string> called{{"weight", weight}};
    if (!bias.empty()) called["bias"] = bias;
    if (values.keep_attention(call, input, called)) return true;
    const std::optional<Arranged> arranged = values.arranged(input, true);
    if (!arranged) return false;
    const std::vector<std::int64_t>& sizes = values.tensor(call, weight, "weight").sizes;
    if (sizes.size() != 2) call.refuse("has a weight that is not a matrix");
    values.keep_linear(call, *arranged, {LayerKind::Linear, {{"out", std::optional(sizes[0])}, {"bias", !bias.empty()}}},
                       called);
    return true;
}

struct AttentionReader {
    std::string_view target;  // after "torch.ops.aten."
    bool (*read)(GraphValues& values, GraphCall& call) = nullptr;
};

constexpr auto kAttentionReaders = std::to_array<AttentionReader>({{"scaled_dot_product_attention.default", read_fused},
                                                                   {"matmul.default", read_product},
                                                                   {"bmm.default", read_product},
                                                                   {"mul.Tensor", read_multiple},
                                                                   {"div.Tensor", read_multiple},
                                                                   {"masked_fill.Scalar", read_masked},
                                                                   {"add.Tensor", read_added},
                                                                   {"softmax.int", read_softmax},
                                                                   {"dropout.default", read_dropped},
                                                                   {"contiguous.default", read_same_scores},
                                                                   {"linear.default", read_projection}});

}  // namespace

bool read_attention(GraphValues& values, GraphCall& call) {
    const std::string& target = call.node().target;
    if (!target.starts_with(exported::kAten)) return false;
    const auto found =
        std::ranges::find(kAttentionReaders, std::string_view(target).substr(exported::kAten.size()), &AttentionReader::target);
    return found != kAttentionReaders.end() && found->read(values, call);
}

}  // namespace fedhive::clients
