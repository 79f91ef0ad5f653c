#include "sim/round/python_rule.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/protocol/python_process.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

using aggregation::Aggregate;
using aggregation::Arena;
using aggregation::Coefficients;
using aggregation::ColumnRule;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using aggregation::RoundUpdates;
using aggregation::Sender;
using aggregation::SharedSegment;
using aggregation::Update;
using nlohmann::json;

namespace {

/// The Python process, asked by one JSON object a line.
class RuleProcess {
public:
    RuleProcess(const RuleFile& file, const std::string& keys)
        : key_(file.key), name_(file.file.string()), python_({.module = "fedhive.rule", .file = name_}) {
        ask({{"do", "begin"}, {"source", file.source}, {"keys", json::parse(keys)}});
    }

    /// Throws ConfigError with the file's own error, Fault if there is no answer.
    json ask(const json& request) {
        const std::int64_t start = now_ns();
        json answer = json::parse(python_.ask(request.dump(), [&] {
            if (seconds_between(start, now_ns()) > kLongestRule)
                throw Fault(fmt::format("{} has taken longer than {} s for a round", name_, kLongestRule));
        }));
        if (answer.contains("error")) throw ConfigError(fmt::format("{}: {}", key_, answer["error"].get<std::string>()));
        return answer;
    }

private:
    std::string key_, name_;
    clients::PythonProcess python_;
};

json tensors_of(const aggregation::Layout& layout) {
    json tensors = json::array();
    for (const aggregation::LayoutEntry& entry : layout.entries())
        tensors.push_back({entry.name, entry.offset, entry.size, entry.shape});
    return tensors;
}

class PythonRule {
public:
    PythonRule(RuleFile file, std::string keys, std::vector<std::string> reports, const Arena& arena,
               const aggregation::Layout& slot)
        : file_(std::move(file)),
          keys_(std::move(keys)),
          reports_(std::move(reports)),
          arena_(arena),
          slot_(slot),
          tensors_(tensors_of(slot)) {}

    void note(const RoundUpdates& updates) {
        senders_.assign(updates.senders.begin(), updates.senders.end());
        num_clients_ = updates.num_clients;
        round_ = updates.round;
    }

    /// [P], valid until the next call.
    ParamSpan combine(const std::vector<Update>& updates) {
        FEDHIVE_CHECK_EQ(updates.size(), senders_.size());
        const std::size_t floats = updates.front().values.size;
        if (!result_ || result_->size() < floats * sizeof(float)) result_.emplace("fedhive-rule", floats * sizeof(float));
        process().ask({{"do", "aggregate"},
                       {"round", round_ + 1},
                       {"num_clients", num_clients_},
                       {"floats", floats},
                       {"rows", rows_of(updates)},
                       {"out", result_->descriptor()},
                       {"tensors", tensors_},
                       {"clients", clients_of()}});
        const ParamSpan aggregate{reinterpret_cast<float*>(result_->data()), floats, MemorySpace::Host};
        zero_padding(aggregate.host());
        return aggregate;
    }

    std::string state() { return process_ ? process().ask({{"do", "state"}})["state"].get<std::string>() : restored_; }
    void restore(const std::string& state) {
        restored_ = state;
        process_.reset();
    }

private:
    RuleProcess& process() {
        if (!process_) {
            process_.emplace(file_, keys_);
            if (!restored_.empty()) process_->ask({{"do", "restore"}, {"state", restored_}});
        }
        return *process_;
    }

    void zero_padding(std::span<float> values) const {
        std::size_t end = 0;
        for (const aggregation::LayoutEntry& entry : slot_.entries()) {
            std::fill(values.begin() + static_cast<std::ptrdiff_t>(end),
                      values.begin() + static_cast<std::ptrdiff_t>(entry.offset), 0.0F);
            end = entry.offset + entry.size;
        }
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(end), values.end(), 0.0F);
    }

