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
    /// stride: floats from a row of the vector to the next, for run() with several rows.
    void set_at(std::size_t place, ConstParamSpan vector, std::size_t stride = 0) {
        if (place == kNowhere) return;
        vectors_[place] = vector;
        vector_strides_[place] = stride;
    }
    /// Sets the inner products of the cohort's updates, for formulas that read them; they must outlive the next run().
    void set_products(const InnerProducts* products);
    /// Sets the vector to which a target is written. A vector that formulas read is allowed. stride: as in set_at().
    void write_to(std::string_view name, ParamSpan vector, std::size_t stride = 0);

    /// Evaluates all formulas over these ranges of the vectors, which are in one memory space and long enough. Elements outside of
    /// the ranges stay as they are. rows: of vectors with a stride; the others have the same values for all rows.
    ///
    /// Stream   CUDA: waits only where a value of the whole vector is needed.
    /// Throws   ConfigError for a repeat of more than kMostTurns turns; Fault for a name without a value, and for several rows of formulas that
    ///          take sums over elements; as dispatch().
    void run(std::span<const ElementRange> ranges, std::size_t rows = 1);

    /// The formulas as one pass over vectors on a device, for a kernel that runs them with its own `g` and `w`. They take no sums over
    /// elements and write `g` alone. Throws Fault as run().
    GradientPass gradient_pass();

    /// After run(): the value of a target that is a number; numbers() gives that of a target with one number for each update.
    double number(std::string_view target) const { return numbers(target).front(); }
    const Numbers& numbers(std::string_view target) const;

private:
    void evaluate_numbers(std::size_t level);
    void evaluate_number(std::size_t i);
    void run_repeat(const Repeat& repeat);
    void run_last(const ElementRange& range, std::size_t rows);
    void reduce(const FormulaPass& pass, std::span<const ElementRange> ranges);
    void gather_cuda(const FormulaPass& pass, const ElementRange& range);
    double threshold_of(std::vector<std::uint32_t>& magnitudes, double share) const;
    void sum_host(const FormulaPass& pass, const ElementRange& range, std::span<double> totals);
    void sum_cuda(const FormulaPass& pass, const ElementRange& range, std::span<double> totals) const;
    void place(const FormulaPass& pass);
    void run_host(std::size_t first, std::size_t width);
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
    std::vector<std::size_t> vector_strides_, target_strides_;
    std::size_t row_ = 0;          // that runs on the host
    std::vector<float> narrowed_;  // as program_.numbers
    const InnerProducts* products_ = nullptr;
    std::size_t chunk_;             // elements
    bool is_new_ = true;            // numbers have changed since the last run
    std::vector<float> registers_;  // [registers][chunk_]

    /// A value of an instruction on the host: `base`, or `base` + the chunk's first element for a vector.
    template <typename T>
    struct HostOperand {
        T* base = nullptr;
        std::size_t moves = 0;  // 1: a vector
        T* at(std::size_t first) const { return base + moves * first; }
    };
    struct HostInstruction {
        Loop loop = nullptr;
        HostOperand<float> out;
        std::array<HostOperand<const float>, 3> in;
    };
    std::vector<HostInstruction> placed_{};  // of the pass and row that run on the host
    std::array<std::array<float, kChunk>, 2> spread_{};
    std::vector<std::vector<std::uint32_t>> magnitudes_{};  // of each reduction of a pass: bits of |a|, for its threshold
};

}  // namespace fedhive::aggregation::formulas
