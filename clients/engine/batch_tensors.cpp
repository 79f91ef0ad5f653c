#include "clients/engine/batch_tensors.h"

#include "aggregation/base/error.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>

namespace fedhive::clients {

using aggregation::MemorySpace;

namespace {

bool is_part(std::span<const std::uint32_t> part, std::span<const std::uint32_t> whole) {
    const std::less_equal<> no_later;  // spans of two vectors may be asked
    return !whole.empty() && no_later(whole.data(), part.data()) &&
           no_later(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

at::Tensor to_device(std::span<const float> values, at::Device device) {
    at::Tensor host = at::empty({static_cast<std::int64_t>(values.size())}, at::kFloat);
    std::copy(values.begin(), values.end(), host.data_ptr<float>());
    return host.to(device);
}

element::GatherTerms terms_of(const ExamplesView& from, const std::uint32_t* order, const std::int64_t* cursor,
                              const at::Tensor& scale, const at::Tensor& shift, const std::uint32_t* transforms) {
    return {from.values.data(),
            from.labels.data(),
            order,
            cursor,
            scale.data_ptr<float>(),
            shift.data_ptr<float>(),
            static_cast<std::uint32_t>(from.shape.num_values()),
            static_cast<std::uint32_t>(from.shape.height * from.shape.width),
            from.type,
            from.target.kind == TargetKind::Numbers ? from.numbers.data() : nullptr,
            from.target.width,
            transforms,
            static_cast<std::uint32_t>(from.shape.width)};
}

at::Tensor empty_targets(std::vector<std::int64_t> places, TargetShape target, const at::TensorOptions& where) {
    if (target.kind != TargetKind::Class) places.push_back(target.width);
    return at::empty(places, where.dtype(target.kind == TargetKind::Numbers ? at::kFloat : at::kLong));
}

element::TargetsTo targets_to(const at::Tensor& targets) {
    if (targets.scalar_type() == at::kFloat) return {.numbers = targets.data_ptr<float>()};
    return {.labels = targets.data_ptr<std::int64_t>()};
}

BatchTensors::BatchTensors(ExampleShape shape, const Normalization& normalization, at::Device device)
    : gather_(shape, normalization), shape_(shape), device_(device) {}

void BatchTensors::begin(const ExamplesView& from) {
    transforms_ = Transforms(from.augmentation);
    pass_.begin();
}

bool BatchTensors::expect(const ExamplesView& from, const RowBatch& batch) {
    const std::span<const std::uint32_t> announced = pass_.announced_by(batch);
    if (announced.empty()) return false;
    if (from.space == MemorySpace::Host) return true;
    upload(from, announced, batch.augmentation_key);
    expected_ = announced;
    return true;
}

BatchTensors::Batch BatchTensors::gather(const ExamplesView& from, const RowBatch& batch) {
    if (from.space == MemorySpace::Cuda) return gather_on_device(from, batch);
    const std::span<const std::uint32_t> indices = batch.examples;
    reserve(static_cast<std::int64_t>(indices.size()), from.target, at::TensorOptions().pinned_memory(device_.is_cuda()));
    gathering_.time([&] {
        gather_.gather(from, indices, examples_.data_ptr<float>(), targets_to(targets_),
                       transforms_.of(batch.augmentation_key, indices));
    });
    const Batch& gathered = batch_of(indices.size());
    if (device_.is_cpu()) return gathered;
    // The copies wait, or the next gather would overwrite what is still being read.
    return {gathered.examples.to(device_), gathered.targets.to(device_)};
}

void BatchTensors::follow(const ExamplesView& from, std::size_t rows, const std::int64_t* cursor) {
    FEDHIVE_CHECK(from.space == MemorySpace::Cuda, "there is nothing to follow: the examples are on the host");
    reserve(static_cast<std::int64_t>(std::min(rows, from.size())), from.target, at::TensorOptions().device(device_));
    cursor_ = cursor;
}

void BatchTensors::reserve(std::int64_t rows, TargetShape target, const at::TensorOptions& where) {
    if (examples_.defined() && examples_.size(0) >= rows) return;
    FEDHIVE_CHECK(cursor_ == nullptr, "a batch of {} is larger than was said", rows);
    examples_ = at::empty({rows, shape_.channels, shape_.height, shape_.width}, where.dtype(at::kFloat));
    targets_ = empty_targets({rows}, target, where);
    parts_.clear();
}

/// Made once for each size: a small model's step has few operations, and these would be two more.
const BatchTensors::Batch& BatchTensors::batch_of(std::size_t rows) {
    Batch& part = parts_[rows];
    if (!part.targets.defined()) {
        const auto size = static_cast<std::int64_t>(rows);
        part = {examples_.narrow(0, 0, size), targets_.narrow(0, 0, size)};
    }
    return part;
}

/// Through pinned memory that LibTorch keeps until the copy has been made.
void BatchTensors::upload(const ExamplesView& from, std::span<const std::uint32_t> order,
                          const TransformKey& augmentation_key) {
    for (const std::uint32_t index : order) FEDHIVE_CHECK(index < from.size(), "example {} of {}", index, from.size());
    FEDHIVE_CHECK(order.size() <= from.size(), "{} indices of {} examples", order.size(), from.size());
    upload(order, from.size(), order_);
    if (transforms_.any()) upload(transforms_.of(augmentation_key, order), from.size(), order_transforms_);
}

void BatchTensors::upload(std::span<const std::uint32_t> words, std::size_t most, at::Tensor& to) {
    const auto integers = at::TensorOptions().dtype(at::kInt);
    if (!to.defined() || to.size(0) < static_cast<std::int64_t>(most))
        to = at::empty({static_cast<std::int64_t>(most)}, integers.device(device_));
    const auto size = static_cast<std::int64_t>(words.size());
    const at::Tensor pinned = at::empty({size}, integers.pinned_memory(true));
    std::copy(words.begin(), words.end(), static_cast<std::uint32_t*>(pinned.data_ptr()));
    to.narrow(0, 0, size).copy_(pinned, /*non_blocking=*/true);
}

BatchTensors::Batch BatchTensors::gather_on_device(const ExamplesView& from, const RowBatch& batch) {
    const std::span<const std::uint32_t> indices = batch.examples;
    FEDHIVE_CHECK(is_part(indices, expected_), "a batch that was not expected");
    const auto rows = static_cast<std::int64_t>(indices.size());
    reserve(rows, from.target, at::TensorOptions().device(device_));
    if (!scale_.defined()) {
        scale_ = to_device(gather_.scale(from.type), device_);
        shift_ = to_device(gather_.shift(), device_);
    }
    const std::ptrdiff_t first = cursor_ == nullptr ? indices.data() - expected_.data() : 0;
    const auto words = [&](const at::Tensor& tensor) { return static_cast<const std::uint32_t*>(tensor.data_ptr()) + first; };
    const std::uint32_t* transforms = transforms_.any() ? words(order_transforms_) : nullptr;
    clients::gather_on_device(terms_of(from, words(order_), cursor_, scale_, shift_, transforms), indices.size(),
                              examples_.data_ptr<float>(), targets_to(targets_));
    return batch_of(indices.size());
}

}  // namespace fedhive::clients
