#include "sim/state/checkpoint.h"

#include "aggregation/base/error.h"
#include "aggregation/base/sha256.h"
#include "sim/record/table_cells.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace fedhive::sim {

using aggregation::Layout;
using aggregation::LayoutEntry;

namespace {

constexpr std::size_t kHashDigits = 64;

constexpr std::string_view kClient = "client.";

/// Precedes the hash's digits in the header. Unique, since quotes inside a value are escaped.
constexpr std::string_view kHashKey = R"("sha256":")";

/// Hash of the whole file, with zeros in place of the digits at `digits` in its head.
std::string hash_around(const OpenState& state, std::size_t digits) {
    std::string head = state.head();
    head.replace(digits, kHashDigits, kHashDigits, '0');
    Sha256 hash;
    hash.update(head.data(), head.size());
    state.read_data([&](std::string_view part) { hash.update(part.data(), part.size()); });
    return hash.hex_digest();
}

nlohmann::json to_json(const std::vector<InFlight>& in_flight) {
    nlohmann::json all = nlohmann::json::array();
    for (const InFlight& client : in_flight)
        all.push_back({{"slot", client.slot},
                       {"client_id", client.client_id},
                       {"weight", client.weight},
                       {"sent_round", client.sent_round},
                       {"repeat", client.repeat},
                       {"version", client.version},
                       {"arrives_s", client.arrives_s}});
    return all;
}

std::vector<Tensor> tensors_of(const Layout& layout, std::span<const NamedVector> vectors) {
    std::vector<Tensor> tensors;
    for (const NamedVector& vector : vectors) {
        const Layout& of = vector.layout != nullptr ? *vector.layout : layout;
        FEDHIVE_CHECK_EQ(vector.values.size, of.num_floats());
        for (const LayoutEntry& entry : of.entries())
            tensors.push_back({vector.name + "." + entry.name,
                               "F32",
                               {entry.shape.begin(), entry.shape.end()},
                               {reinterpret_cast<const char*>(vector.values.data + entry.offset), entry.size * sizeof(float)}});
    }
    return tensors;
}

std::array<std::pair<const char*, TableEnd>, 4> named(const TablePositions& tables) {
    return {{{"rounds_csv", tables.rounds},
             {"clients_csv", tables.clients},
             {"arrivals_csv", tables.arrivals},
             {"fairness_csv", tables.fairness}}};
}

std::map<std::string, std::string> metadata_of(const Checkpoint& checkpoint, std::size_t keepers) {
    const auto text = [](const auto& value) { return fmt::format("{}", value); };
    const Progress& progress = checkpoint.progress;
    std::map<std::string, std::string> metadata{
        {"format", text(kCheckpointFormat)},
        {"sha256", std::string(kHashDigits, '0')},
        {"round", text(checkpoint.round)},
        {"version", text(checkpoint.version)},
        {"config", checkpoint.config},
        {"libtorch", checkpoint.environment.libtorch},
        {"cpu_capability", checkpoint.environment.cpu_capability},
        {"device", checkpoint.environment.device},
        {"gpu", checkpoint.environment.gpu},
        {"engine", checkpoint.environment.engine},
        {"cpu_vendor", checkpoint.environment.cpu_vendor},
        {"model_form", checkpoint.environment.model_form},
        {"data_fingerprint", fmt::format("{:016x}", checkpoint.data_fingerprint)},
        {"layout_fingerprint", fmt::format("{:016x}", checkpoint.layout_fingerprint)},
        {"wall_s", seconds_to_json(progress).dump()},
        {"failures", to_json(progress.failures).dump()},
        {"last_step", text(progress.last_step)},
        {"now_s", text(checkpoint.now_s)},
        {"in_flight", to_json(checkpoint.in_flight).dump()},
        {"keepers", text(keepers)},
    };
    if (!checkpoint.sampler.empty()) metadata["sampler"] = checkpoint.sampler;
    if (!checkpoint.weights.empty()) metadata["weights"] = checkpoint.weights;
    if (checkpoint.clip_norm > 0.0) metadata["clip_norm"] = text(checkpoint.clip_norm);
    if (!checkpoint.heard.empty()) {
        metadata["sent_round"] = text(checkpoint.sent_round);
        metadata["heard"] = nlohmann::json(checkpoint.heard).dump();
    }
    if (!checkpoint.record.empty()) metadata["record"] = checkpoint.record;
    for (const auto& [name, end] : named(checkpoint.tables)) {
        metadata[std::string(name) + "_bytes"] = text(end.bytes);
        if (end.crc) metadata[std::string(name) + "_crc32"] = fmt::format("{:08x}", *end.crc);
    }
    if (progress.test) {
        metadata["test_round"] = text(progress.test_round);
        metadata["test_loss"] = text(progress.test->test_loss);
        for (const NamedMetric& metric : progress.test->of_task) {
            metadata["test_" + metric.name] = text(metric.value);
            std::string& names = metadata["test_metrics"];  // in order
            names += (names.empty() ? "" : ",") + metric.name;
        }
    }
    return metadata;
}

