#include "clients/visit/python_clients.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "clients/protocol/failure.h"
#include "clients/visit/local_batches.h"
#include "clients/visit/python_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using nlohmann::json;

namespace {

json read_handle(const VisitHandle& handle) {
    const aggregation::SharedSegmentView text(handle.descriptor, handle.bytes, aggregation::SegmentAccess::ReadOnly);
    const auto* begin = reinterpret_cast<const char*>(text.data());
    return json::parse(begin, begin + handle.bytes);
}

}  // namespace

std::uint64_t python_segment_bytes(std::uint64_t num_floats, const aggregation::Memories& memories, const DatasetMap& data,
                                   const LocalTraining& training, std::uint64_t examples) {
    return PythonClients::places_for(num_floats, memories.record_floats() + memories.floats_behind(), data, training, examples)
        .all;
}

PythonClients::Places PythonClients::places_for(std::uint64_t num_floats, std::uint64_t memory_floats, const DatasetMap& data,
                                                const LocalTraining& training, std::uint64_t examples) {
    Places places;
    std::uint64_t end = 0;
    const auto add = [&end](std::uint64_t bytes) { return std::exchange(end, (end + bytes + 63) / 64 * 64); };
    places.taken = add(sizeof(std::uint64_t));
    places.vector = add(num_floats * sizeof(float));
    places.memory = add(memory_floats * sizeof(float));
    places.x = add(examples * data.shape.num_values() * sizeof(float));
    places.y = add(examples * data.target.width * sizeof(std::int64_t));
    places.order = add(training.examples_of(examples) * sizeof(std::uint32_t));
    places.ends = add(training.steps_of(examples) * sizeof(std::uint64_t));
    places.all = std::max<std::uint64_t>(end, 64);
    return places;
}

PythonClients::PythonClients(PythonVisits visits)
    : visits_(std::move(visits)),
      gather_(visits_.dataset.map().shape, visits_.normalization),
      layout_(model_layout(visits_.model)) {
    const json given = read_handle(visits_.visit);
    file_ = given["file"].get<std::string>();
    source_ = given["source"].get<std::string>();
    key_ = given["key"].get<std::string>();
    keys_ = given["keys"].dump();
    for (const json& report : given["reports"]) report_places_.push_back(visits_.reports.index_of(report.get<std::string>()));
    for (const json& one : given["memory"]) {
        const auto name = one.get<std::string>();
        const aggregation::Memory* const memory = visits_.memories.find(name);
        FEDHIVE_CHECK(memory != nullptr, "no memory '{}'", name);
        kept_.push_back({name, memory_floats_, memory->floats, memory});
        memory_floats_ += (memory->floats + 15) / 16 * 16;
    }
    const std::uint64_t most = visits_.dataset.largest_shard();
    places_ = places_for(layout_.num_floats(), memory_floats_, visits_.dataset.map(), visits_.training, most);
    segment_.emplace("fedhive-visit", places_.all);
    positions_.resize(most);
    std::iota(positions_.begin(), positions_.end(), 0U);
    start();
}

void PythonClients::start() {
    const std::string threads = std::to_string(visits_.threads);
    const exported::ModelFileHandle& network = visits_.model.exported;
    std::vector<int> inherited{segment_->descriptor()};
    const bool as_graph = !has_modules(visits_.model);
    if (as_graph) inherited.push_back(network.descriptor);
    process_.emplace(PythonOptions{
        .module = "fedhive.visits",
        .file = file_,
        .environment = {{"OMP_NUM_THREADS", threads}, {"MKL_NUM_THREADS", threads}, {"OPENBLAS_NUM_THREADS", threads}},
        .inherited = inherited,
        .on_terminal = visits_.on_terminal});
    const DatasetMap& data = visits_.dataset.map();
    json memory = json::array();
    for (const Kept& kept : kept_) memory.push_back({kept.name, kept.offset, kept.floats, kept.memory->down});
    const json answer = json::parse(ask(json{
        {"do", "begin"},
        {"source", source_},
        {"keys", json::parse(keys_)},
        {"segment", segment_->descriptor()},
        {"bytes", segment_->size()},
        {"at",
         {{"taken", places_.taken},
          {"vector", places_.vector},
          {"memory", places_.memory},
          {"x", places_.x},
          {"y", places_.y},
          {"order", places_.order},
          {"ends", places_.ends}}},
        {"floats", layout_.num_floats()},
        {"tensors", tensors_as_json(layout_)},
        {"layers", layers_as_json(visits_.model)},
        {"program", as_graph ? json{network.descriptor, network.bytes} : json()},
        {"memory", memory},
        {"memory_floats", memory_floats_},
        {"shape", input_shape(data.shape)},
        {"tokens", data.shape.vocabulary > 0},
        {"labels", data.target.kind != TargetKind::Numbers},
        {"target_width", data.target.width},
        {"threads", visits_.threads}}.dump()));
    if (answer.contains("error")) throw Fault(fmt::format("{}: {}", key_, answer["error"].get<std::string>()));
}

/// Asks the process, which must go if it does not come to its answer.
std::string PythonClients::ask(const std::string& request) {
    const std::atomic_ref<std::uint64_t> taken(part<std::uint64_t>(places_.taken, 1).front());
    try {
        return process_->ask(request, [&] {
            const std::uint64_t now = taken.load(std::memory_order_relaxed);
            visits_.while_waiting(std::exchange(seen_taken_, now) != now);
        });
    } catch (...) {
        process_.reset();
        throw;
    }
}

