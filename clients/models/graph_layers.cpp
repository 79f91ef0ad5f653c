#include "clients/models/graph_layers.h"

#include "aggregation/base/error.h"
#include "clients/models/graph_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

namespace fedhive::clients {

namespace {

/// The layers between two values of the graph.
struct Segment {
    GraphLayers layers;
    std::size_t first_tensor = std::numeric_limits<std::size_t>::max();  // lowest file index of their tensors

    void add(const ListedLayer& layer, const std::string& name, const std::vector<Parameter>& tensors = {}) {
        layers.entries.push_back(layer);
        layers.names.push_back(name);
        layers.tensors.push_back(tensors);
    }
    void add(const Segment& other) {
        for (std::size_t i = 0; i < other.layers.entries.size(); ++i)
            add(other.layers.entries[i], other.layers.names[i], other.layers.tensors[i]);
        first_tensor = std::min(first_tensor, other.first_tensor);
    }
    bool empty() const { return layers.entries.empty(); }
};

[[noreturn]] void refuse(const GraphStep& step, const std::string& why) { GraphCall(*step.node).refuse(why); }

ListedLayer mark(std::uint8_t kind) {
    ListedLayer entry;
    entry.kind = kind;
    return entry;
}

/// The common module: "layer1.0" for "layer1.0.conv1" and "layer1.0.bn1"; empty if there is none.
std::string common_module(const std::vector<std::string>& names) {
    std::string common = names.front() + ".";
    for (const std::string& name : names) {
        const std::string other = name + ".";
        std::size_t same = 0;
        while (same < std::min(common.size(), other.size()) && common[same] == other[same]) ++same;
        common.resize(same);
    }
    const std::size_t dot = common.rfind('.');
    return dot == std::string::npos ? "" : common.substr(0, dot);
}

/// Lists the layers on the way back from the graph's output to its input. The two operands of a sum originate from one value:
/// the layers on the two paths form a residual and its shortcut.
class GraphToLayers {
public:
    explicit GraphToLayers(const GraphValues& values) : values_(values) {}

    GraphLayers list() {
        Segment all;
        if (values_.takes_rows()) all.add(listed_layer(LayerKind::Flatten), "");
        all.add(between(values_.input(), values_.output()));
        for (const auto& [name, step] : values_.steps())
            if (!passed_.contains(name) && !step.in_attention) refuse(step, "gives an unused value");
        name_layers(all.layers);
        return all.layers;
    }

private:
    Segment between(const std::string& from, const std::string& to) {
        std::vector<std::string> way;
        for (std::string value = to; value != from; value = before(value)) way.push_back(value);
        std::ranges::reverse(way);
        Segment segment;
        for (const std::string& value : way) {
            const GraphStep& step = values_.steps().at(value);
            if (step.in_attention) refuse(step, "is a part of an attention, but used elsewhere, too");
            if (step.attends) refuse(step, "attends, but no linear layer of all heads follows it");
            if (!passed_.insert(value).second)
                refuse(step, "gives a value that is used several times, but not as in a residual");
            if (step.is_sum()) {
                segment.add(residual(value, step));
                continue;
            }
            for (const ListedLayer& layer : step.layers) segment.add(layer, step.name, step.tensors);
            segment.first_tensor = std::min(segment.first_tensor, step.first_tensor);
        }
        return segment;
    }

    Segment residual(const std::string& sum, const GraphStep& step) {
        const std::string& fork = fork_of(sum);
        Segment within = between(fork, step.from), beside = between(fork, step.added);
        // Follows the order of parameters in the file: the residual's before the shortcut's.
        if (within.empty() || (!beside.empty() && beside.first_tensor < within.first_tensor)) std::swap(within, beside);
        if (within.empty()) refuse(step, "adds a value to itself");
        Segment all;
        all.add(listed_layer(LayerKind::Residual), "");
        all.add(within);
        if (!beside.empty()) {
            all.add(mark(LayerList::kShortcut), "");
            all.add(beside);
        }
        all.add(mark(LayerList::kEnd), "");
        return all;
    }

    /// The operand of the value's step; for a sum, the value from which both its paths originate.
    const std::string& before(const std::string& value) {
        const GraphStep& step = values_.steps().at(value);
        return step.is_sum() ? fork_of(value) : step.from;
    }

    const std::string& fork_of(const std::string& sum) {
        if (const auto known = forks_.find(sum); known != forks_.end()) return known->second;
        const GraphStep& step = values_.steps().at(sum);
        std::set<std::string> one{step.from};
        for (std::string value = step.from; value != values_.input();) one.insert(value = before(value));
        std::string other = step.added;
        while (!one.contains(other)) other = before(other);  // ends at the input at the latest
        return forks_[sum] = other;
    }

    /// The modules of tensors; one outside of a module counts as one.
    static std::vector<std::string> modules_of(const std::vector<Parameter>& tensors) {
        std::vector<std::string> modules;
        for (const Parameter& tensor : tensors) {
            const std::string module = tensor.path.substr(0, tensor.path.rfind('.'));
            if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
        }
        return modules;
    }

    /// The module that contains all of `inner` and no other of `all`; else all of `inner`, with '+'.
    static std::string joined(const std::vector<std::string>& inner, const std::vector<std::string>& all) {
        const std::string module = common_module(inner);
        const auto in_it = [&](const std::string& name) { return name == module || name.starts_with(module + "."); };
        const bool own = !module.empty() && std::ranges::count_if(all, in_it) == std::ssize(inner);
        return own ? module : fmt::format("{}", fmt::join(inner, "+"));
    }

    /// Names layers with tensors of several modules, and residuals.
    static void name_layers(GraphLayers& layers) {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < layers.entries.size(); ++i) {
            if (!layers.names[i].empty() && layers.tensors[i].empty()) all.push_back(layers.names[i]);
            for (const std::string& module : modules_of(layers.tensors[i])) all.push_back(module);
        }
        for (std::size_t i = 0; i < layers.entries.size(); ++i)
            if (!layers.tensors[i].empty()) layers.names[i] = joined(modules_of(layers.tensors[i]), all);
        all.clear();
        std::ranges::copy_if(layers.names, std::back_inserter(all), [](const std::string& name) { return !name.empty(); });
        for (std::size_t i = 0; i < layers.entries.size(); ++i) {
            if (!holds_layers(layers.entries[i])) continue;
            std::vector<std::string> inner;
            int open = 1;
            for (std::size_t k = i + 1; open > 0; ++k) {
                if (holds_layers(layers.entries[k])) ++open;
                if (layers.entries[k].kind == LayerList::kEnd) --open;
                if (!layers.names[k].empty()) inner.push_back(layers.names[k]);
            }
            if (!inner.empty()) layers.names[i] = joined(inner, all);
        }
    }

    static bool holds_layers(const ListedLayer& entry) {
        return entry.kind < kNumLayerKinds && layer_catalog()[entry.kind].holds_layers;
    }

    const GraphValues& values_;
    std::set<std::string> passed_;
    std::map<std::string, std::string> forks_;
};

}  // namespace

GraphLayers layers_of_graph(const exported::Program& program, const Shape& input) {
    return GraphToLayers(GraphValues(program, input)).list();
}

}  // namespace fedhive::clients
