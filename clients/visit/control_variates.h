// Control variates in a client's visit (SCAFFOLD, FedDyn): they correct its gradients, and its training changes them. The
// arithmetic is in aggregation/math/control_variates.h.
#pragma once

#include "aggregation/math/control_variates.h"
#include "clients/models/local_part.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"

namespace fedhive::clients {

/// g <- g + c - c_k with the control variates of server and client (SCAFFOLD); c = 0 if the memory
/// does not go down. One row only.
///
/// Memory   the correction.
/// Source   Karimireddy et al. 2020 (arXiv:1910.06378), Algorithm 1, line 10.
class GradientCorrection final : public GradientRule {
public:
    GradientCorrection(std::size_t trainable, aggregation::MemorySpace space) : correction_(trainable, space) {}

    /// Call it before a client begins. c: [trainable], or empty for 0; c_k: the same, in host memory.
    void set(aggregation::ConstParamSpan c, aggregation::ConstParamSpan c_k) {
        aggregation::write_correction(correction_, c, c_k);
    }
    std::size_t size() const { return correction_.span().size; }
    bool acts() const override { return true; }
    void change(TrainingStep& step, std::span<const RowBatch> batches) override;

private:
    aggregation::ParamBuffer correction_;  // [trainable]
};

/// The result of a client's training.
struct TrainedClient {
    std::uint32_t round = 0;
    std::uint32_t client_id = 0;
    std::span<const std::uint32_t> shard;
    Objective objective;
    std::uint64_t steps = 0;
    aggregation::ConstParamSpan start;   // [P], the model from which it began
    aggregation::ConstParamSpan update;  // [trainable] or longer: from there to where it came, 0 in the local part
};

class ControlVariates {
public:
    /// Adds the correction to `step`, which must outlive this object. client_lr: of plain SGD; looked at by a change by steps, since
    /// other optimisers' steps do not determine the gradients.
    ControlVariates(LocalStep& step, const aggregation::Memories& memories, const aggregation::ControlChange& change,
                    float client_lr, aggregation::MemorySpace space);

    /// Before the client's first step.
    void begin(const aggregation::VisitMemories& memories);

    /// local - start as end() looks at it, for a client whose update is changed before it is written. Memory: [trainable], on
    /// demand.
    aggregation::ConstParamSpan update_of(aggregation::ConstParamSpan local, aggregation::ConstParamSpan start);

    /// Writes c_k^+ - c_k, 0 in the local part. `step`: for a pass over all examples, if the change is by gradient.
    void end(const aggregation::VisitMemories& memories, const TrainedClient& client, TrainingStep& step,
             const LocalTraining& training, const LocalPart& local_part) const;

private:
    aggregation::ControlChange change_;
    float client_lr_;
    GradientCorrection& correction_;
    aggregation::ParamBuffer update_;
};

}  // namespace fedhive::clients
