#include "aggregation/formulas/cohort_values.h"

namespace fedhive::aggregation::formulas {

void set_keys(Executor& executor, const MethodFormulas& method) {
    for (const auto& [name, value] : method.keys) executor.set(name, value);
}

std::vector<std::string> server_numbers_of(const MethodFormulas& method) {
    std::vector<std::string> names;
    for (const MethodMemory& memory : method.memories)
        if (memory.is_number() && memory.owner == MemoryOwner::Server) names.push_back(memory.name);
    return names;
}

void set_cohort(Executor& executor, const CohortNames& names, const RoundUpdates& updates) {
    const auto each = [&](const auto& value) {
        Numbers values;
        for (const Sender& sender : updates.senders) values.push_back(value(sender));
        return values;
    };
    executor.set("k.n", each([](const Sender& one) { return static_cast<double>(one.num_examples); }));
    executor.set("k.steps", each([](const Sender& one) { return static_cast<double>(one.steps); }));
    executor.set("k.loss", each([](const Sender& one) { return one.train_loss; }));
    executor.set("k.norm", each([](const Sender& one) { return one.update_norm; }));
    executor.set("k.sent_loss", each([](const Sender& one) { return one.sent_loss; }));
    for (std::size_t r = 0; r < names.reports.size(); ++r)
        executor.set("k." + names.reports[r], each([&](const Sender& one) { return one.reports.at(r); }));
    executor.set("round", static_cast<double>(updates.round));
    executor.set("clients", static_cast<double>(updates.num_clients));
    executor.set("received", static_cast<double>(updates.size()));
    for (std::size_t i = 0; i < updates.server_numbers.size(); ++i)
        executor.set(names.numbers.at(i), updates.server_numbers[i]);
    executor.set_products(updates.products);
}

void set_root(Executor& executor, const RoundUpdates& updates, InnerProducts& of_updates) {
    const std::size_t root = updates.root_row();
    Numbers dots, cosines;
    for (std::size_t k = 0; k < updates.size(); ++k) {
        dots.push_back(updates.products->dot(k, root));
        cosines.push_back(updates.products->cosine(k, root));
    }
    executor.set(kDotRoot, dots);
    executor.set(kCosRoot, cosines);
    executor.set(kRootNorm, updates.products->norm(root));
    of_updates = updates.products->first_rows(updates.size());
    executor.set_products(&of_updates);
}

CohortNumbers numbers_beside_weights(const Executor& executor) {
    CohortNumbers numbers;
    for (const Target& target : executor.program().formulas.targets)
        if (target.shape == Shape::Number) numbers.emplace(target.name, executor.number(target.name));
    return numbers;
}

Numbers weights_of(const Executor& executor, std::size_t count, std::string_view target) {
    const Numbers& weights = executor.numbers(target);
    return weights.size() == count ? weights : Numbers(count, weights.front());
}

}  // namespace fedhive::aggregation::formulas
