#include "aggregation/formulas/formula_server.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/client_numbers.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/math/host_view.h"
#include "aggregation/math/moments.h"
#include "aggregation/math/vector_ops.h"

#include <deque>
#include <utility>
#include <vector>

namespace fedhive::aggregation::formulas {

namespace {

class FormulaWeights final : public WeightRule {
public:
    FormulaWeights(const MethodFormulas& method, std::shared_ptr<CohortNumbers> numbers)
        : executor_(method.parsed(Place::Cohort)),
          names_(method),
          of_clients_(method.of_clients),
          sets_weights_(method.sets(Place::Cohort, "weight")),
          reads_root_(method.reads_root()),
          num_further_(method.num_further()),
          numbers_(std::move(numbers)) {
        set_keys(executor_, method);
    }

    Coefficients weigh(const RoundUpdates& updates) override {
        set_cohort(executor_, names_, updates);
        InnerProducts of_updates;
        if (reads_root_) set_root(executor_, updates, of_updates);
        of_clients_.give(executor_, updates);
        executor_.run({});
        executor_.set_products(nullptr);
        of_clients_.take(executor_, updates);
        Coefficients result;
        for (const Sender& sender : updates.senders) result.of_updates.push_back(sender.weight);
        *numbers_ = numbers_beside_weights(executor_);
        if (sets_weights_) result.of_updates = weights_of(executor_, updates.size());
        for (std::size_t i = 0; i < num_further_; ++i)
            result.further.push_back(weights_of(executor_, updates.size(), further_name(i)));
        return result;
    }

    std::string state() const override { return of_clients_.state(); }
    bool restore(const std::string& state) override { return of_clients_.restore(state); }

private:
    Executor executor_;
    CohortNames names_;
    ClientNumbers of_clients_;
    bool sets_weights_, reads_root_;
    std::size_t num_further_;
    std::shared_ptr<CohortNumbers> numbers_;
};

class FormulaServer final : public ServerOptimizer {
public:
    FormulaServer(const MethodFormulas& method, const ServerScene& scene, std::shared_ptr<const CohortNumbers> numbers)
        : executor_(method.of_vectors(Place::Server)),
          by_class_(method, Place::Server, ClassSizes::of(scene.memories)),
          scene_(scene),
          ranges_(ranges_of(scene.layout)),
          numbers_(std::move(numbers)),
          num_further_(method.num_further()) {
        set_keys(executor_, method);
        for (const MethodMemory& memory : method.memories) {
            if (memory.owner == MemoryOwner::Server && !memory.down)
                moments_.push_back({memory.name, static_cast<float>(memory.first), {}});
            else if (memory.down || memory.up)
                travelling_.push_back(memory.name);
            if (memory.is_number() && memory.owner == MemoryOwner::Server && method.sets(Place::Server, memory.name))
                numbers_set_.push_back(memory.name);
        }
    }

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& aggregate) override {
        check_spans(next, global, aggregate.values);
        keep_others(next, global);
        step_buffers(next, aggregate);
        executor_.set("w", scene_.memories.of(global, kModel));
        executor_.write_to("w", scene_.memories.of(next, kModel));
        executor_.set("u", scene_.memories.of(aggregate.values, kModel));
        for (const std::string& name : travelling_) {
            const bool is_server = scene_.memories.find(name)->owner == MemoryOwner::Server;
            const ConstParamSpan values = scene_.memories.of(is_server ? global : aggregate.values, name);
            if (scene_.memories.find(name)->shape == MemoryShape::Scalar) {
                const double number = HostView(values).host().front();
                executor_.set(name, number);
                by_class_.set(name, number);
                continue;
            }
            executor_.set(name, values);
            if (is_server) executor_.write_to(name, scene_.memories.of(next, name));
            if (by_class_.reads(name)) by_class_.set(name, HostView(values).host());
        }
        FEDHIVE_CHECK_EQ(aggregate.further.size(), num_further_);
        for (std::size_t i = 0; i < num_further_; ++i) bind_further(further_name(i), aggregate.further[i]);
        for (Kept& kept : moments_) {
            const ParamSpan values = prepare_moment(kept.values, global, kept.first);
            executor_.set(kept.name, ConstParamSpan(values));
            executor_.write_to(kept.name, values);
        }
        const auto set = [&](const std::string& name, double value) {
            executor_.set(name, value);
            by_class_.set(name, value);
        };
        set("round", static_cast<double>(aggregate.round));
        set("clients", static_cast<double>(scene_.num_clients));
        set("received", static_cast<double>(aggregate.clients));
        for (const auto& [name, value] : *numbers_) set(name, value);
        executor_.run(ranges_);
        by_class_.run();
        for (const auto& [name, values] : by_class_.results()) copy(scene_.memories.of(next, name), values);
        for (const std::string& name : numbers_set_) {
            const auto value = static_cast<float>(executor_.number(name));
            copy(scene_.memories.of(next, name), ConstParamSpan{&value, 1, MemorySpace::Host});
        }
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

    /// The sum by a further weight: of the updates, and of what comes up beside them.
    void bind_further(const std::string& weight, ConstParamSpan sum) {
        executor_.set(weight + ".u", scene_.memories.of(sum, kModel));
        for (const Memory& memory : scene_.memories.all()) {
            if (!memory.up) continue;
            const std::string name = weight + "." + std::string(memory.name());
            const ConstParamSpan values = scene_.memories.of(sum, memory.name());
            executor_.set(name, values);
            if (by_class_.reads(name)) by_class_.set(name, HostView(values).host());
        }
    }

    /// next <- global where no formula writes: padding, buffers, memories that travel.
    void keep_others(ParamSpan next, ConstParamSpan global) const {
        std::size_t end = 0;
        const auto keep = [&](std::size_t first) {
            if (first > end) copy(next.part(end, first - end), global.part(end, first - end));
        };
        for (const ElementRange& range : ranges_) {
            keep(range.first);
            end = range.first + range.width;
        }
        keep(next.size);
    }

    /// Call after keep_others(), which has copied the buffers.
    void step_buffers(ParamSpan next, const Aggregate& aggregate) const {
        const std::size_t first = scene_.layout.num_trainable(), width = scene_.layout.num_floats() - first;
        if (width == 0) return;
        add(next.part(first, width), aggregate.values.part(first, width));
    }

    Executor executor_;
    ClassFormulas by_class_;
    ServerScene scene_;
    std::vector<ElementRange> ranges_;
    std::shared_ptr<const CohortNumbers> numbers_;
    std::size_t num_further_;
    std::deque<Kept> moments_{};                             // a deque: names keep their places
    std::vector<std::string> travelling_{}, numbers_set_{};  // numbers_set_: memories
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
