#include "clients/models/graph_attention.h"

#include "clients/exported/operations.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

namespace fedhive::clients {

using exported::Argument;
using exported::Node;

namespace {

/// A size of a view: `number`, or the number of examples times `of_batch`.
struct ViewSize {
    std::int64_t number = 0, of_batch = 0;
    bool operator==(const ViewSize&) const = default;
};
using ViewSizes = std::vector<ViewSize>;

ViewSize sized(std::int64_t number) { return {number, 0}; }
ViewSize times_batch(std::int64_t factor) { return {0, factor}; }

/// Reads one attention on the way back from its heart, scaled_dot_product_attention, to the sequence, and on to its result. After
/// the first operation that is another one than expected, failed() is true and what is read is empty.
class AttentionReader {
public:
    explicit AttentionReader(const exported::Program& program) : program_(program) {
        for (const Node& node : program.graph.nodes) {
            for (const Argument& output : node.outputs) makers_[output.text] = &node;
            for (const exported::NamedArgument& input : node.inputs) {
                if (input.value.is_value()) users_[input.value.text].insert(&node);
                for (const std::string& name : input.value.names) users_[name].insert(&node);
            }
        }
        for (const Argument& output : program.graph.outputs) users_[output.text].insert(nullptr);
    }

    /// nn.MultiheadAttention(batch_first=True)(x, x, x, need_weights=False).
    std::optional<FoundAttention> read(const Node& heart) {
        found_ = {};
        failed_ = false;
        found_.node = &heart;
        found_.nodes.insert(&heart);
        found_.dropout = real(heart, "dropout_p");
        const bool masked = has_causal_mask(heart);
        found_.causal = masked || flag(heart, "is_causal");
        if (heart.input("scale") != nullptr && heart.input("scale")->kind != Argument::Kind::None) failed_ = true;
        if (flag(heart, "enable_gqa")) failed_ = true;
        read_operands(heart);
        read_result(heart);
        if (failed_ || !is_closed()) return std::nullopt;
        return found_;
    }

private:
    // What an operation is and takes.

    const Node& nothing() {
        static const Node none;
        failed_ = true;
        return none;
    }
    const Node& checked(const Node* node, std::string_view operation) {
        if (node == nullptr || !node->target.starts_with(exported::kAten) ||
            std::string_view(node->target).substr(exported::kAten.size()) != operation)
            return nothing();
        found_.nodes.insert(node);
        return *node;
    }
    /// The operation that gives a value, or the only one that takes what an operation gives.
    const Node& maker(const std::string& value, std::string_view operation) {
        const auto made = makers_.find(value);
        return checked(made == makers_.end() ? nullptr : made->second, operation);
    }
    const Node& user(const Node& node, std::string_view operation) {
        if (node.outputs.size() != 1) return nothing();
        const auto& users = users_[node.outputs.front().text];
        return checked(users.size() == 1 ? *users.begin() : nullptr, operation);
    }
    static std::string tensor(const Node& node, const char* name) {
        const Argument* argument = node.input(name);
        return argument != nullptr && argument->kind == Argument::Kind::Tensor ? argument->text : "";
    }
    static double real(const Node& node, const char* name) {
        const Argument* argument = node.input(name);
        if (argument == nullptr) return 0.0;
        return argument->kind == Argument::Kind::Int ? static_cast<double>(argument->number) : argument->real;
    }
    static bool flag(const Node& node, const char* name) {
        const Argument* argument = node.input(name);
        return argument != nullptr && argument->kind == Argument::Kind::Bool && argument->number != 0;
    }
    void expect(const Node& node, const char* name, std::int64_t number) {
        const Argument* argument = node.input(name);
        if (argument == nullptr || argument->kind != Argument::Kind::Int || argument->number != number) failed_ = true;
    }
    static std::vector<std::int64_t> integers(const Node& node, const char* name) {
        const Argument* argument = node.input(name);
        return argument != nullptr && argument->kind == Argument::Kind::Ints ? argument->ints : std::vector<std::int64_t>();
    }
    void expect_swap(const Node& node, std::int64_t one, std::int64_t other) {
        const Argument *first = node.input("dim0"), *second = node.input("dim1");
        const bool right =
            first != nullptr && second != nullptr && std::minmax(first->number, second->number) == std::minmax(one, other);
        if (!right) failed_ = true;
    }

    /// The number of examples times a factor, 1 or that of a product in the graph; 0 for another number.
    std::int64_t batch_times(const std::string& value) const {
        const auto made = makers_.find(value);
        if (made == makers_.end()) return 0;
        const Node& node = *made->second;
        if (node.target == "torch.ops.aten.sym_size.int")
            return tensor(node, "self") == program_.graph.inputs.back().text && real(node, "dim") == 0.0 ? 1 : 0;
        if (node.target != "_operator.mul") return 0;
        const Argument *a = node.input("a"), *b = node.input("b");
        if (a == nullptr || b == nullptr || b->kind != Argument::Kind::Int) return 0;
        return batch_times(a->text) * b->number;
    }
    ViewSizes sizes(const Node& view) const {
        const Argument* to = view.input(view.input("shape") != nullptr ? "shape" : "size");
        ViewSizes all;
        for (std::size_t i = 0; to != nullptr && i < to->ints.size(); ++i) {
            const std::string name = i < to->names.size() ? to->names[i] : "";
            all.push_back(name.empty() ? sized(to->ints[i]) : times_batch(batch_times(name)));
        }
        return all;
    }
    void expect_view(const Node& view, const ViewSizes& wanted) {
        if (sizes(view) != wanted) failed_ = true;
    }

