#include "clients/data/partition.h"

#include "aggregation/base/error.h"
#include "clients/data/content_hash.h"

#include <algorithm>

namespace fedhive::clients {

// Each is defined in the file of its name in partitions/.
PartitionScheme contiguous();
PartitionScheme iid();
PartitionScheme shards();
PartitionScheme dirichlet();
PartitionScheme dirichlet_groups();
PartitionScheme label_quota();
PartitionScheme dirichlet_sizes();
PartitionScheme lognormal_sizes();
PartitionScheme power_law_sizes();
PartitionScheme from_file();
PartitionScheme natural();

const std::vector<PartitionScheme>& partition_catalog() {
    static const std::vector<PartitionScheme> catalog = {
        contiguous(),      iid(),       shards(),  dirichlet(),       label_quota(), dirichlet_sizes(), lognormal_sizes(),
        power_law_sizes(), from_file(), natural(), dirichlet_groups()};
    return catalog;
}

const PartitionScheme& partition_scheme(const std::string& name) {
    return entry_of(partition_catalog(), name, "partition scheme");
}

std::uint64_t Partition::fingerprint() const {
    ContentHash hash;
    hash.bytes(offsets);
    hash.bytes(indices);
    return hash.state();
}

std::vector<std::uint64_t> label_counts(std::span<const std::uint32_t> shard, std::span<const std::int32_t> labels,
                                        std::int64_t num_classes) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(num_classes));
    for (const std::uint32_t index : shard)
        if (labels[index] != kIgnored) ++counts.at(static_cast<std::size_t>(labels[index]));
    return counts;
}

std::vector<std::uint64_t> label_counts(std::span<const std::uint32_t> shard, const ExamplesView& examples,
                                        std::int64_t num_classes) {
    if (examples.target.kind != TargetKind::Class) return {};
    return label_counts(shard, examples.labels, num_classes);
}

}  // namespace fedhive::clients