/// Parses the metadata that metadata_of wrote.
class MetadataReader {
public:
    MetadataReader(const std::map<std::string, std::string>& metadata, std::string what)
        : metadata_(metadata), what_(std::move(what)) {}

    [[noreturn]] void fail(const std::string& problem) const { throw DamagedCheckpoint(fmt::format("{}: {}", what_, problem)); }

    bool has(const std::string& key) const { return metadata_.contains(key); }

    const std::string& text(const std::string& key) const {
        const auto found = metadata_.find(key);
        if (found == metadata_.end()) fail(fmt::format("is not a checkpoint: its metadata have no '{}'", key));
        return found->second;
    }

    /// An integer in base 10 or 16, or a floating-point number.
    template <typename Number, typename... Base>
    Number number(const std::string& key, Base... base) const {
        const std::string& value = text(key);
        Number result{};
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result, base...);
        if (error != std::errc() || end != value.data() + value.size())
            fail(fmt::format("{} '{}' is not a number", key, value));
        return result;
    }

    /// The number under `name` in the JSON object under `key`.
    template <typename Number>
    Number number_in(const std::string& key, const char* name) const {
        const auto object = nlohmann::json::parse(text(key), nullptr, false);
        const nlohmann::json value = object.is_object() && object.contains(name) ? object[name] : nlohmann::json();
        if (!(std::is_unsigned_v<Number> ? value.is_number_unsigned() : value.is_number()))
            fail(fmt::format("{} has no number '{}'", key, name));
        return value.get<Number>();
    }

private:
    const std::map<std::string, std::string>& metadata_;
    std::string what_;
};

std::vector<std::uint32_t> read_heard(const MetadataReader& metadata) {
    const auto all = nlohmann::json::parse(metadata.text("heard"), nullptr, false);
    const auto is_round = [](const nlohmann::json& one) {
        return one.is_number_unsigned() && one.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!all.is_array() || !std::ranges::all_of(all, is_round)) metadata.fail("heard is not a list of rounds");
    return all.get<std::vector<std::uint32_t>>();
}

std::vector<InFlight> read_in_flight(const MetadataReader& metadata) {
    std::vector<InFlight> result;
    const auto all = nlohmann::json::parse(metadata.text("in_flight"), nullptr, false);
    try {
        for (const nlohmann::json& one : all)
            result.push_back({.slot = one.at("slot").get<std::size_t>(),
                              .client_id = one.at("client_id").get<std::uint32_t>(),
                              .weight = one.at("weight").get<double>(),
                              .sent_round = one.at("sent_round").get<std::int64_t>(),
                              .repeat = one.at("repeat").get<std::uint32_t>(),
                              .version = one.at("version").get<std::uint64_t>(),
                              .global_index = 0,
                              .arrives_s = one.at("arrives_s").get<double>()});
    } catch (const nlohmann::json::exception& error) {
        metadata.fail(fmt::format("in_flight is not a list of clients in flight: {}", error.what()));
    }
    return result;
}

TableEnd read_end(const MetadataReader& metadata, const std::string& name) {
    TableEnd end{.bytes = metadata.number<std::uint64_t>(name + "_bytes")};
    if (metadata.has(name + "_crc32")) end.crc = metadata.number<std::uint32_t>(name + "_crc32", 16);
    return end;
}

Progress read_progress(const MetadataReader& metadata) {
    Progress progress;
    progress.wall_s = metadata.number_in<double>("wall_s", "total");
    for (std::size_t i = 0; i < kNumPhases; ++i)
        progress.phase_seconds[i] = metadata.number_in<double>("wall_s", kPhaseNames[i]);
    const auto count = [&](const char* name) { return metadata.number_in<std::uint64_t>("failures", name); };
    progress.failures = {count("failures"), count("retried"), count("dropped"), count("workers_replaced"),
                         count("deaths_in_a_row")};
    if (metadata.has("last_step")) progress.last_step = metadata.number<std::int64_t>("last_step");
    if (!metadata.has("test_round")) return progress;
    progress.test_round = metadata.number<std::int64_t>("test_round");
    progress.test = Metrics{.test_loss = metadata.number<double>("test_loss")};
    // Older checkpoints name no metrics: accuracy was the only one.
    for (const std::string& name : cells_of(metadata.has("test_metrics") ? metadata.text("test_metrics") : "accuracy"))
        progress.test->of_task.push_back({name, metadata.number<double>("test_" + name)});
    return progress;
}

