// The formulas of a client's visit (aggregation/formulas/method_formulas.h): where it begins, the gradient of each step, and what it
// keeps, sends and reports when it has trained.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/reports.h"
#include "clients/visit/local_step.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// The method's text in fixed size, for a worker's plan; empty: no method.
using MethodText = FixedText<aggregation::formulas::kLongestMethod>;

/// What formulas read of one client's visit.
struct VisitFacts {
    std::uint32_t round = 0;
    std::uint64_t num_examples = 0;
    double lr = 0.0;  // client rate of this round

    static VisitFacts of(std::uint32_t round, std::size_t num_examples, const aggregation::OptimizerOptions& optimizer,
                         const Objective& objective) {
        return {round, num_examples, aggregation::client_rate(optimizer) * static_cast<double>(objective.lr_factor)};
    }
};

/// g <- the formula of `gradient`. Rows share the names' values, so a formula that reads a client's own has one row.
class FormulaGradient final : public GradientRule {
public:
    FormulaGradient(const aggregation::formulas::MethodFormulas& method, std::vector<aggregation::formulas::Range> ranges);

    aggregation::formulas::Executor& executor() { return executor_; }
    /// A vector of the whole model that the formula reads: the model that was sent, a memory. Call it before the clients begin.
    void set_vector(const std::string& name, aggregation::ConstParamSpan values);

    void begin(const ClientStart& start) override;
    bool acts() const override { return true; }
    void change(TrainingStep& step, std::span<const RowBatch> batches) override;

private:
    struct Whole {
        std::string name;
        std::size_t place = 0;  // in the executor
        aggregation::ConstParamSpan values;
    };
    /// The parameters' elements in a piece, counted from its first.
    struct PieceRanges {
        std::size_t first = 0, width = 0;
        std::vector<aggregation::formulas::Range> ranges;
    };
    std::span<const aggregation::formulas::Range> ranges_in(std::size_t index, const GradientPiece& piece);

    aggregation::formulas::Executor executor_;
    std::vector<aggregation::formulas::Range> ranges_;
    std::size_t gradient_, parameters_;  // places in the executor
    bool reads_step_;
    std::vector<Whole> vectors_;
    std::vector<PieceRanges> pieces_;  // of the last step, in its order
    std::uint64_t steps_ = 0;
};

class FormulaVisit {
public:
    /// layout: of the model. Rules for the gradient are added to steps by add_to().
    FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                 const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space);

    /// The step may be made before or within a visit.
    void add_to(LocalStep& step);

    /// Before the client's first step. sent: [P], the model that it was sent, with its own local part. The result is where it
    /// begins: `sent`, or what `start` gives; valid until the next visit.
    aggregation::ConstParamSpan begin(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent,
                                      const VisitFacts& facts);

    /// After its last step, if has_end(): writes the client's memories and what comes up, where they are wanted, and its reports. local: [P], the trained model. What the
    /// client does not share is 0 in what comes up. loss: of the visit.
    ///
    /// Stream   CUDA: waits if a report needs a vector.
    void end(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan local, const ClientResult& result,
             double loss, ReportValues& reports);

    /// `end` has formulas.
    bool has_end() const { return end_.has_value(); }

private:
    /// A memory as its client has it in this visit.
    struct Bound {
        std::string name;
        bool is_clients = false, begins_as_model = false;
        aggregation::ConstParamSpan values{};
        aggregation::ParamBuffer room{};  // for a record on a device, or zeros
    };

    void bind(Bound& memory, const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent);
    void set_all(aggregation::formulas::Executor& executor) const;
    void set_all(FormulaGradient& gradient) const;

    aggregation::formulas::MethodFormulas method_;
    aggregation::MemorySpace space_;
    std::size_t trainable_;
    std::vector<aggregation::formulas::Range> ranges_, shared_ranges_;  // of all parameters; of those that are sent
    std::vector<FormulaGradient*> gradients_{};                         // of the steps
    std::optional<aggregation::formulas::Executor> start_{}, end_{};
    std::deque<Bound> memories_{};
    std::vector<std::size_t> report_places_{};
    // Of the present visit:
    aggregation::ConstParamSpan sent_{}, began_{};
    VisitFacts facts_{};
    aggregation::ParamBuffer start_room_{}, update_room_{};
    std::vector<aggregation::ParamBuffer> unwanted_{};  // for what a replay does not keep, by target
};

}  // namespace fedhive::clients
