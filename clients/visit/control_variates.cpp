#include "clients/visit/control_variates.h"

#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

using aggregation::kControl;

void GradientCorrection::change(TrainingStep& step, std::span<const RowBatch>) {
    step.for_each_piece([&](const GradientPiece& piece) {
        aggregation::add(piece.gradients.row(0), correction_.span().part(piece.first, piece.gradients.width));
    });
}

ControlVariates::ControlVariates(LocalStep& step, const aggregation::Memories& memories,
                                 const aggregation::ControlChange& change, float client_lr, aggregation::MemorySpace space)
    : change_(change),
      client_lr_(client_lr),
      correction_(step.add<GradientCorrection>(memories.find(kControl)->floats, space)) {}

void ControlVariates::begin(const aggregation::VisitMemories& memories) {
    correction_.set(memories.down(kControl), memories.own(kControl));
}

aggregation::ConstParamSpan ControlVariates::update_of(aggregation::ConstParamSpan local, aggregation::ConstParamSpan start) {
    if (change_.by_gradient) return {};
    const std::size_t trainable = correction_.size();
    if (update_.span().size == 0) update_ = aggregation::ParamBuffer(trainable, local.space);
    aggregation::copy(update_, local.part(0, trainable));
    aggregation::add_scaled(update_, start.part(0, trainable), -1.0);
    return update_;
}

void ControlVariates::end(const aggregation::VisitMemories& memories, const TrainedClient& client, TrainingStep& step,
                          const LocalTraining& training, const LocalPart& local_part) const {
    const aggregation::ConstParamSpan control = memories.down(kControl);
    const aggregation::ParamSpan change = memories.written(kControl);
    if (!change_.by_gradient)
        return aggregation::write_control_change(change, change_, client.update.part(0, change.size), control, client.steps,
                                                 client_lr_ * client.objective.lr_factor);
    // The step's gradients are corrected, so that their mean is g + c - c_k; minus c gives g - c_k, the change to c_k^+ = g.
    mean_gradient(step, training, client.objective, client.round, client.client_id, client.shard, client.start, change);
    if (control.size > 0) aggregation::add_scaled(change, control, -1.0);
    local_part.clear(change);
}

}  // namespace fedhive::clients