Checkpoint read_metadata(const MetadataReader& metadata) {
    Checkpoint checkpoint;
    checkpoint.round = metadata.number<std::int64_t>("round");
    checkpoint.version = metadata.number<std::uint64_t>("version");
    checkpoint.config = metadata.text("config");
    checkpoint.environment = {metadata.text("libtorch"),
                              metadata.text("cpu_capability"),
                              metadata.text("device"),
                              metadata.text("gpu"),
                              metadata.has("engine") ? metadata.text("engine") : BitsEnvironment{}.engine,
                              metadata.has("cpu_vendor") ? metadata.text("cpu_vendor") : "",
                              metadata.has("model_form") ? metadata.text("model_form") : ""};
    checkpoint.data_fingerprint = metadata.number<std::uint64_t>("data_fingerprint", 16);
    checkpoint.layout_fingerprint = metadata.number<std::uint64_t>("layout_fingerprint", 16);
    if (metadata.has("record")) checkpoint.record = metadata.text("record");
    checkpoint.tables = {
        read_end(metadata, "rounds_csv"), read_end(metadata, "clients_csv"), read_end(metadata, "arrivals_csv"),
        metadata.has("fairness_csv_bytes") ? read_end(metadata, "fairness_csv") : TableEnd{}};  // missing in older checkpoints
    checkpoint.progress = read_progress(metadata);
    if (!metadata.has("last_step") && checkpoint.version > 0) checkpoint.progress.last_step = checkpoint.round;  // older file
    checkpoint.now_s = metadata.number<double>("now_s");
    checkpoint.in_flight = read_in_flight(metadata);
    if (metadata.has("sampler")) checkpoint.sampler = metadata.text("sampler");  // missing in older checkpoints
    if (metadata.has("weights")) checkpoint.weights = metadata.text("weights");
    if (metadata.has("clip_norm")) checkpoint.clip_norm = metadata.number<double>("clip_norm");
    if (metadata.has("heard")) {
        checkpoint.sent_round = metadata.number<std::int64_t>("sent_round");
        checkpoint.heard = read_heard(metadata);
    }
    return checkpoint;
}

/// Returns read(); rethrows its errors as DamagedCheckpoint.
template <typename Read>
auto undamaged(const Read& read) {
    try {
        return read();
    } catch (const ConfigError& error) {
        throw DamagedCheckpoint(error.what());
    }
}

/// Throws unless the file has `keepers` client states: a lost one would read as that of a client without state. Checkpoints
/// from before `keepers` are not checked.
void check_keepers(const OpenState& state, const MetadataReader& metadata) {
    if (!metadata.has("keepers")) return;
    const auto written = metadata.number<std::uint64_t>("keepers");
    const auto found =
        static_cast<std::uint64_t>(std::count_if(state.tensors().begin(), state.tensors().end(),
                                                 [](const TensorPlace& tensor) { return tensor.name.starts_with(kClient); }));
    if (found != written)
        metadata.fail(fmt::format("has the state of {} clients, but says {}; tensors '{}<id>' are missing or too many", found,
                                  written, kClient));
}

}  // namespace

std::vector<std::string> differences(const BitsEnvironment& then, const BitsEnvironment& now) {
    std::vector<std::string> result;
    const auto compare = [&](const char* what, const std::string& before, const std::string& after) {
        const auto shown_as = [](const std::string& text) { return text.empty() ? "none" : text; };
        if (before != after) result.push_back(fmt::format("{} {} then, {} now", what, shown_as(before), shown_as(after)));
    };
    // The direct engine takes nothing of LibTorch.
    if (then.engine != "direct" || now.engine != "direct") compare("LibTorch", then.libtorch, now.libtorch);
    compare("CPU capability", then.cpu_capability, now.cpu_capability);
    compare("device", then.device, now.device);
    compare("GPU", then.gpu, now.gpu);
    compare("engine", then.engine, now.engine);
    if (!then.cpu_vendor.empty() && !now.cpu_vendor.empty()) compare("processor's maker", then.cpu_vendor, now.cpu_vendor);
    // Older checkpoints lack the form; they ran every file as a graph.
    compare("model.file as", then.model_form.empty() && !now.model_form.empty() ? "graph" : then.model_form, now.model_form);
    return result;
}

