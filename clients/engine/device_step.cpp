#include "clients/engine/device_step.h"

#include "aggregation/base/random.h"

namespace fedhive::clients {

using aggregation::MemorySpace;
namespace device = direct::device;

namespace {

/// Rows of a block that evaluates: enough for its threads, few enough for many blocks.
constexpr std::uint64_t kEvaluatedAtOnce = 16;

template <typename Work>
void enqueue(Work work) {
    aggregation::dispatch(
        MemorySpace::Cuda, [] {}, work);
}

}  // namespace

DeviceStep::DeviceStep(const DeviceNetwork& network, const ExamplesView& train, const aggregation::OptimizerOptions& optimizer,
                       std::uint64_t batch)
    : network_(network),
      train_(train),
      transforms_(train.augmentation),
      batch_(batch),
      placement_(network.rows_alone(batch, true)),
      local_(network.num_floats(), MemorySpace::Cuda),
      gradient_(network.trainable(), MemorySpace::Cuda),
      optimizer_(optimizer, network.trainable(), MemorySpace::Cuda),
      told_loss_(MemorySpace::Cuda) {
    loss_.reserve(1);
    other_loss_.reserve(1);
    told_loss_.reserve(1);
}

void DeviceStep::begin(const ClientStart& start) {
    start_ = start;
    aggregation::copy(local_, start.global);
    optimizer_.begin(start.optimizer_state, start.rate.lr_factor);
    steps_ = 0;
    const double none = 0.0;
    loss_.write({&none, 1});
    other_loss_.write({&none, 1});
}

void DeviceStep::compute_gradients(std::span<const RowBatch> batches) {
    const RowBatch& batch = only_batch(batches);
    if (start_.shared) start_.shared.read(trainable());
    check_examples(train_, batch.examples);
    if (batch.examples.size() > batch_) {
        batch_ = batch.examples.size();
        placement_ = network_.rows_alone(batch_, true);
    }
    rows_.reserve(network_.floats_of_rows(placement_));
    order_.write(batch.examples);
    if (transforms_.any()) device_transforms_.write(transforms_.of(batch.augmentation_key, batch.examples));
    const device::BlockStep step{0, static_cast<std::uint32_t>(batch.examples.size()),
                                 Stream(start_.dropout_seed, Purpose::Dropout, steps_++).next_u64()};
    enqueue([&] {
        return device::kernels::compute_gradient(
            network_.launch(train_, order_.data(), placement_, device_transforms_.data(), rows_.data()), local_.span().data,
            step, gradient_.span().data, batch.counts ? loss_.data() : other_loss_.data());
    });
}

void DeviceStep::apply_gradients() {
    optimizer_.begin_step();
    if (start_.shared) return start_.shared.step(gradient_, optimizer_);
    optimizer_.step(trainable(), gradient_);
}

void DeviceStep::loss_into(double& to, std::size_t) {
    enqueue([&] { return device::kernels::copy_bytes(&to, loss_.data(), sizeof to); });
}

double DeviceStep::loss_of(std::size_t row) {
    loss_into(told_loss_[0], row);
    aggregation::synchronize(MemorySpace::Cuda);
    return told_loss_[0];
}

DeviceEvaluation::DeviceEvaluation(const DeviceNetwork& network) : network_(network), outcomes_(MemorySpace::Cuda) {}

void DeviceEvaluation::evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) {
    check_examples(from, indices);
    order_.write(indices);
    outcomes_.reserve(indices.size());
    enqueue([&] {
        return device::kernels::evaluate(network_.launch(from, order_.data(), network_.rows_alone(kEvaluatedAtOnce, false)),
                                         model_.data, static_cast<std::uint32_t>(indices.size()), &outcomes_[0]);
    });
    aggregation::synchronize(MemorySpace::Cuda);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        sums.add_loss(outcomes_[i].loss);
        sums.add(outcomes_[i].outcome);
    }
}

}  // namespace fedhive::clients
