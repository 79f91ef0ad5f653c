// Formulas over memories by class: state that a method keeps for each of C classes. They have three shapes: classes [C], a number for each
// class; logits [C][C] and features [C][d], tables with a row for each class, d features being the input of the last layer. These memories are
// small, so the host computes them, even in a run on a GPU.
//
//   S + T      element by element; S and T have the same shape
//   S / m      row c of table S divided by m[c]; m has the shape classes
#pragma once

#include "aggregation/formulas/executor.h"
#include "aggregation/memory/memories.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

enum class Place;
struct MethodFormulas;

/// The shapes of memories by class, as method files name them: classes [C], logits [C][C], features [C][d].
inline constexpr std::array kClassShapes{MemoryShape::Classes, MemoryShape::ClassesByClasses, MemoryShape::ClassesByFeatures};
/// The word for `shape` in method files, such as "number" for Scalar; empty if method files have no word for it.
std::string_view word_of_shape(MemoryShape shape);
std::optional<MemoryShape> shape_named(std::string_view word);

/// The shape, in formulas, of a memory of shape `shape`.
Shape value_shape(MemoryShape shape);
/// The shape of one example's contribution to a memory of shape `shape`: a number, or a row of the table.
Shape summand_shape(MemoryShape shape);

/// The formulas of `all` whose targets have the shape `shape`, with the nodes that they use. Shape::Vector also takes those whose targets are
/// numbers.
Formulas part_of(const Formulas& all, Shape shape);

struct ClassSizes {
    std::size_t classes = 0;
    std::size_t features = 0;

    static ClassSizes of(const Memories& memories);
    std::size_t floats_of(Shape shape) const;
};

class ClassFormulas {
public:
    /// Compiles the formulas of `place` (the function of a method file) whose targets are memories by class, with the keys' values. Without such
    /// formulas, any() is false. Throws FormulaError, like compile().
    ClassFormulas(const MethodFormulas& method, Place place, ClassSizes sizes);

    bool any() const { return !parts_.empty(); }
    bool reads(std::string_view name) const;

    /// Sets the value of a name, as Executor::set(). Values by class are in host memory and are copied; an empty span means 0.
    void set(std::string_view name, double number);
    void set(std::string_view name, std::span<const float> values);

    void run();
    /// The values that the last run() computed, by target.
    const std::map<std::string, std::vector<float>, std::less<>>& results() const { return results_; }

private:
    struct Part {
        Shape shape = Shape::Classes;
        Executor executor;
    };
    /// A value that formulas read. spread[shape]: with the number of each class repeated along its row, for tables of that shape.
    struct Value {
        Shape shape = Shape::Classes;
        std::vector<float> values{};
        std::map<Shape, std::vector<float>> spread{};
    };
    void bind(Part& part);

    ClassSizes sizes_;
    std::vector<Part> parts_{};
    std::map<std::string, Value, std::less<>> values_{};
    std::map<std::string, std::vector<float>, std::less<>> results_{};
};

}  // namespace fedhive::aggregation::formulas
