#include "clients/engine/device_network.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <limits>

namespace fedhive::clients {

namespace device = direct::device;

namespace {

constexpr ValueType kTypes[] = {ValueType::U8, ValueType::F32, ValueType::I32};

std::uint32_t limited(std::uint64_t batch) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

DeviceNetwork::DeviceNetwork(const ModelSpec& spec, const Normalization& normalization, std::uint32_t shared_bytes)
    : layout_(model_layout(spec)), gather_(spec.input, normalization), shared_bytes_(shared_bytes) {
    const device::BlockPlan plan = device::make_plan(spec);
    network_ = plan.network;
    if (const std::string why = device::too_large(spec, shared_bytes); !why.empty()) throw Fault("the direct engine " + why);
    layers_.write(plan.layers);
    network_.layers = layers_.data();
    std::vector<float> scales;
    for (const ValueType type : kTypes) scales.insert(scales.end(), gather_.scale(type).begin(), gather_.scale(type).end());
    scale_.write(scales);
    shift_.write(gather_.shift());
}

void DeviceNetwork::set_loss(const LossPlan& loss) {
    if (loss.num_weights > 0) class_weights_.write(std::span(loss.class_weights).first(loss.num_weights));
    network_.loss = loss.terms(class_weights_.data());
}

device::kernels::Launch DeviceNetwork::launch(const ExamplesView& from, const std::uint32_t* order,
                                              const device::SharedPlacement& placement, const std::uint32_t* transforms,
                                              float* rows) const {
    device::kernels::Launch launch;
    launch.network = network_;
    launch.from.values = from.values.data();
    launch.from.labels = from.labels.data();
    launch.from.numbers = from.target.kind == TargetKind::Numbers ? from.numbers.data() : nullptr;
    launch.from.target_width = from.target.width;
    launch.from.order = order;
    launch.from.cursor = nullptr;
    launch.from.scale = scale_.data() + static_cast<std::size_t>(from.type) * gather_.shift().size();
    launch.from.shift = shift_.data();
    launch.from.num_values = static_cast<std::uint32_t>(from.shape.num_values());
    launch.from.plane = static_cast<std::uint32_t>(from.shape.num_values() / static_cast<std::size_t>(from.shape.channels));
    launch.from.type = from.type;
    launch.from.transforms = transforms;
    launch.from.width = static_cast<std::uint32_t>(from.shape.width);
    launch.group = placement.group;
    launch.shared_bytes = placement.bytes;
    launch.shared_parameters = placement.parameters;
    launch.shared_gradient = placement.gradient;
    launch.shared_velocity = placement.velocity;
    launch.rows = rows;
    launch.rows_stride = floats_of_rows(placement);
    return launch;
}

device::SharedPlacement DeviceNetwork::placement(std::uint64_t batch, bool momentum) const {
    return device::place(network_, limited(batch), momentum, shared_bytes_);
}

device::SharedPlacement DeviceNetwork::rows_alone(std::uint64_t batch, bool training) const {
    device::BlockNetwork rows = network_;
    rows.num_floats = rows.trainable = 0;
    rows.whole_batches = rows.whole_batches && training;
    device::SharedPlacement placement = device::place(rows, limited(batch), false, shared_bytes_);
    placement.parameters = placement.gradient = false;
    return placement;
}

std::size_t floats_of_batch(const ModelSpec& spec, std::uint64_t batch) {
    const device::BlockNetwork network = device::make_plan(spec).network;
    return device::floats_of_rows(network, device::place(network, limited(batch), false, shared_bytes_of_device()));
}

std::uint32_t shared_bytes_of_device() { return aggregation::cuda_versions().shared_bytes_per_block; }

void check_examples(const ExamplesView& from, std::span<const std::uint32_t> indices) {
    const std::size_t size = from.size();
    const auto outside = std::ranges::find_if(indices, [=](std::uint32_t index) { return index >= size; });
    FEDHIVE_CHECK(outside == indices.end(), "example {} of {}", *outside, size);
}

}  // namespace fedhive::clients
