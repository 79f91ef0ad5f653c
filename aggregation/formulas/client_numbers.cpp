#include "aggregation/formulas/client_numbers.h"

#include "aggregation/base/take_number.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/math/simplex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedhive::aggregation::formulas {

void ClientNumbers::add_to(Scope& scope) const {
    for (const RememberedNumber& kind : kinds_) {
        scope.given.emplace("k." + kind.name, Shape::Cohort);
        scope.targets.emplace("k." + kind.name, Shape::Cohort);
    }
}

void ClientNumbers::give(Executor& executor, const RoundUpdates& updates) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
        if (kinds_[i].on_simplex && numbers_.size() < updates.num_clients) {
            for (std::uint32_t client = 0; client < updates.num_clients; ++client) of(client);
            project(i);
        }
        Numbers of_cohort;
        for (const Sender& sender : updates.senders) {
            const auto known = numbers_.find(sender.client_id);
            of_cohort.push_back(known != numbers_.end() ? known->second[i] : kinds_[i].first);
        }
        executor.set("k." + kinds_[i].name, of_cohort);
    }
}

void ClientNumbers::take(const Executor& executor, const RoundUpdates& updates) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
        const std::string name = "k." + kinds_[i].name;
        if (std::ranges::none_of(executor.program().formulas.targets, [&](const Target& one) { return one.name == name; }))
            continue;
        const Numbers of_cohort = weights_of(executor, updates.size(), name);
        for (std::size_t k = 0; k < updates.size(); ++k) {
            of(updates.senders[k].client_id)[i] = of_cohort[k];
        }
        if (kinds_[i].on_simplex) project(i);
    }
}

/// The client's numbers; of one that was not there, the first ones.
std::vector<double>& ClientNumbers::of(std::uint32_t client) {
    std::vector<double>& own = numbers_[client];
    if (own.empty())
        for (const RememberedNumber& kind : kinds_) own.push_back(kind.first);
    return own;
}

void ClientNumbers::project(std::size_t kind) {
    std::vector<double> point;
    for (const auto& [client, numbers] : numbers_) point.push_back(numbers[kind]);
    point = onto_simplex(point);
    auto next = point.begin();
    for (auto& [client, numbers] : numbers_) numbers[kind] = *next++;
}

/// Each number in the shortest form that is read back exactly.
std::string ClientNumbers::state() const {
    std::string text;
    for (const auto& [client, numbers] : numbers_) {
        text += fmt::format("{},", client);
        for (const double number : numbers) text += fmt::format("{},", number);
    }
    return text;
}

bool ClientNumbers::restore(const std::string& state) {
    numbers_.clear();
    std::string_view text = state;
    while (!text.empty()) {
        double client = 0.0;
        if (kinds_.empty() || !take_number(text, ',', client)) return false;
        if (!(client >= 0.0 && client <= std::numeric_limits<std::uint32_t>::max()) || client != std::floor(client))
            return false;
        std::vector<double> numbers(kinds_.size());
        for (double& number : numbers)
            if (!take_number(text, ',', number) || !std::isfinite(number)) return false;
        numbers_[static_cast<std::uint32_t>(client)] = std::move(numbers);
    }
    return true;
}

}  // namespace fedhive::aggregation::formulas