    // The parts of an attention.

    /// Queries, keys and values: parts 0, 1 and 2 of one product with the sequence, in heads.
    void read_operands(const Node& heart) {
        std::string projected;
        for (const std::int64_t which : {0, 1, 2}) {
            constexpr const char* kNames[]{"query", "key", "value"};
            const Node& in_heads = maker(tensor(heart, kNames[which]), "view.default");
            const ViewSizes shape = sizes(in_heads);
            if (shape.size() != 4 || shape[0] != times_batch(1)) failed_ = true;
            if (failed_) return;
            const std::int64_t heads = shape[1].number, positions = shape[2].number, width = shape[3].number;
            if (which == 0) {
                found_.heads = heads;
                found_.positions = positions;
                found_.features = heads * width;
            }
            if (heads != found_.heads || positions != found_.positions || heads * width != found_.features) failed_ = true;
            const Node& swapped = maker(tensor(in_heads, "self"), "transpose.int");
            expect_swap(swapped, 0, 1);
            const Node& split = maker(tensor(swapped, "self"), "view.default");
            expect_view(split, {sized(positions), times_batch(heads), sized(width)});
            const Node& part = maker(tensor(split, "self"), "select.int");
            expect(part, "dim", 0);
            expect(part, "index", which);
            if (which > 0 && tensor(part, "self") != projected) failed_ = true;
            projected = tensor(part, "self");
        }
        const Node& one_after_another = maker(projected, "contiguous.default");
        const Node& squeezed = maker(tensor(one_after_another, "self"), "squeeze.dim");
        expect(squeezed, "dim", -2);
        const Node& in_front = maker(tensor(squeezed, "self"), "transpose.int");
        expect_swap(in_front, 0, -2);
        const Node& spread = maker(tensor(in_front, "self"), "unsqueeze.default");
        expect(spread, "dim", 0);
        const Node& parted = maker(tensor(spread, "self"), "unflatten.int");
        expect(parted, "dim", -1);
        if (integers(parted, "sizes") != std::vector<std::int64_t>{3, found_.features}) failed_ = true;
        const Node& product = maker(tensor(parted, "self"), "linear.default");
        found_.called["in_proj_weight"] = tensor(product, "weight");
        found_.called["in_proj_bias"] = tensor(product, "bias");
        const Node& positions_first = maker(tensor(product, "input"), "transpose.int");
        expect_swap(positions_first, 0, 1);
        found_.from = tensor(positions_first, "self");
    }

    void read_result(const Node& heart) {
        const Node& sorted = user(heart, "permute.default");
        if (integers(sorted, "dims") != std::vector<std::int64_t>{2, 0, 1, 3}) failed_ = true;
        const Node& rows = user(user(sorted, "contiguous.default"), "view.default");
        expect_view(rows, {times_batch(found_.positions), sized(found_.features)});
        const Node& product = user(rows, "linear.default");
        found_.called["out_proj.weight"] = tensor(product, "weight");
        found_.called["out_proj.bias"] = tensor(product, "bias");
        const Node& positions_first = user(product, "view.default");
        expect_view(positions_first, {sized(found_.positions), times_batch(1), sized(found_.features)});
        const Node& result = user(positions_first, "transpose.int");
        expect_swap(result, 0, 1);
        found_.last = &result;
    }

    /// Whether the mask is one of the file's tensors that hides later positions, with 0 and −∞; any other mask fails.
    bool has_causal_mask(const Node& heart) {
        const std::string mask = tensor(heart, "attn_mask");
        if (mask.empty()) return false;
        const auto stored = std::ranges::find(program_.tensors, mask, &exported::StoredTensor::value);
        if (stored == program_.tensors.end() || stored->role != exported::Role::Constant || stored->dtype != exported::kFloat ||
            stored->sizes.size() != 2 || stored->sizes[0] != stored->sizes[1]) {
            failed_ = true;
            return false;
        }
        const std::string bytes = program_.values_of(*stored);
        const auto side = static_cast<std::size_t>(stored->sizes[0]);
        for (std::size_t i = 0; i < side * side; ++i) {
            float value = 0.0F;
            std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
            const bool later = i % side > i / side;
            if (later ? !(std::isinf(value) && value < 0.0F) : value != 0.0F) failed_ = true;
        }
        return true;
    }

    /// Whether nothing else uses what the operations before the last one give.
    bool is_closed() {
        return std::ranges::all_of(found_.nodes, [&](const Node* node) {
            return node == found_.last || std::ranges::all_of(node->outputs, [&](const Argument& output) {
                       return std::ranges::all_of(users_[output.text],
                                                  [&](const Node* by) { return found_.nodes.contains(by); });
                   });
        });
    }

    const exported::Program& program_;
    std::map<std::string, const Node*> makers_;
    std::map<std::string, std::set<const Node*>> users_;  // null: it is the graph's output
    FoundAttention found_;
    bool failed_ = false;
};

}  // namespace

std::vector<FoundAttention> find_attentions(const exported::Program& program) {
    AttentionReader reader(program);
    std::vector<FoundAttention> all;
    for (const Node& node : program.graph.nodes) {
        if (node.target != "torch.ops.aten.scaled_dot_product_attention.default") continue;
        if (std::optional<FoundAttention> found = reader.read(node)) all.push_back(std::move(*found));
    }
    return all;
}

}  // namespace fedhive::clients
