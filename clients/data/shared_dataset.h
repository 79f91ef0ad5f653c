// The data set and its partition in one shared segment: written once by the coordinator, mapped by every worker without a copy.
//
//   [ train values | train targets | test values | test targets |           examples: also in a block of device memory (GPU)
//     shard indices | shard offsets | held-out indices | held-out offsets | root indices ]
//
// Offsets are in DatasetMap; there are no pointers.
#pragma once

#include "aggregation/memory/cuda_block.h"
#include "clients/data/dataset.h"
#include "clients/data/hold_out.h"

#include <cstdint>
#include <memory>
#include <span>

namespace fedhive::clients {

/// Layout of the segment: plain data, part of a worker's plan.
struct DatasetMap {
    ExampleShape shape;
    std::int64_t num_classes = 0;
    std::uint64_t num_train = 0;
    std::uint64_t num_test = 0;
    std::uint64_t num_triggered = 0;  // after the test examples: copies with a backdoor's trigger
    std::uint64_t num_indices = 0;
    std::uint64_t num_clients = 0;
    ValueType type = ValueType::U8;
    bool rounded = false;               // values were rounded from f64 to f32
    std::uint32_t owners_left_out = 0;  // owners without a training example
    std::uint64_t num_held_out = 0;     // indices, of all clients
    std::uint64_t num_root = 0;         // indices, of the server's root client
    TargetShape target{};
    Augmentation augmentation{};

    std::uint64_t num_tests() const { return num_test + num_triggered; }
    std::uint64_t train_values() const { return 0; }
    std::uint64_t train_targets() const { return aligned(num_train * shape.num_values() * bytes_of(type)); }
    std::uint64_t test_values() const { return train_targets() + aligned(num_train * target_bytes()); }
    std::uint64_t test_targets() const { return test_values() + aligned(num_tests() * shape.num_values() * bytes_of(type)); }
    std::uint64_t example_bytes() const { return indices(); }
    std::uint64_t indices() const { return test_targets() + aligned(num_tests() * target_bytes()); }
    std::uint64_t offsets() const { return indices() + aligned(num_indices * sizeof(std::uint32_t)); }
    std::uint64_t held_out_indices() const { return offsets() + aligned((num_clients + 1) * sizeof(std::uint64_t)); }
    std::uint64_t held_out_offsets() const { return held_out_indices() + aligned(num_held_out * sizeof(std::uint32_t)); }
    std::uint64_t root_indices() const {
        return num_held_out == 0 ? held_out_indices() : held_out_offsets() + aligned((num_clients + 1) * sizeof(std::uint64_t));
    }
    std::uint64_t total_bytes() const { return root_indices() + aligned(num_root * sizeof(std::uint32_t)); }

    /// The root client has the id that follows the clients'. Only the server knows it; num_clients does not count it.
    bool is_root(std::uint64_t client_id) const { return num_root > 0 && client_id == num_clients; }
    /// The clients and the root client: ids of shards are 0 to num_shards() - 1.
    std::uint64_t num_shards() const { return num_clients + (num_root > 0 ? 1 : 0); }

private:
    std::uint64_t target_bytes() const { return target.width * sizeof(std::int32_t); }  // 4 bytes per label or number
    static constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }
};

class SharedDataset {
public:
    /// Coordinator: copies into a new segment. Throws Fault with wanted and available bytes if memory is short.
    static SharedDataset create(const Dataset& dataset, const Split& split);
    /// create() without held-out examples.
    static SharedDataset create(const Dataset& dataset, const Partition& partition) {
        return create(dataset, Split{partition, {}});
    }

    /// Coordinator: an empty segment for a data set of another process, to be filled through bytes(). Throws as create().
    static SharedDataset make_room(const DatasetMap& map);
    /// The whole segment, writable; only after create() or make_room().
    std::span<std::byte> bytes() const { return {base_, map_.total_bytes()}; }

    /// Worker: maps an inherited segment read-only. Throws Fault if it is smaller than the map says.
    static SharedDataset open(int descriptor, const DatasetMap& map);

    /// Coordinator: copies the examples into device memory, once. The last copy of this object frees the block; it must outlive
    /// the workers. Throws OutOfMemory with wanted and available bytes.
    aggregation::IpcHandle upload(aggregation::CudaDriver& driver);

    /// Worker: opens the coordinator's block in device memory.
    void open_on_device(aggregation::CudaDriver& driver, const aggregation::IpcHandle& handle);

    /// Coordinator: sets the augmentation of train(), here and in workers that get the map. Throws ConfigError
    /// if examples are no images.
    void augment(const Augmentation& augmentation);

    const DatasetMap& map() const { return map_; }
    int descriptor() const { return descriptor_; }

    /// Views; of device memory only after upload() or open_on_device(), else Fault.
    ExamplesView train(aggregation::MemorySpace space = aggregation::MemorySpace::Host) const;
    /// Test examples; those with a backdoor's trigger are at the end.
    ExamplesView test(aggregation::MemorySpace space = aggregation::MemorySpace::Host) const;
    /// Indices of the examples that a client, or the root client, trains on.
    std::span<const std::uint32_t> shard(std::size_t client_id) const;
    /// The most examples that any of them trains on.
    std::size_t largest_shard() const;
    /// Indices of a client's held-out training examples; may be empty.
    std::span<const std::uint32_t> held_out(std::size_t client_id) const;

private:
    SharedDataset(std::shared_ptr<void> segment, std::byte* base, int descriptor, const DatasetMap& map)
        : segment_(std::move(segment)),
          base_(base),
          descriptor_(descriptor),
          map_(map),
          shards_{part<std::uint64_t>(map.offsets(), map.num_clients + 1),
                  part<std::uint32_t>(map.indices(), map.num_indices)} {
        if (map.num_held_out == 0) return;
        held_out_ = {part<std::uint64_t>(map.held_out_offsets(), map.num_clients + 1),
                     part<std::uint32_t>(map.held_out_indices(), map.num_held_out)};
    }
    /// The clients' lists of examples: client k has indices[begins[k]] to indices[begins[k + 1] - 1].
    struct Lists {
        std::span<const std::uint64_t> begins;
        std::span<const std::uint32_t> indices;
    };
    template <typename T>
    std::span<const T> part(std::uint64_t offset, std::uint64_t count) const {
        return {reinterpret_cast<const T*>(base_ + offset), count};
    }
    std::span<const std::uint32_t> list_of(std::size_t client_id, const Lists& lists) const;
    ExamplesView examples(aggregation::MemorySpace space, std::uint64_t values, std::uint64_t targets,
                          std::uint64_t count) const;

    std::shared_ptr<void> segment_;
    std::byte* base_;
    int descriptor_;
    DatasetMap map_;
    Lists shards_, held_out_;
    std::shared_ptr<const void> device_block_;  // CudaBlock or CudaBlockView
    const std::byte* device_base_ = nullptr;
};

}  // namespace fedhive::clients
