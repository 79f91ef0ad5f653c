// A pass over examples without training: the sums of a model on any of them, in pieces, and a client's measures
// (clients/tasks/measures.h) of the model that it was sent.
#pragma once

#include "clients/engine/training_step.h"
#include "clients/protocol/reports.h"
#include "clients/tasks/evaluation_sums.h"

#include <cstdint>
#include <functional>
#include <span>

namespace fedhive::clients {

/// The sums of the evaluation's present model over `indices` of `from`, in pieces of `chunk` examples. `after_piece`, if any, is
/// called behind each.
EvaluationSums sums_over(Evaluation& evaluation, const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::uint64_t chunk, const SumsPlan& plan, const std::function<void()>& after_piece = {});

/// Measures clients of a run. It draws nothing, changes no buffer and no model; training that begins later has the bits that it has
/// without the pass.
///
/// Order    a client's examples in the order of its shard, in pieces of `chunk`: same bits in any worker.
/// Cost     a forward pass; waits for a device.
class MeasurePass {
public:
    /// `reports`: the run's, at least one of them a measure. All must outlive it.
    MeasurePass(Evaluation& evaluation, const ExamplesView& train, const SumsPlan& plan, std::uint64_t chunk,
                const Reports& reports)
        : evaluation_(evaluation), train_(train), plan_(plan), chunk_(chunk), reports_(reports) {}

    /// Sets the model, [P], of the following clients.
    void begin(aggregation::ConstParamSpan sent) { evaluation_.begin(sent); }

    /// Writes the measures of a client with these training examples, at least one, to its places in `to`.
    void measure(std::span<const std::uint32_t> shard, ReportValues& to, const std::function<void()>& after_piece = {});

private:
    Evaluation& evaluation_;
    ExamplesView train_;
    SumsPlan plan_;
    std::uint64_t chunk_;
    const Reports& reports_;
};

}  // namespace fedhive::clients
