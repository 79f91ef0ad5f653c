#include "sim/plan/experiment_data.h"

#include "aggregation/base/error.h"
#include "clients/data/batches.h"
#include "clients/data/data_format.h"
#include "clients/data/hold_out.h"
#include "clients/data/ignored.h"
#include "clients/data/poison.h"
#include "clients/data/root_examples.h"
#include "clients/protocol/watcher.h"
#include "clients/tasks/learning_task.h"
#include "clients/trainers/worker_plan.h"
#include "clients/uploads/upload.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"
#include "sim/plan/blame.h"
#include "sim/plan/model_spec.h"
#include "sim/plan/run_warnings.h"
#include "sim/ranks/bytes.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace fedhive::sim {

namespace {

/// Memory check for drawn data, before the first example is drawn.
void require_memory(const std::vector<clients::MemoryNeed>& needs) {
    const std::uint64_t available = this_machine().available_memory;
    for (const auto& [what, bytes] : needs)
        if (bytes > static_cast<double>(available))
            throw ConfigError(fmt::format("{} need {:.3g} bytes, but {} bytes ({}) are available; use fewer", what, bytes,
                                          available, human_bytes(available)));
}

clients::Dataset read_dataset(const RunConfig& run) {
    const clients::DataFormat& format = clients::data_format(run.data.format);
    const Values values = completed(run.data.values, format.keys);
    if (format.needs != nullptr) require_memory(format.needs(values));
    clients::Dataset dataset = format.read(values, run.all_seeds().data, clients::learning_task(run.task).targets.front());
    clients::mark_ignored(dataset);
    return dataset;
}

/// Checks that the targets found in the data match the task and the partition.
void check_target(const LoadedConfig& loaded, const clients::Dataset& dataset) {
    const RunConfig& run = loaded.run;
    const clients::TargetKind kind = dataset.train.target.kind;
    check_data_of_task(loaded, {dataset.train.shape, dataset.num_classes, dataset.train.target});
    const std::uint64_t without = kind == clients::TargetKind::Class ? clients::num_ignored(dataset.train.labels) : 0;
    if (!clients::partition_scheme(run.data.partition.scheme).by_label || (kind == clients::TargetKind::Class && without == 0))
        return;
    std::vector<std::string> others;
    for (const clients::PartitionScheme& scheme : clients::partition_catalog())
        if (!scheme.by_label) others.push_back(scheme.name);
    const std::string why = without > 0 ? fmt::format("{} of {} training examples have no class: their target is {}", without,
                                                      dataset.train.size(), clients::kIgnored)
                                        : fmt::format("those of task '{}' have {} as target", run.task, text_of(kind));
    throw loaded.source->error("data.partition.scheme",
                               fmt::format("scheme '{}' splits examples by their class, but {}; allowed: {}",
                                           run.data.partition.scheme, why, fmt::join(others, ", ")));
}

/// The examples that the partition leaves to the server, if it asks for some. Each client needs one of the others.
clients::RootSplit take_root(const LoadedConfig& loaded, const clients::Dataset& dataset) {
    const RunConfig& run = loaded.run;
    if (!run.data.root_examples) return {};
    const auto examples = static_cast<std::int64_t>(dataset.train.size());
    const std::int64_t clients = run.data.partition.clients.value_or(1);
    const std::int64_t root = *run.data.root_examples, most = examples - clients;
    if (root > most)
        throw loaded.source->error(
            "data.root_examples",
            fmt::format("{} examples for the server alone are too many of {} training examples: each of {} client{} needs "
                        "one; {}",
                        root, examples, clients, clients == 1 ? "" : "s",
                        most > 0 ? fmt::format("allowed: 1 to {}", most) : "use more data, or fewer clients"));
    return clients::draw_root(dataset.train.size(), static_cast<std::size_t>(root), run.all_seeds().partition);
}

clients::Partition deal(const RunConfig& run, const clients::Dataset& dataset, const clients::RootSplit& root) {
    const clients::PartitionScheme& scheme = clients::partition_scheme(run.data.partition.scheme);
    const clients::Deal all{
        dataset.train.labels,      dataset.num_classes,  static_cast<std::size_t>(run.data.partition.clients.value_or(0)),
        run.all_seeds().partition, dataset.train.owners, dataset.train.size()};
    const Values values = completed(run.data.partition.values, scheme.keys);
    return root.root.empty() ? scheme.deal(all, values) : clients::deal_others(scheme, all, values, root.others);
}

/// The name as one line of UTF-8 of about 200 bytes at most, for tables and screens.
std::string shown_name(std::string_view name) {
    constexpr std::size_t kLongest = 200;
    const std::string cut = name.size() <= kLongest ? std::string(name) : std::string(name.substr(0, kLongest)) + "…";
    const std::string quoted = nlohmann::json(cut).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string text = nlohmann::json::parse(quoted).get<std::string>();
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
    return text;
}

/// The owners' names, one per client, if clients are owners with names; else empty.
std::vector<std::string> owners_of_clients(const RunConfig& run, const clients::Dataset& dataset,
                                           const clients::Partition& partition) {
    std::vector<std::string> owners;
    if (dataset.owner_names.empty() || !clients::partition_scheme(run.data.partition.scheme).by_owner) return owners;
    for (std::size_t client = 0; client < partition.num_clients(); ++client)
        owners.push_back(shown_name(dataset.owner_names[dataset.train.owners[partition.shard(client).front()]]));
    return owners;
}

aggregation::IpcHandle upload_examples(clients::SharedDataset& dataset) {
    try {
        return dataset.upload(aggregation::cuda_driver());
    } catch (const OutOfMemory& problem) {
        throw ConfigError(fmt::format("the examples do not fit into the memory of the GPU: {}{}; use fewer, or device: cpu",
                                      problem.what(), describe_holders(nvml_holders())));
    }
}

constexpr double kPatience = 600.0;  // s; rank 0 reads or draws, and the data are sent twice

ExperimentData load_own(const LoadedConfig& loaded) {
    const RunConfig& config = loaded.run;
    const DataConfig& given = config.data;
    clients::Dataset read = blame(loaded, named_files(given), [&] { return read_dataset(config); });
    clients::throw_if_interrupted();
    check_target(loaded, read);
    const NamedFiles dealt{"data.partition", clients::partition_scheme(given.partition.scheme).keys, given.partition.values,
                           "data.partition"};
    const clients::RootSplit root = take_root(loaded, read);
    const clients::Partition partition = blame(loaded, dealt, [&] { return deal(config, read, root); });
    for (std::size_t client = 0; client < partition.num_clients(); ++client)
        if (partition.num_examples(client) == 0)
            throw loaded.source->error("data.partition",
                                       fmt::format("client {} would have no examples; use fewer clients or more data{}", client,
                                                   root.root.empty() ? "" : ", or smaller data.root_examples"));
    blame(loaded, "data.normalize", [&] {
        clients::NormalizationPlan::of(config.data.normalize);
        return clients::BatchGather(read.train.shape, config.data.normalize);
    });
    const std::uint64_t fingerprint = read.fingerprint();
    std::vector<clients::DataWarning> warnings = data_warnings(config.data, read);
    blame(loaded, "data.skew",
          [&] { clients::skew_features(read, partition, config.data.skew.resolved(), config.all_seeds().partition); });
    clients::Split split = hold_out(partition, config.data.partition.holdout, config.all_seeds().partition);
    split.root = root.root;
    const PoisonConfig& poison = config.data.poison;
    blame(loaded, "data.poison", [&] {
        const auto attacks = [&](std::size_t client) {
            return clients::misbehaves(static_cast<std::uint32_t>(client), poison.share, partition.num_clients(),
                                       config.all_seeds().sampling);
        };
        clients::poison(
            read, poison.kind, partition.num_clients(), [&](std::size_t client) { return split.trained.shard(client); },
            attacks, config.all_seeds().partition);
    });
    ExperimentData data{.dataset = clients::SharedDataset::create(read, split),
                        .fingerprint = fingerprint,
                        .partition_fingerprint = split.fingerprint(),
                        .warnings = std::move(warnings),
                        .owners = owners_of_clients(config, read, partition)};
    blame(loaded, "data.augment", [&] { data.dataset.augment(config.data.augment.resolved()); });
    return data;
}

/// Sent before the bytes of a data set from rank to rank.
struct DataHead {
    clients::DatasetMap map;
    std::uint64_t fingerprint = 0;
    std::uint64_t partition_fingerprint = 0;
};

ExperimentData receive_data(const DataHead& head) {
    return {.dataset = clients::SharedDataset::make_room(head.map),
            .fingerprint = head.fingerprint,
            .partition_fingerprint = head.partition_fingerprint};
}

ExperimentData data_of_rank_0(const LoadedConfig& loaded, Ranks& ranks) {
    std::optional<ExperimentData> data;
    BytesWriter mine;
    if (ranks.rank() == 0) {
        data = load_own(loaded);
        mine.put(DataHead{data->dataset.map(), data->fingerprint, data->partition_fingerprint});
    }
    const std::string head = ranks.all_gather(mine.take(), {.seconds = kPatience})[0];
    if (!data) data = receive_data(BytesReader(head).get<DataHead>());
    ranks.hand_out(data->dataset.bytes(), {.seconds = kPatience});
    return std::move(*data);
}

/// True if rank 0 loads for all; the same on all ranks.
bool rank_0_loads(const LoadedConfig& loaded, Ranks& ranks) {
    const DataSharing mine = loaded.run.data.shared;
    if (ranks.is_alone()) return false;
    const std::vector<std::string> all = ranks.all_gather(word_of(mine), {.seconds = kPatience});
    for (std::uint32_t rank = 1; rank < ranks.size(); ++rank)
        if (all[rank] != all[0])
            throw ConfigError(fmt::format("{}: data.shared is {}, but on {} it is {}; give all ranks the same config",
                                          ranks.name_of(rank), all[rank], ranks.name_of(0), all[0]));
    return mine == DataSharing::Rank0;
}

}  // namespace

ExperimentData load_data(const LoadedConfig& loaded, aggregation::MemorySpace space, Ranks& ranks) {
    ExperimentData data = rank_0_loads(loaded, ranks) ? data_of_rank_0(loaded, ranks) : load_own(loaded);
    if (space == aggregation::MemorySpace::Cuda)
        data.handle = blame(loaded, "data", [&] { return upload_examples(data.dataset); });
    return data;
}

}  // namespace fedhive::sim