void PythonClients::begin(const aggregation::VisitMemories& memories) {
    for (Kept& kept : kept_) {
        const ConstParamSpan before = kept.memory->down ? memories.down(kept.name) : memories.own(kept.name);
        kept.is_new = before.size == 0 && kept.memory->first == aggregation::FirstValue::SentModel;
        if (before.size > 0 && !kept.memory->up)
            aggregation::copy(values_of(kept), before);
        else
            aggregation::set_zero(values_of(kept));
    }
}

/// Writes the positions of all batches in the client's examples, and where each batch ends. Returns the number of positions.
std::uint64_t PythonClients::write_order(const LocalTraining& plan, std::uint32_t round, const RowClient& client) {
    // The draws of enqueue_clients(), which shuffles the shard itself.
    LocalBatches batches(plan, round, client.client_id, std::span(positions_).first(client.shard.size()));
    const std::span<std::uint32_t> order = part<std::uint32_t>(places_.order, plan.examples_of(client.shard.size()));
    const std::span<std::uint64_t> ends = part<std::uint64_t>(places_.ends, batches.num_steps());
    std::uint64_t written = 0;
    for (std::uint64_t& end : ends) {
        const RowBatch batch = batches.next();
        FEDHIVE_CHECK(written + batch.examples.size() <= order.size(), "{} positions of at most {}", written, order.size());
        std::copy(batch.examples.begin(), batch.examples.end(), order.begin() + static_cast<std::ptrdiff_t>(written));
        end = written += batch.examples.size();
    }
    return written;
}

void PythonClients::train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                          std::span<const RowClient> clients, ConstParamSpan global, std::span<ClientResult> results) {
    FEDHIVE_CHECK_EQ(clients.size(), 1U);
    FEDHIVE_CHECK_EQ(global.size, layout_.num_floats());
    const RowClient& client = clients.front();
    const std::size_t examples = client.shard.size();
    FEDHIVE_CHECK(
        examples <= positions_.size() && plan.examples_of(examples) <= (places_.ends - places_.order) / sizeof(std::uint32_t),
        "client {} has {} examples", client.client_id, examples);
    const std::int64_t start_ns = now_ns();
    if (!process_) start();
    const ExamplesView train = visits_.dataset.train();
    const bool labels = train.target.kind != TargetKind::Numbers;
    gather_.gather(train, client.shard, part<float>(places_.x, 0).data(),
                   {.labels = labels ? part<std::int64_t>(places_.y, 0).data() : nullptr,
                    .numbers = labels ? nullptr : part<float>(places_.y, 0).data()});
    const double gather_s = seconds_between(start_ns, now_ns());
    aggregation::copy(parameters_of(0), global);
    for (const Kept& kept : kept_)
        if (kept.is_new) aggregation::copy(values_of(kept), global.part(0, kept.floats));
    const std::uint64_t order = write_order(plan, round, client);
    Stream key(plan.seed, Purpose::Dropout, round, client.client_id);  // of all draws in the steps but the order
    const std::uint64_t low = key.next_u64(), high = key.next_u64();
    const double lr = aggregation::client_rate(visits_.optimizer) * static_cast<double>(rate.lr_factor);
    const json answer = json::parse(ask(json{
        {"do", "visit"},
        {"client", client.client_id},
        {"round", round + 1},
        {"examples", examples},
        {"steps", plan.steps_of(examples)},
        {"order", order},
        {"epochs", plan.local_steps > 0 ? 0 : plan.local_epochs},
        {"batch_size", plan.batch_size},
        {"lr", lr},
        {"key", {low, high}}}.dump()));
    if (answer.contains("error")) throw TaskFailed(FailureKind::Exception, answer["error"].get<std::string>());
    if (answer["loss_sum"].is_null())
        throw TaskFailed(FailureKind::NonFinite, fmt::format("{}: the loss that visit adds is a NaN or an infinity", file_));
    if (answer["is_update"].get<bool>()) aggregation::add(parameters_of(0), global);
    zero_padding();
    reported_ = answer["reports"].get<std::vector<double>>();
    client.figures->loss_sum = answer["loss_sum"].get<double>();
    client.figures->examples = answer["counted"].get<double>();
    results[0] = {
        .steps = std::max<std::uint64_t>(1, answer["steps"].get<std::uint64_t>()), .gather_s = gather_s, .start_ns = start_ns};
}

ParamSpan PythonClients::parameters_of(std::size_t /*row*/) {
    return {part<float>(places_.vector, layout_.num_floats()).data(), layout_.num_floats(), MemorySpace::Host};
}

ParamSpan PythonClients::values_of(const Kept& kept) const {
    return {part<float>(places_.memory, memory_floats_).data() + kept.offset, kept.floats};
}

bool PythonClients::end(const aggregation::VisitMemories& memories, ReportValues& reports) const {
    for (std::size_t i = 0; i < report_places_.size(); ++i) reports[report_places_[i]] = reported_.at(i);
    for (const Kept& kept : kept_) {
        if (kept.memory->down) continue;
        const ConstParamSpan from = values_of(kept);
        if (!aggregation::all_finite(from)) return false;
        if (const ParamSpan to = memories.written(kept.name); to.size > 0) aggregation::copy(to, from);
    }
    return true;
}

void PythonClients::zero_padding() {
    const std::span<float> values = parameters_of(0).host();
    std::size_t end = 0;
    const auto zero = [&](std::size_t to) {
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(end), values.begin() + static_cast<std::ptrdiff_t>(to), 0.0F);
    };
    for (const aggregation::LayoutEntry& entry : layout_.entries()) {
        zero(entry.offset);
        end = entry.offset + entry.size;
    }
    zero(values.size());
}

}  // namespace fedhive::clients
