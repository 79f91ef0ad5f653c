// Formulas over memories by class: a number for each of C classes [C], or a table with a row for each class, of logits [C][C] or of the
// d features that enter the last layer [C][d]. These memories are small, so the host computes them, even in a run on a GPU.
//
//   S + T      element by element; S and T have one shape
//   S / m      each row of table S divided by the number of its class
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
/// The word of that shape in method files, "number" for Scalar; empty for a shape that they cannot name.
std::string_view word_of_shape(MemoryShape shape);
std::optional<MemoryShape> shape_named(std::string_view word);

Shape value_shape(MemoryShape shape);
/// The shape of the value that each example adds to a memory of that shape: a number, a number for each class, or features.
Shape summand_shape(MemoryShape shape);

/// The formulas of `all` whose targets have that shape, with the nodes that they need. Targets that are numbers belong to Shape::Vector.
Formulas part_of(const Formulas& all, Shape shape);

struct ClassSizes {
    std::size_t classes = 0;
    std::size_t features = 0;

    static ClassSizes of(const Memories& memories);
    std::size_t floats_of(Shape shape) const;
};

class ClassFormulas {
public:
    /// Takes a place's formulas whose targets are memories by class, with the method's keys set; none if the method has no such place.
    /// Throws FormulaError as compile().
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
    /// A value that formulas read; a number is repeated for each column of a row where tables read it.
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
