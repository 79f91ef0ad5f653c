#include "clients/exported/roles.h"

#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fedhive::clients::exported {

namespace {

constexpr int kFirstInteger = 1, kLastInteger = 5, kBool = 12;

/// Finds written tensors; follows them through in-place operations and into nested graphs.
class Writes {
public:
    explicit Writes(const Program& program) {
        Known known;
        for (std::size_t i = 0; i < program.tensors.size(); ++i) known[program.tensors[i].value] = i;
        known[program.graph.inputs.back().text] = kInput;
        follow(program.graph, known);
    }
    static constexpr std::size_t kInput = ~std::size_t{0};
    const std::set<std::size_t>& written() const { return written_; }

private:
    using Known = std::map<std::string, std::size_t>;

    void follow(const Graph& graph, Known known) {
        for (const Node& node : graph.nodes) {
            for (const std::string& name : written_arguments(node)) note(node, name, known);
            const std::vector<std::string> operands = node.operands();
            for (const NamedArgument& argument : node.inputs) {
                if (!argument.value.graph) continue;
                const Graph& inner = *argument.value.graph;
                Known below;
                for (std::size_t i = 0; i < std::min(operands.size(), inner.inputs.size()); ++i)
                    if (const auto found = known.find(operands[i]); found != known.end())
                        below[inner.inputs[i].text] = found->second;
                follow(inner, below);
            }
        }
    }

    void note(const Node& node, const std::string& name, Known& known) {
        const Argument* argument = node.input(name);
        if (argument == nullptr || argument->kind != Argument::Kind::Tensor) return;
        const auto found = known.find(argument->text);
        if (found == known.end()) return;
        written_.insert(found->second);
        const bool in_place = name == "self" || name == "out";  // it returns the written argument
        if (in_place && node.outputs.size() == 1) known[node.outputs[0].text] = found->second;
    }

    std::set<std::size_t> written_;
};

/// Sets same_as of tensors that are the same view of one storage (tied weights). Returns pairs that share a storage otherwise.
std::vector<std::pair<std::size_t, std::size_t>> share_storages(std::vector<StoredTensor>& tensors) {
    std::map<std::string, std::size_t> first;
    std::vector<std::pair<std::size_t, std::size_t>> different;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        StoredTensor& tensor = tensors[i];
        const std::size_t before = first.emplace(tensor.member, i).first->second;
        const StoredTensor& other = tensors[before];
        const bool same = tensor.sizes == other.sizes && tensor.strides == other.strides && tensor.offset == other.offset &&
                          tensor.dtype == other.dtype && tensor.takes_gradient == other.takes_gradient;
        tensor.same_as = same ? before : i;
        if (!same) different.emplace_back(before, i);
    }
    return different;
}

Role role_of(const StoredTensor& tensor, bool written) {
    if (tensor.takes_gradient) {
        if (tensor.dtype != kFloat)
            refuse(fmt::format("parameter {} is {}; expected: F32", shown(tensor.name), name_of_dtype(tensor.dtype)),
                   "net = net.float()");
        if (written)
            refuse(fmt::format("writes to the parameter {} in forward", shown(tensor.name)), "weight = self.weight.clone()");
        if (tensor.repeats_itself())
            refuse(fmt::format("has the parameter {} as an expanded tensor, whose values share memory", shown(tensor.name)),
                   "nn.Parameter(weight.expand(…).clone())");
        return Role::Trained;
    }
    if (!written) return tensor.kind == StoredTensor::Kind::Parameter && tensor.dtype == kFloat ? Role::Frozen : Role::Constant;
    if (tensor.kind != StoredTensor::Kind::Buffer)
        refuse(fmt::format("writes to {} in forward, which is not a buffer", shown(tensor.name)),
               R"(self.register_buffer("name", values))");
    if ((tensor.dtype >= kFirstInteger && tensor.dtype <= kLastInteger) || tensor.dtype == kBool) return Role::Counter;
    if (tensor.dtype != kFloat)
        refuse(fmt::format("writes to the buffer {} in forward, which is {}; expected: F32, or an integer", shown(tensor.name),
                           name_of_dtype(tensor.dtype)),
               "net = net.float()");
    if (tensor.repeats_itself())
        refuse(fmt::format("writes to the buffer {} in forward, an expanded tensor, whose values share memory",
                           shown(tensor.name)),
               R"(self.register_buffer("name", values.expand(…).clone()))");
    return Role::Moved;
}

