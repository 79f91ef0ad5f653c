#include "clients/data/shared_dataset.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"

#include <algorithm>
#include <cstring>

namespace fedhive::clients {

namespace {

template <typename T>
void store(std::byte* to, const std::vector<T>& values) {
    if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
}

}  // namespace

SharedDataset SharedDataset::create(const Dataset& dataset, const Partition& partition) {
    const DatasetMap map{dataset.train.shape, dataset.num_classes,      dataset.train.size(),
                         dataset.test.size(), partition.indices.size(), partition.num_clients()};
    auto segment = std::make_shared<aggregation::SharedSegment>("fedhive-data", map.total_bytes());
    std::byte* base = segment->data();
    store(base + map.train_values(), dataset.train.values);
    store(base + map.train_labels(), dataset.train.labels);
    store(base + map.test_values(), dataset.test.values);
    store(base + map.test_labels(), dataset.test.labels);
    store(base + map.indices(), partition.indices);
    store(base + map.offsets(), partition.offsets);
    return {segment, base, segment->descriptor(), map};
}

SharedDataset SharedDataset::open(int descriptor, const DatasetMap& map) {
    auto view =
        std::make_shared<aggregation::SharedSegmentView>(descriptor, map.total_bytes(), aggregation::SegmentAccess::ReadOnly);
    return {view, view->data(), descriptor, map};
}

ExamplesView SharedDataset::train() const {
    return {map_.shape, part<std::uint8_t>(map_.train_values(), map_.num_train * map_.shape.num_values()),
            part<std::int32_t>(map_.train_labels(), map_.num_train)};
}

ExamplesView SharedDataset::test() const {
    return {map_.shape, part<std::uint8_t>(map_.test_values(), map_.num_test * map_.shape.num_values()),
            part<std::int32_t>(map_.test_labels(), map_.num_test)};
}

std::span<const std::uint32_t> SharedDataset::shard(std::size_t client_id) const {
    FEDHIVE_CHECK(client_id < map_.num_clients, "client {} of {}", client_id, map_.num_clients);
    const auto offsets = part<std::uint64_t>(map_.offsets(), map_.num_clients + 1);
    const std::uint64_t size = offsets[client_id + 1] - offsets[client_id];
    return part<std::uint32_t>(map_.indices(), map_.num_indices)
        .subspan(offsets[client_id], map_.most_of_shard == 0 ? size : std::min(size, map_.most_of_shard));
}

}  // namespace fedhive::clients