    /// [descriptor, [offset in bytes of each row]]
    json rows_of(const std::vector<Update>& updates) {
        const auto* base = reinterpret_cast<const std::byte*>(arena_.global(0).data);
        const std::size_t bytes = arena_.geometry().total_bytes();
        const auto offset_of = [&](const Update& update) {
            return reinterpret_cast<std::uintptr_t>(update.values.data) - reinterpret_cast<std::uintptr_t>(base);
        };
        std::vector<std::size_t> offsets;
        offsets.reserve(updates.size());
        for (const Update& update : updates) offsets.push_back(offset_of(update));
        if (std::all_of(offsets.begin(), offsets.end(), [&](std::size_t offset) { return offset < bytes; }))
            return {arena_.descriptor(), offsets};
        const std::size_t row = updates.front().values.size * sizeof(float);
        if (!copies_ || copies_->size() < row * updates.size()) copies_.emplace("fedhive-rule-rows", row * updates.size());
        for (std::size_t k = 0; k < updates.size(); ++k) {
            offsets[k] = k * row;
            std::memcpy(copies_->data() + offsets[k], updates[k].values.data, row);
        }
        return {copies_->descriptor(), offsets};
    }

    json clients_of() const {
        json clients;
        for (const Sender& sender : senders_) {
            clients["id"].push_back(sender.client_id);
            clients["n"].push_back(sender.num_examples);
            clients["steps"].push_back(sender.steps);
            clients["loss"].push_back(sender.train_loss);
            clients["norm"].push_back(sender.update_norm);
            clients["weight"].push_back(sender.weight);
            for (std::size_t i = 0; i < reports_.size(); ++i) clients[reports_[i]].push_back(sender.reports.at(i));
        }
        return clients;
    }

    RuleFile file_;
    std::string keys_;                  // as JSON
    std::vector<std::string> reports_;  // what clients tell, by name
    const Arena& arena_;
    aggregation::Layout slot_;
    json tensors_;
    std::optional<RuleProcess> process_{};
    std::string restored_{};
    std::vector<Sender> senders_{};  // of the round
    std::uint64_t num_clients_ = 0, round_ = 0;
    std::optional<SharedSegment> result_{}, copies_{};
};

class RuleWeights final : public aggregation::WeightRule {
public:
    explicit RuleWeights(std::shared_ptr<PythonRule> rule) : rule_(std::move(rule)) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        rule_->note(updates);
        return {.of_updates = std::vector<double>(updates.size(), 1.0)};
    }
    std::string state() const override { return rule_->state(); }
    bool restore(const std::string& state) override {
        rule_->restore(state);
        return true;
    }

private:
    std::shared_ptr<PythonRule> rule_;
};

class RuleAggregator final : public aggregation::Aggregator {
public:
    explicit RuleAggregator(std::shared_ptr<PythonRule> rule) : rule_(std::move(rule)) {}

    ColumnRule column_rule() const override { return ColumnRule::None; }
    void zero_init(std::size_t num_floats, MemorySpace space) override { updates_.reset(num_floats, space); }
    void aggregate(const Update& update) override { updates_.add_one_client(update, "strategy.rule"); }
    Aggregate finish() override { return {rule_->combine(updates_.all()), updates_.weight(), updates_.num_clients()}; }

private:
    std::shared_ptr<PythonRule> rule_;
    aggregation::UpdateList updates_;
};

}  // namespace

void take_rule(Strategy& strategy, const RuleFile& file, const Values& keys, const Arena& arena,
               const aggregation::Layout& slot) {
    if (arena.space() != MemorySpace::Host)
        throw ConfigError(fmt::format("{}: {} reads updates in host memory; set device: cpu", file.key, file.file.string()));
    auto rule = std::make_shared<PythonRule>(file, keys_as_json(file, keys), strategy.reports, arena, slot);
    strategy.weight_rule = std::make_unique<RuleWeights>(rule);
    strategy.aggregator = std::make_unique<RuleAggregator>(rule);
}

}  // namespace fedhive::sim
