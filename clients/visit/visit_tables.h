// Memories by class (aggregation/formulas/class_tables.h) in a client's visit: the client reads them, measures its examples by the trained
// model, and keeps or sends the results. All are in host memory.
//
//   measure   S[c] = Σ formula(logits, features z, label y, …) over the client's examples of class c, by the trained model in evaluation mode;
//             for a memory that is a number, the sum over all examples
//
//   Order     examples in the shard's order, added in f64 and rounded to f32 at the end
#pragma once

#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/method_formulas.h"
#include "aggregation/formulas/row_loss.h"
#include "aggregation/memory/memories.h"
#include "clients/engine/training_step.h"
#include "clients/visit/row_others.h"
#include "clients/visit/visit_vectors.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// Number of the client's training examples of each class, [classes]; ignored labels are left out.
std::vector<float> counts_by_class(const ExamplesView& examples, std::span<const std::uint32_t> shard, std::size_t classes);

class VisitTables {
public:
    /// sizes: of the model's outputs for an example, for `measure`.
    VisitTables(const aggregation::formulas::MethodFormulas& method, const aggregation::Memories& memories,
                aggregation::formulas::RowSizes sizes);
    VisitTables(const VisitTables&) = delete;
    VisitTables& operator=(const VisitTables&) = delete;

    /// Whether end() has something to write.
    bool has_end() const { return measure_.has_value() || end_.any(); }
    bool measures() const { return measure_.has_value(); }
    /// Whether `measure` reads outputs of other models, too.
    bool measures_others() const { return measure_ && measure_->others.any(); }

    /// Begins a visit: copies the client's memories. examples: the training set, in host memory; it and the shard must outlive the visit.
    /// numbers: memories that are numbers, by name.
    void begin(const aggregation::VisitMemories& memories, const VisitFacts& facts,
               const std::map<std::string, double>& numbers, const ExamplesView& examples,
               std::span<const std::uint32_t> shard);

    /// Calls take(name, values) for all values that the client's formulas may read; empty: 0.
    template <typename Take>
    void each_read(const Take& take) const {
        for (const auto& [name, values] : read_) take(std::string_view(name), std::span<const float>(values));
    }

    /// If measures(): computes the sums over the visit's shard by `model`, `chunk` examples at a time. from: the training set in the
    /// evaluation's memory space. after_piece: called after each chunk. model_at: the model with a vector of `also_at` as its parameters.
    void measure(Evaluation& evaluation, aggregation::ConstParamSpan model, const ExamplesView& from, std::uint64_t chunk,
                 const ModelAt& model_at, const std::function<void()>& after_piece);

    /// The sums that measure() computed for memories that are numbers, by name.
    const std::map<std::string, double>& measured_numbers() const { return measured_numbers_; }

    /// Writes the memories that the client keeps and sends, if they are needed. Returns false if a value is not finite.
    bool end(const aggregation::VisitMemories& memories, double steps, double loss);

private:
    struct Measure {
        Measure(const aggregation::formulas::MethodFormulas& method, aggregation::formulas::RowSizes sizes);

        aggregation::formulas::RowLoss rows;
        std::vector<std::vector<double>> sums{};              // of its targets
        std::map<std::string, std::vector<float>> rounded{};  // the same, by name
        ModelAnswers answers{};
        RowOthers others;
        std::vector<std::int64_t> labels{};
    };
    void take_facts(const VisitFacts& facts, const std::map<std::string, double>& numbers);

    aggregation::formulas::ClassSizes sizes_;
    std::vector<aggregation::formulas::MethodMemory> memories_{};  // by class, that a client has before it trains
    aggregation::formulas::ClassFormulas end_;
    std::optional<Measure> measure_{};
    std::set<std::string> numbers_{};  // memories that are numbers
    std::map<std::string, std::vector<float>> read_{};
    std::map<std::string, double> measured_numbers_{};
    std::vector<float> counts_{};
    std::span<const std::uint32_t> shard_{};  // of the present visit
    std::span<const std::int32_t> labels_{};  // of the training set, in host memory
};

}  // namespace fedhive::clients
