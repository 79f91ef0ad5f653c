#include "aggregation/formulas/formula_server.h"

#include "aggregation/base/error.h"
#include "aggregation/math/moments.h"
#include "aggregation/math/vector_ops.h"

#include <deque>
#include <utility>
#include <vector>

namespace fedhive::aggregation::formulas {

namespace {

void set_keys(Executor& executor, const MethodFormulas& method) {
    for (const auto& [name, value] : method.keys) executor.set(name, value);
}

class FormulaWeights final : public WeightRule {
public:
    FormulaWeights(const MethodFormulas& method, std::shared_ptr<CohortNumbers> numbers)
        : executor_(method.parsed(Place::Cohort)), reports_(method.reports), numbers_(std::move(numbers)) {
        set_keys(executor_, method);
    }

    Coefficients weigh(const RoundUpdates& updates) override {
        const auto each = [&](const auto& value) {
            Numbers values;
            for (const Sender& sender : updates.senders) values.push_back(value(sender));
            return values;
        };
        executor_.set("k.n", each([](const Sender& one) { return static_cast<double>(one.num_examples); }));
        executor_.set("k.steps", each([](const Sender& one) { return static_cast<double>(one.steps); }));
        executor_.set("k.loss", each([](const Sender& one) { return one.train_loss; }));
        executor_.set("k.norm", each([](const Sender& one) { return one.update_norm; }));
        executor_.set("k.sent_loss", each([](const Sender& one) { return one.sent_loss; }));
        for (std::size_t r = 0; r < reports_.size(); ++r)
            executor_.set("k." + reports_[r], each([&](const Sender& one) { return one.reports.at(r); }));
        executor_.set("round", static_cast<double>(updates.round));
        executor_.set("clients", static_cast<double>(updates.num_clients));
        executor_.set("received", static_cast<double>(updates.size()));
        executor_.set_products(updates.products);
        executor_.run({});
        Coefficients result;
        for (const Sender& sender : updates.senders) result.of_updates.push_back(sender.weight);
        numbers_->clear();
        for (const Target& target : executor_.program().formulas.targets) {
            if (target.name != "weight")
                numbers_->emplace(target.name, executor_.number(target.name));
            else
                result.of_updates = spread(executor_.numbers("weight"), updates.size());
        }
        return result;
    }

private:
    static Numbers spread(const Numbers& weights, std::size_t count) {
        return weights.size() == count ? weights : Numbers(count, weights.front());
    }

    Executor executor_;
    std::vector<std::string> reports_;
    std::shared_ptr<CohortNumbers> numbers_;
};

class FormulaServer final : public ServerOptimizer {
public:
    FormulaServer(const MethodFormulas& method, const ServerScene& scene, std::shared_ptr<const CohortNumbers> numbers)
        : executor_(method.parsed(Place::Server)),
          scene_(scene),
          ranges_(ranges_of(scene.layout)),
          buffers_mean_(make_server_sgd({})),
          numbers_(std::move(numbers)) {
        set_keys(executor_, method);
        for (const MethodMemory& memory : method.memories) {
            if (memory.owner == MemoryOwner::Server && !memory.down)
                moments_.push_back({memory.name, static_cast<float>(memory.first), {}});
            else if (memory.down || memory.up)
                travelling_.push_back(memory.name);
        }
    }

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) override {
        check_spans(next, global, aggregate.values);
        copy(next, global);
        step_buffers(next, global, aggregate);
        executor_.set("w", scene_.memories.of(global, kModel));
        executor_.write_to("w", scene_.memories.of(next, kModel));
        executor_.set("u", scene_.memories.of(aggregate.values, kModel));
        for (const std::string& name : travelling_) {
            const bool is_server = scene_.memories.find(name)->owner == MemoryOwner::Server;
            executor_.set(name, scene_.memories.of(is_server ? global : aggregate.values, name));
            if (is_server) executor_.write_to(name, scene_.memories.of(next, name));
        }
        for (Kept& kept : moments_) {
            const ParamSpan values = prepare_moment(kept.values, global, kept.first);
            executor_.set(kept.name, ConstParamSpan(values));
            executor_.write_to(kept.name, values);
        }
        executor_.set("round", static_cast<double>(aggregate.round));
        executor_.set("clients", static_cast<double>(scene_.num_clients));
        executor_.set("received", static_cast<double>(aggregate.clients));
        for (const auto& [name, value] : *numbers_) executor_.set(name, value);
        executor_.run(ranges_);
    }

    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        std::vector<Moment> all;
        for (Kept& kept : moments_)
            all.push_back({kept.name.c_str(), prepare_moment(kept.values, {nullptr, num_floats, space}, kept.first)});
        return all;
    }

private:
    struct Kept {
        std::string name;
        float first = 0.0F;
        ParamBuffer values{};
    };

    void step_buffers(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) {
        const std::size_t first = scene_.layout.num_trainable(), width = scene_.layout.num_floats() - first;
        if (width == 0) return;
        buffers_mean_->step(next.part(first, width), global.part(first, width),
                            {aggregate.values.part(first, width), aggregate.weight, aggregate.clients});
    }

    Executor executor_;
    ServerScene scene_;
    std::vector<Range> ranges_;
    std::unique_ptr<ServerOptimizer> buffers_mean_;
    std::shared_ptr<const CohortNumbers> numbers_;
    std::deque<Kept> moments_{};  // a deque: names keep their places
    std::vector<std::string> travelling_{};
};

}  // namespace

std::unique_ptr<WeightRule> make_formula_weights(const MethodFormulas& method, std::shared_ptr<CohortNumbers> numbers) {
    return std::make_unique<FormulaWeights>(method, std::move(numbers));
}

std::unique_ptr<ServerOptimizer> make_formula_server(const MethodFormulas& method, const ServerScene& scene,
                                                     std::shared_ptr<const CohortNumbers> numbers) {
    return std::make_unique<FormulaServer>(method, scene, std::move(numbers));
}

}  // namespace fedhive::aggregation::formulas
