// The direct engine's network of one process on a GPU: layers and normalisation in device memory, and the arguments of launches.
#pragma once

#include "clients/data/batches.h"
#include "clients/direct/device/array.h"
#include "clients/direct/device/block_kernels.h"
#include "clients/direct/device/block_plan.h"
#include "clients/tasks/loss.h"

namespace fedhive::clients {

class DeviceNetwork {
public:
    /// Throws ConfigError for a model that the direct engine cannot train, Fault if `shared_bytes` has no room for one example.
    DeviceNetwork(const ModelSpec& spec, const Normalization& normalization, std::uint32_t shared_bytes);

    const aggregation::Layout& layout() const { return layout_; }
    std::size_t num_floats() const { return layout_.num_floats(); }
    std::size_t trainable() const { return layout_.num_trainable(); }

    /// The loss of the training launches that follow.
    void set_loss(const LossPlan& loss);

    /// The arguments of a launch over examples of `from`. order: indices in device memory; transforms: one for each index, or null; rows:
    /// floats_of_rows() for each block, or null.
    direct::device::kernels::Launch launch(const ExamplesView& from, const std::uint32_t* order,
                                           const direct::device::SharedPlacement& placement,
                                           const std::uint32_t* transforms = nullptr, float* rows = nullptr) const;

    /// The division of shared memory for blocks that train whole clients, and for blocks whose parameters and gradient are in device memory.
    /// Groups have at most `batch` rows; with batch norm, groups of training have `batch`.
    direct::device::SharedPlacement placement(std::uint64_t batch, bool momentum) const;
    direct::device::SharedPlacement rows_alone(std::uint64_t batch, bool training) const;

    /// Device memory of a block for a placement's rows; 0: they are in shared memory.
    std::size_t floats_of_rows(const direct::device::SharedPlacement& placement) const {
        return direct::device::floats_of_rows(network_, placement);
    }

private:
    aggregation::Layout layout_;
    direct::device::BlockNetwork network_;
    direct::device::DeviceArray<direct::device::Layer> layers_;
    BatchGather gather_;
    direct::device::DeviceArray<float> scale_, shift_;  // [types][channels], [channels]
    direct::device::DeviceArray<float> class_weights_;
    std::uint32_t shared_bytes_;
};

/// Device memory, in floats, of a client whose batches, of at most `batch`, do not fit in shared memory and must be whole; else 0.
std::size_t floats_of_batch(const ModelSpec& spec, std::uint64_t batch);

/// The most shared memory, in bytes, that a block can have on this process's device.
std::uint32_t shared_bytes_of_device();

/// Throws Fault for an index outside `from`.
void check_examples(const ExamplesView& from, std::span<const std::uint32_t> indices);

}  // namespace fedhive::clients
