#include "clients/engine/row_batches.h"

#include "aggregation/base/error.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace fedhive::clients {

using aggregation::MemorySpace;

namespace {

void write_list(std::span<const RowBatch> batches, std::size_t size, void* words) {
    auto* index = static_cast<std::uint32_t*>(words);
    auto* weight = static_cast<float*>(words) + batches.size() * size;
    auto* count = weight + batches.size() * size;
    for (const RowBatch& batch : batches) {
        const std::span<const std::uint32_t> examples = batch.examples;
        index = std::copy(examples.begin(), examples.end(), index);
        index = std::fill_n(index, size - examples.size(), examples.empty() ? 0U : examples.front());
        if (!examples.empty()) weight = std::fill_n(weight, examples.size(), 1.0F / static_cast<float>(examples.size()));
        weight = std::fill_n(weight, size - examples.size(), 0.0F);
        *count++ = static_cast<float>(examples.size());
    }
}

}  // namespace

RowBatches::RowBatches(const ExamplesView& from, const Normalization& normalization, at::Device device)
    : from_(from), gather_(from.shape, normalization), device_(device) {
    FEDHIVE_CHECK((from.space == MemorySpace::Cuda) == device.is_cuda(), "the examples are not where the model is");
    if (device.is_cpu()) return;
    scale_ = to_device(gather_.scale(from.type), device);
    shift_ = to_device(gather_.shift(), device);
}

std::size_t RowBatches::words_of(std::size_t rows, std::size_t size) const {
    return rows * ((from_.augmentation.any() ? 3 : 2) * size + 1);
}

/// Padding rows of a batch get the augmentation of its first example.
void RowBatches::write_transforms(std::span<const RowBatch> batches, std::uint32_t* words) {
    if (!from_.augmentation.any()) return;
    for (const RowBatch& batch : batches) {
        transforms_.clear();
        append_transforms(from_.augmentation, batch.augmentation_key, batch.examples, transforms_);
        transforms_.resize(size_, transforms_.empty() ? element::Transform{}.packed() : transforms_.front());
        words = std::copy(transforms_.begin(), transforms_.end(), words);
    }
}

void RowBatches::reserve(std::size_t rows, std::size_t size) {
    const auto places = static_cast<std::int64_t>(rows * size);
    const auto words = static_cast<std::int64_t>(words_of(rows, size));
    const auto options = at::TensorOptions().device(device_);
    if (!list_.defined() || list_.size(0) < words) list_ = at::empty({words}, options.dtype(at::kInt));
    if (all_targets_.defined() && all_targets_.size(0) >= places) return;
    all_examples_ = at::empty({places * static_cast<std::int64_t>(from_.shape.num_values())}, options);
    all_targets_ = empty_targets({places}, from_.target, options);
}

void RowBatches::check(std::span<const RowBatch> batches, std::size_t size) const {
    for (const RowBatch& batch : batches) {
        FEDHIVE_CHECK(batch.examples.size() <= size, "a batch of {} is larger than was said, {}", batch.examples.size(), size);
        for (const std::uint32_t index : batch.examples)
            FEDHIVE_CHECK(index < from_.size(), "example {} of {}", index, from_.size());
    }
}

void RowBatches::list(std::span<const RowBatch> batches, std::size_t size) {
    check(batches, size);
    rows_ = batches.size();
    size_ = size;
    reserve(rows_, size_);
    const auto write = [&](void* words_to) {
        write_list(batches, size, words_to);
        write_transforms(batches, static_cast<std::uint32_t*>(words_to) + transforms_at());
    };
    const auto places = static_cast<std::int64_t>(rows_ * size_);
    const at::Tensor floats = list_.view(at::kFloat);
    weights = floats.narrow(0, places, places).view({static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(size_)});
    counts = floats.narrow(0, 2 * places, static_cast<std::int64_t>(rows_));
    if (device_.is_cpu()) return write(list_.data_ptr());
    // Pinned memory of its own for each step: the device may still be reading the list of a step before, and LibTorch gives that memory out
    // again only when the copy has been made.
    const auto words = static_cast<std::int64_t>(words_of(rows_, size_));
    const at::Tensor pinned = at::empty({words}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    write(pinned.data_ptr());
    list_.narrow(0, 0, words).copy_(pinned, /*non_blocking=*/true);
}

void RowBatches::gather() {
    const auto* indices = static_cast<const std::uint32_t*>(list_.data_ptr());
    const std::uint32_t* transforms = from_.augmentation.any() ? indices + transforms_at() : nullptr;
    auto* values = all_examples_.data_ptr<float>();
    const element::TargetsTo to = targets_to(all_targets_);
    if (device_.is_cpu()) {
        gathering_.time([&] {
            const std::span<const std::uint32_t> of_each{transforms, transforms == nullptr ? 0 : num_listed()};
            gather_.gather(from_, {indices, num_listed()}, values, to, of_each);
        });
    } else {
        gather_on_device(terms_of(from_, indices, nullptr, scale_, shift_, transforms), num_listed(), values, to);
    }
    const auto rows = static_cast<std::int64_t>(rows_), size = static_cast<std::int64_t>(size_);
    const auto& shape = from_.shape;
    examples = all_examples_.narrow(0, 0, rows * size * static_cast<std::int64_t>(shape.num_values()))
                   .view({rows, size, shape.channels, shape.height, shape.width});
    std::vector<std::int64_t> places{rows, size};
    if (from_.target.kind != TargetKind::Class) places.push_back(from_.target.width);
    targets = all_targets_.narrow(0, 0, rows * size).view(places);
}

}  // namespace fedhive::clients
