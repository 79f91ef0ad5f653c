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

/// Two operands of einsum and its result, an index of each dimension as a letter.
struct Indices {
    std::string left{}, right{}, to{};
};

/// Of "bqd,bkd->bqk"; refuses one that does not name every index of two operands and of the result once.
Indices indices_of(GraphCall& call) {
    std::string equation = call.word("equation", "");
    std::erase(equation, ' ');
    const std::size_t comma = equation.find(','), arrow = equation.find("->");
    const auto once = [](const std::string& letters) {
        return std::ranges::all_of(letters, [&](char each) {
            return ((each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z')) && std::ranges::count(letters, each) == 1;
        });
    };
    if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
        call.refuse("is not a sum of products of two values with '->'");
    Indices found{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2)};
    if (!once(found.left) || !once(found.right) || !once(found.to))
        call.refuse("has an index twice in a value, or one that is not a letter");
    return found;
}

/// The places of the `wanted` letters in `among`; refuses one that `among` lacks, or has besides.
std::vector<std::int64_t> order_of(GraphCall& call, const std::string& wanted, const std::string& among) {
    std::vector<std::int64_t> order;
    for (const char each : wanted)
        if (const std::size_t at = among.find(each); at != std::string::npos) order.push_back(static_cast<std::int64_t>(at));
    if (order.size() != wanted.size() || among.size() != wanted.size())
        call.refuse("is not a product of queries and keys, or of shares and values");
    return order;
}

/// The letters of `among` that `others` lacks.
std::string letters_without(std::string among, const std::string& others) {
    std::erase_if(among, [&](char each) { return others.find(each) != std::string::npos; });
    return among;
}

/// A value whose dimensions have the order of `wanted`; `letters` names them as they are.
Arranged in_order(GraphCall& call, const Arranged& value, const std::string& letters, const std::string& wanted) {
    if (value.dimensions.size() != letters.size()) call.refuse("names another number of indices than a value has");
    return *permuted(value, order_of(call, wanted, letters));
}

/// einsum of shares and values, "bhqk,bhkd->bhqd".
void read_seen(GraphValues& values, GraphCall& call, const AttentionScores& shares, const std::string& of_shares,
               const Arranged& seen, const std::string& of_values, const std::string& to) {
    if (!shares.shares) call.refuse("takes scores without a softmax");
    if (shares.queries.dimensions.size() != of_shares.size()) call.refuse("names another number of indices than a value has");
    const std::string outer = of_shares.substr(0, of_shares.size() - 2), feature = letters_without(of_values, of_shares);
    values.keep_seen(call, shares, in_order(call, seen, of_values, outer + of_shares.back() + feature),
                     order_of(call, to, of_shares.substr(0, of_shares.size() - 1) + feature));
}

/// einsum of queries and keys, "bhqd,bhkd->bhqk"; the keys may come first.
void read_scores(GraphValues& values, GraphCall& call, const Arranged& left, const Arranged& right, const Indices& indices) {
    const std::string& to = indices.to;
    if (to.size() < 3) call.refuse("is not a product of queries and keys, or of shares and values");
    const std::string outer = to.substr(0, to.size() - 2);
    const bool keys_first = indices.left.find(to.back()) != std::string::npos;
    const std::string &of_queries = keys_first ? indices.right : indices.left,
                      &of_keys = keys_first ? indices.left : indices.right;
    const std::string feature = letters_without(of_queries, to);
    AttentionScores scores;
    scores.queries = in_order(call, keys_first ? right : left, of_queries, outer + to[to.size() - 2] + feature);
    scores.keys = in_order(call, keys_first ? left : right, of_keys, outer + to.back() + feature);
    values.keep_scores(call, scores);
}

/// einsum of queries and keys, or of shares and values, with any letters and orders of heads.
bool read_sum_of_products(GraphValues& values, GraphCall& call) {
    const std::vector<std::string> operands = call.tensors("tensors");
    if (operands.size() != 2) return false;
    const std::optional<Arranged> left = values.arranged(operands[0]), right = values.arranged(operands[1]);
    const AttentionScores *left_shares = values.scores(operands[0]), *right_shares = values.scores(operands[1]);
    const bool of_shares = (left_shares != nullptr && right) || (left && right_shares != nullptr);
    if (!of_shares && !(left && right)) return false;
    const Indices indices = indices_of(call);
    call.ignore("path");
    if (left_shares != nullptr)
        read_seen(values, call, *left_shares, indices.left, *right, indices.right, indices.to);
    else if (right_shares != nullptr)
        read_seen(values, call, *right_shares, indices.right, *left, indices.left, indices.to);
    else
        read_scores(values, call, *left, *right, indices);
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
                                                                   {"einsum.default", read_sum_of_products},
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
