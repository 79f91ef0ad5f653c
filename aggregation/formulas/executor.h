// Runs formulas on vectors of this process or of a CUDA device, in chunks that stay in the first cache.
//
//   Order    each operation on an element is rounded, in the order written; a number is rounded to f32 before it is combined with a
//            vector. A sum over elements adds f64 products in 32 lanes over blocks of 1,024 elements of a range, then blocks and ranges
//            in order. So the bits depend on no processor, no memory space and no chunk size.
//   Memory   4 bytes an element for each use of `threshold`.
#pragma once

#include "aggregation/formulas/device_formulas.h"
#include "aggregation/formulas/formula_program.h"
#include "aggregation/formulas/numbers.h"
#include "aggregation/formulas/vector_kernels.h"
#include "aggregation/math/inner_products.h"
#include "aggregation/memory/param_span.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// Elements [first, first + width) of all vectors.
struct ElementRange {
    std::size_t first = 0;
    std::size_t width = 0;
};

class Executor {
public:
    /// loops: for tests; null: the fastest. Throws FormulaError as compile() does.
    explicit Executor(Formulas formulas, const Loops* loops = nullptr);

    const FormulaProgram& program() const { return program_; }
    bool reads(std::string_view name) const { return program_.formulas.reads(name); }

    /// Sets the value of a name from the next run() on; a name that no formula reads is ignored.
    void set(std::string_view name, double number);
    void set(std::string_view name, Numbers of_updates);
    void set(std::string_view name, ConstParamSpan vector);
    /// The index of a vector among those that the formulas read, for callers that set it in each step; kNowhere: no formula reads it.
    static constexpr std::size_t kNowhere = ~std::size_t{0};
    std::size_t place_of(std::string_view vector) const;
    void set_at(std::size_t place, ConstParamSpan vector) {
        if (place != kNowhere) vectors_[place] = vector;
    }
    /// Sets the inner products of the cohort's updates, for formulas that read them; they must outlive the next run().
    void set_products(const InnerProducts* products);
    /// Sets the vector to which a target is written. A vector that formulas read is allowed.
    void write_to(std::string_view name, ParamSpan vector);

    /// Evaluates all formulas over these ranges of the vectors, which are in one memory space and long enough. Elements outside of
    /// the ranges stay as they are.
    ///
    /// Stream   CUDA: waits only where a value of the whole vector is needed.
    /// Throws   Fault for a name without a value; as dispatch().
    void run(std::span<const ElementRange> ranges);

    /// After run(): the value of a target that is a number; numbers() gives that of a target with one number for each update.
    double number(std::string_view target) const { return numbers(target).front(); }
    const Numbers& numbers(std::string_view target) const;

private:
    void evaluate_numbers(std::size_t level);
    void run_last(const ElementRange& range);
    void reduce(const FormulaPass& pass, std::span<const ElementRange> ranges);
    void gather_cuda(const FormulaPass& pass, const ElementRange& range);
    double threshold_of(std::vector<std::uint32_t>& magnitudes, double share) const;
    void sum_host(const FormulaPass& pass, const ElementRange& range, std::span<double> totals);
    void sum_cuda(const FormulaPass& pass, const ElementRange& range, std::span<double> totals) const;
    void run_host(const FormulaPass& pass, std::size_t first, std::size_t width);
    DevicePass on_device(const FormulaPass& pass) const;
    const float* input(const Operand& operand, std::size_t first) const;
    const float* spread(const Operand& operand, std::size_t first, std::size_t place);
    float* output(const Operand& operand, std::size_t first);
    Loop loop_of(const Instruction& one) const;
    MemorySpace space() const;

    FormulaProgram program_;
    const Loops* tables_;
    std::vector<std::vector<Loop>> loops_{};      // of each pass's instructions
    std::vector<std::optional<Numbers>> values_;  // of each node that is no vector
    std::vector<ConstParamSpan> vectors_;         // as program_.vectors
    std::vector<ParamSpan> targets_;              // as program_.stored
    std::vector<float> narrowed_;                 // as program_.numbers
    const InnerProducts* products_ = nullptr;
    bool is_new_ = true;            // numbers have changed since the last run
    std::vector<float> registers_;  // [registers][kChunk]
    std::array<std::array<float, kChunk>, 2> spread_{};
    std::vector<std::vector<std::uint32_t>> magnitudes_{};  // of each reduction of a pass: bits of |a|, for its threshold
};

}  // namespace fedhive::aggregation::formulas