/// Counts training flags that have an effect: of norms with running statistics, and of layers that drop values.
struct Flags {
    struct Count {
        std::size_t all = 0, on = 0;
        bool off() const { return all > 0 && on == 0; }
    };
    Count norms, others;

    void count(const Graph& graph) {
        for (const Node& node : graph.nodes)
            for (const auto& [name, value] : node.inputs) {
                if (value.graph) count(*value.graph);
                const bool is_norm = name == "training" || name == "use_input_stats";
                if ((!is_norm && name != "train") || value.kind != Argument::Kind::Bool) continue;
                if (is_norm ? !has_statistics(node) : drops_nothing(node)) continue;
                Count& of = is_norm ? norms : others;
                ++of.all;
                of.on += value.number != 0 ? 1 : 0;
            }
    }

private:
    static bool has_statistics(const Node& node) {
        const Argument* mean = node.input("running_mean");
        return mean != nullptr && mean->kind == Argument::Kind::Tensor;
    }

    static bool drops_nothing(const Node& node) {
        for (const char* name : {"p", "dropout"})
            if (const Argument* share = node.input(name); share != nullptr && share->kind == Argument::Kind::Float)
                return share->real == 0.0;
        return false;
    }
};

/// Throws ConfigError for an export in evaluation mode, unless frozen_norms allows it for norms.
void check_mode(const Program& program, bool frozen_norms) {
    Flags flags;
    flags.count(program.graph);
    constexpr const char* kNormsAlone = R"(net.train(); [m.eval() for m in net.modules() if "Norm" in type(m).__name__])";
    if (frozen_norms) {
        if (flags.norms.all == flags.norms.on)
            refuse("has no norm that was exported in evaluation mode, but model.frozen_norms is true", kNormsAlone);
        if (flags.others.off())
            refuse(
                "was exported in evaluation mode, so its dropout has no effect; model.frozen_norms allows that only for norms",
                kNormsAlone);
        return;
    }
    if (flags.norms.on + flags.others.on > 0 || flags.norms.all + flags.others.all == 0) return;
    refuse(flags.norms.all == 0 ? "was exported in evaluation mode, so its dropout has no effect"
                                : "was exported in evaluation mode, so its dropout and norms do not work as in training; if "
                                  "this is intended for norms, set model.frozen_norms: true",
           kExport);
}

}  // namespace

void find_roles(Program& program, bool frozen_norms) {
    check_mode(program, frozen_norms);
    const Writes writes(program);
    if (writes.written().contains(Writes::kInput))
        refuse("writes to its input in forward, but the input belongs to the data", "x = x.clone()");
    const auto different = share_storages(program.tensors);
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        StoredTensor& tensor = program.tensors[i];
        const auto same_written = [&](std::size_t other) { return program.tensors[other].same_as == tensor.same_as; };
        tensor.role = role_of(tensor, std::ranges::any_of(writes.written(), same_written));
    }
    for (const auto& [one, other] : different) {
        const auto moves = [&](std::size_t i) {
            return program.tensors[i].role == Role::Trained || program.tensors[i].role == Role::Moved;
        };
        if (moves(one) || moves(other))
            refuse(fmt::format("{} and {} share memory with different shapes or strides; give one of them its own memory",
                               shown(program.tensors[one].name), shown(program.tensors[other].name)),
                   "weight = nn.Parameter(weight.clone())");
    }
    if (std::ranges::none_of(program.tensors, [](const StoredTensor& one) { return one.role == Role::Trained; }))
        refuse("has no parameter that needs a gradient", "net.requires_grad_(True)");
}

void freeze(Program& program, const NamePatterns& names) {
    if (!names.any()) return;
    std::set<std::size_t> found;
    for (const StoredTensor& tensor : program.tensors)
        if (tensor.role == Role::Trained && names.match(tensor.name)) found.insert(tensor.same_as);
    for (StoredTensor& tensor : program.tensors)
        if (found.contains(tensor.same_as)) tensor.role = Role::Frozen;
}

}  // namespace fedhive::clients::exported
