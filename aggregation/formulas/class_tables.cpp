#include "aggregation/formulas/class_tables.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/method_formulas.h"

#include <algorithm>
#include <utility>

namespace fedhive::aggregation::formulas {

std::string_view word_of_shape(MemoryShape shape) {
    if (shape == MemoryShape::Scalar) return "number";
    if (shape == MemoryShape::Classes) return "classes";
    if (shape == MemoryShape::ClassesByClasses) return "logits";
    return shape == MemoryShape::ClassesByFeatures ? "features" : "";
}

std::optional<MemoryShape> shape_named(std::string_view word) {
    if (word == word_of_shape(MemoryShape::Scalar)) return MemoryShape::Scalar;
    for (const MemoryShape shape : kClassShapes)
        if (word_of_shape(shape) == word) return shape;
    return std::nullopt;
}

Shape value_shape(MemoryShape shape) {
    if (shape == MemoryShape::Scalar) return Shape::Number;
    if (shape == MemoryShape::Classes) return Shape::Classes;
    if (shape == MemoryShape::ClassesByClasses) return Shape::ClassTable;
    return shape == MemoryShape::ClassesByFeatures ? Shape::FeatureTable : Shape::Vector;
}

Shape summand_shape(MemoryShape shape) {
    if (shape == MemoryShape::ClassesByClasses) return Shape::Classes;
    return shape == MemoryShape::ClassesByFeatures ? Shape::Features : Shape::Row;
}

Formulas part_of(const Formulas& all, Shape shape) {
    const auto space_of = [](const Target& target) { return target.shape > Shape::Row ? target.shape : Shape::Vector; };
    std::vector<bool> needs(all.nodes.size(), false);
    Formulas part;
    for (const Target& target : all.targets)
        if (space_of(target) == shape) {
            part.targets.push_back(target);
            needs[target.node] = true;
        }
    for (std::size_t i = all.nodes.size(); i-- > 0;)
        for (const std::size_t arg : all.nodes[i].arguments())
            if (needs[i]) needs[arg] = true;
    std::vector<std::size_t> places(all.nodes.size());
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
        if (!needs[i]) continue;
        places[i] = part.nodes.size();
        Node& node = part.nodes.emplace_back(all.nodes[i]);
        if (node.shape > Shape::Row) node.shape = Shape::Vector;
        for (std::size_t a = 0; a < node.num_args; ++a) node.args[a] = places[node.args[a]];
    }
    for (Target& target : part.targets) {
        target.node = places[target.node];
        target.is_vector = target.is_vector || target.shape > Shape::Row;
    }
    return part;
}

ClassSizes ClassSizes::of(const Memories& memories) {
    ClassSizes sizes;
    for (const Memory& memory : memories.all()) {
        if (memory.shape == MemoryShape::Classes) sizes.classes = memory.floats;
        if (is_table(value_shape(memory.shape))) sizes.classes = memory.rows;
        if (memory.shape == MemoryShape::ClassesByFeatures) sizes.features = memory.floats / memory.rows;
    }
    return sizes;
}

std::size_t ClassSizes::floats_of(Shape shape) const {
    if (shape == Shape::Number) return 1;
    return classes * (shape == Shape::ClassTable ? classes : shape == Shape::FeatureTable ? features : 1);
}

ClassFormulas::ClassFormulas(const MethodFormulas& method, Place place, ClassSizes sizes) : sizes_(sizes) {
    if (!method.has(place) || !method.any_by_class()) return;
    const Formulas all = method.parsed(place);
    for (const Node& node : all.nodes)
        if (node.op == Opcode::Name && node.shape > Shape::Row)
            values_[node.name] = {node.shape, std::vector<float>(sizes.floats_of(node.shape), 0.0F)};
    for (const MemoryShape of : kClassShapes) {
        Formulas part = part_of(all, value_shape(of));
        if (part.targets.empty()) continue;
        for (const Target& target : part.targets) results_[target.name].assign(sizes.floats_of(value_shape(of)), 0.0F);
        parts_.push_back({value_shape(of), Executor(std::move(part))});
    }
    for (const auto& [name, value] : method.keys) set(name, value);
}

bool ClassFormulas::reads(std::string_view name) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.executor.reads(name); });
}

void ClassFormulas::set(std::string_view name, double number) {
    for (Part& part : parts_) part.executor.set(name, number);
}

void ClassFormulas::set(std::string_view name, std::span<const float> values) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    Value& value = found->second;
    if (values.empty()) {
        std::ranges::fill(value.values, 0.0F);
        return;
    }
    FEDHIVE_CHECK_EQ(values.size(), value.values.size());
    std::ranges::copy(values, value.values.begin());
}

/// Gives the part's executor its vectors: a number for each class as often as a row has columns.
void ClassFormulas::bind(Part& part) {
    for (const std::string& name : part.executor.program().vectors) {
        Value& value = values_.find(name)->second;
        if (value.shape == part.shape) {
            part.executor.set(name, ConstParamSpan(value.values));
            continue;
        }
        std::vector<float>& spread = value.spread[part.shape];
        spread.resize(sizes_.floats_of(part.shape));
        const std::size_t width = sizes_.classes == 0 ? 0 : spread.size() / sizes_.classes;
        for (std::size_t c = 0; c < sizes_.classes; ++c)
            std::fill_n(spread.begin() + static_cast<std::ptrdiff_t>(c * width), width, value.values[c]);
        part.executor.set(name, ConstParamSpan(spread));
    }
    for (const std::string& name : part.executor.program().stored)
        part.executor.write_to(name, ParamSpan(results_.find(name)->second));
}

void ClassFormulas::run() {
    for (Part& part : parts_) {
        bind(part);
        const ElementRange all{0, sizes_.floats_of(part.shape)};
        part.executor.run({&all, 1});
    }
}

}  // namespace fedhive::aggregation::formulas
