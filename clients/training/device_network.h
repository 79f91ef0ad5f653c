// The direct engine's network of a process on a GPU: its layers and the examples' normalisation in device memory, and what a launch is told.
#pragma once

#include "clients/data/batches.h"
#include "clients/direct/device/array.h"
#include "clients/direct/device/kernels.h"
#include "clients/direct/device/plan.h"

namespace fedhive::clients {

class DeviceNetwork {
public:
    /// Throws ConfigError for a model that the direct engine cannot train, Fault where not one example has room in `shared_bytes`.
    DeviceNetwork(const ModelSpec& spec, const Normalization& normalization, std::uint32_t shared_bytes);

    const aggregation::Layout& layout() const { return layout_; }
    std::size_t num_floats() const { return layout_.num_floats(); }
    std::size_t trainable() const { return layout_.num_trainable(); }

    /// A launch over examples of `from`, of which `order` lies in device memory, and `looks` beside it or null. Groups of at most `batch` rows.
    direct::device::kernels::Launch launch(const ExamplesView& from, const std::uint32_t* order,
                                           const direct::device::Placement& placement,
                                           const std::uint32_t* looks = nullptr) const;

    /// What is kept in shared memory by blocks that train whole clients, and by those that have parameters and gradient in device memory.
    direct::device::Placement placement(std::uint64_t batch, bool momentum) const;
    direct::device::Placement rows_alone(std::uint64_t batch) const;

private:
    aggregation::Layout layout_;
    direct::device::Network network_;
    direct::device::DeviceArray<direct::device::Layer> layers_;
    BatchGather gather_;
    direct::device::DeviceArray<float> scale_, shift_;  // [types][channels], [channels]
    std::uint32_t shared_bytes_;
};

/// Shared memory that a block of this process's device can have.
std::uint32_t shared_bytes_of_device();

/// Throws Fault for an index outside `from`.
void check_examples(const ExamplesView& from, std::span<const std::uint32_t> indices);

}  // namespace fedhive::clients
