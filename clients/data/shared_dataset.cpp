#include "clients/data/shared_dataset.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/data/transforms.h"

#include <algorithm>
#include <cstring>

namespace fedhive::clients {

namespace {

template <typename T>
void store(std::byte* to, const std::vector<T>& values) {
    if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
}

}  // namespace

SharedDataset SharedDataset::create(const Dataset& dataset, const Split& split) {
    FEDHIVE_CHECK(dataset.train.type == dataset.test.type && dataset.train.target == dataset.test.target,
                  "training and test examples are of two types");
    const DatasetMap map{.shape = dataset.train.shape,
                         .num_classes = dataset.num_classes,
                         .num_train = dataset.train.size(),
                         .num_test = dataset.test.size() - dataset.num_triggered,
                         .num_triggered = dataset.num_triggered,
                         .num_indices = split.trained.indices.size(),
                         .num_clients = split.trained.num_clients(),
                         .type = dataset.train.type,
                         .rounded = dataset.rounded,
                         .owners_left_out = dataset.owners_left_out,
                         .num_held_out = split.held_out.indices.size(),
                         .num_root = split.root.size(),
                         .target = dataset.train.target};
    SharedDataset shared = make_room(map);
    std::byte* base = shared.base_;
    store(base + map.train_values(), dataset.train.values);
    store(base + map.train_targets(), dataset.train.labels);
    store(base + map.train_targets(), dataset.train.numbers);
    store(base + map.test_values(), dataset.test.values);
    store(base + map.test_targets(), dataset.test.labels);
    store(base + map.test_targets(), dataset.test.numbers);
    store(base + map.indices(), split.trained.indices);
    store(base + map.offsets(), split.trained.offsets);
    if (map.num_held_out > 0) {
        store(base + map.held_out_indices(), split.held_out.indices);
        store(base + map.held_out_offsets(), split.held_out.offsets);
    }
    store(base + map.root_indices(), split.root);
    return shared;
}

SharedDataset SharedDataset::make_room(const DatasetMap& map) {
    auto segment = std::make_shared<aggregation::SharedSegment>("fedhive-data", map.total_bytes());
    return {segment, segment->data(), segment->descriptor(), map};
}

SharedDataset SharedDataset::open(int descriptor, const DatasetMap& map) {
    auto view =
        std::make_shared<aggregation::SharedSegmentView>(descriptor, map.total_bytes(), aggregation::SegmentAccess::ReadOnly);
    return {view, view->data(), descriptor, map};
}

aggregation::IpcHandle SharedDataset::upload(aggregation::CudaDriver& driver) {
    const auto block = std::make_shared<const aggregation::CudaBlock>(driver, map_.example_bytes());
    driver.upload(block->data(), base_, map_.example_bytes());
    device_block_ = block;
    device_base_ = block->data();
    return block->handle();
}

void SharedDataset::open_on_device(aggregation::CudaDriver& driver, const aggregation::IpcHandle& handle) {
    const auto view = std::make_shared<const aggregation::CudaBlockView>(driver, handle);
    device_block_ = view;
    device_base_ = view->data();
}

ExamplesView SharedDataset::examples(aggregation::MemorySpace space, std::uint64_t values, std::uint64_t targets,
                                     std::uint64_t count) const {
    const std::byte* base = space == aggregation::MemorySpace::Host ? base_ : device_base_;
    FEDHIVE_CHECK(base != nullptr, "the data set is not in device memory");
    ExamplesView view{
        .shape = map_.shape,
        .values = {reinterpret_cast<const std::uint8_t*>(base + values), count * map_.shape.num_values() * bytes_of(map_.type)},
        .labels = {},
        .space = space,
        .type = map_.type,
        .target = map_.target};
    if (map_.target.kind == TargetKind::Numbers)
        view.numbers = {reinterpret_cast<const float*>(base + targets), count * map_.target.width};
    else
        view.labels = {reinterpret_cast<const std::int32_t*>(base + targets), count * map_.target.width};
    return view;
}

void SharedDataset::augment(const Augmentation& augmentation) {
    check_augmentation(augmentation, map_.shape);
    map_.augmentation = augmentation;
}

ExamplesView SharedDataset::train(aggregation::MemorySpace space) const {
    ExamplesView view = examples(space, map_.train_values(), map_.train_targets(), map_.num_train);
    view.augmentation = map_.augmentation;
    return view;
}

ExamplesView SharedDataset::test(aggregation::MemorySpace space) const {
    return examples(space, map_.test_values(), map_.test_targets(), map_.num_tests());
}

std::span<const std::uint32_t> SharedDataset::list_of(std::size_t client_id, const Lists& lists) const {
    FEDHIVE_CHECK(client_id < map_.num_clients, "client {} of {}", client_id, map_.num_clients);
    return lists.indices.subspan(lists.begins[client_id], lists.begins[client_id + 1] - lists.begins[client_id]);
}

std::size_t SharedDataset::largest_shard() const {
    std::size_t largest = 0;
    for (std::size_t client = 0; client < map_.num_shards(); ++client) largest = std::max(largest, shard(client).size());
    return largest;
}

std::span<const std::uint32_t> SharedDataset::shard(std::size_t client_id) const {
    if (map_.is_root(client_id)) return part<std::uint32_t>(map_.root_indices(), map_.num_root);
    return list_of(client_id, shards_);
}

std::span<const std::uint32_t> SharedDataset::held_out(std::size_t client_id) const {
    if (map_.num_held_out == 0) return {};
    return list_of(client_id, held_out_);
}

}  // namespace fedhive::clients