nlohmann::ordered_json to_json(const FailureCounts& counts) {
    return {{"failures", counts.failures},
            {"retried", counts.retried},
            {"dropped", counts.dropped},
            {"workers_replaced", counts.workers_replaced},
            {"deaths_in_a_row", counts.deaths_in_a_row}};
}

nlohmann::ordered_json seconds_to_json(const Progress& progress) {
    nlohmann::ordered_json seconds{{"total", progress.wall_s}};
    for (std::size_t i = 0; i < kNumPhases; ++i) seconds[kPhaseNames[i]] = progress.phase_seconds[i];
    return seconds;
}

std::string base_name(std::uint64_t version) { return fmt::format("base.{}", version); }

StatePieces encode_checkpoint(const Checkpoint& checkpoint, const Layout& layout, std::span<const NamedVector> vectors,
                              const aggregation::ClientStates& states) {
    std::vector<Tensor> tensors = tensors_of(layout, vectors);
    const std::vector<std::uint64_t> keepers = states.keepers();
    for (const std::uint64_t client : keepers)
        tensors.push_back({fmt::format("{}{}", kClient, client),
                           "F32",
                           {states.floats()},
                           {reinterpret_cast<const char*>(states.of(client).data), states.floats() * sizeof(float)}});
    StatePieces pieces = state_pieces(tensors, metadata_of(checkpoint, keepers.size()));
    const std::size_t key = pieces.head.find(kHashKey);
    FEDHIVE_CHECK(key != std::string::npos, "a state file's header without the hash's key");
    Sha256 hash;  // over the head with zeros in place of the digits
    hash.update(pieces.head.data(), pieces.head.size());
    for (const std::string_view piece : pieces.data) {
        hash.update(piece.data(), piece.size());
        states.release_pages(piece);
    }
    pieces.head.replace(key + kHashKey.size(), kHashDigits, hash.hex_digest());
    return pieces;
}

CheckpointFile read_checkpoint(const std::filesystem::path& file) {
    const OpenState state = undamaged([&] { return OpenState(file); });
    const MetadataReader metadata(state.metadata(), file.string());
    const std::string& hash = metadata.text("sha256");
    const std::size_t key = state.head().find(std::string(kHashKey) + hash);
    if (hash.size() != kHashDigits || key == std::string::npos ||
        undamaged([&] { return hash_around(state, key + kHashKey.size()); }) != hash)
        metadata.fail("its bytes do not match its sha256");
    const int format = metadata.number<int>("format");
    if (format != kCheckpointFormat)
        throw ConfigError(
            fmt::format("{}: has checkpoint format {}, but this fedhive supports {}; resume with the fedhive that wrote it",
                        file.string(), format, kCheckpointFormat));
    check_keepers(state, metadata);
    return {.path = file, .checkpoint = read_metadata(metadata), .state = state};
}

void read_client_states(const CheckpointFile& file, aggregation::ClientStates& states) {
    std::vector<float> state(states.floats());
    for (const TensorPlace& tensor : file.state.tensors()) {
        if (!tensor.name.starts_with(kClient)) continue;
        const std::string_view digits = std::string_view(tensor.name).substr(kClient.size());
        std::uint64_t client = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), client);
        const bool named = error == std::errc() && end == digits.data() + digits.size();
        if (!named || client >= states.clients() || tensor.dtype != "F32" ||
            tensor.shape != std::vector<std::uint64_t>{states.floats()})
            throw ConfigError(
                fmt::format("{}: '{}' of type {} and shape [{}] does not fit a run with {} clients that store {} floats each",
                            file.path.string(), tensor.name, tensor.dtype, fmt::join(tensor.shape, ","), states.clients(),
                            states.floats()));
        file.state.read(tensor, std::as_writable_bytes(std::span(state)));
        states.set(client, state);
    }
}

std::vector<float> read_vector(const CheckpointFile& file, const std::string& name, const Layout& layout) {
    std::vector<float> vector(layout.num_floats(), 0.0F);
    for (const LayoutEntry& entry : layout.entries()) {
        const std::string full_name = name + "." + entry.name;
        const TensorPlace* tensor = file.state.find(full_name);
        const std::vector<std::uint64_t> shape(entry.shape.begin(), entry.shape.end());
        if (tensor == nullptr || tensor->dtype != "F32" || tensor->shape != shape)
            throw ConfigError(fmt::format("{}: has no tensor '{}' of type F32 and shape [{}]", file.path.string(), full_name,
                                          fmt::join(shape, ",")));
        file.state.read(*tensor, std::as_writable_bytes(std::span(vector).subspan(entry.offset, entry.size)));
    }
    return vector;
}

}  // namespace fedhive::sim
