#include "sim/plan/worker_choice.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace fedhive::sim {

namespace {

constexpr double kAsGood = 0.97;  // relative to the fastest
constexpr std::size_t kMostTurns = 7;

constexpr std::array<std::pair<ChosenBy, const char*>, 5> kNames{{{ChosenBy::Config, "config"},
                                                                  {ChosenBy::Cores, "cores"},
                                                                  {ChosenBy::Probe, "probe"},
                                                                  {ChosenBy::Cache, "cache"},
                                                                  {ChosenBy::Before, "before"}}};

std::vector<std::uint32_t> descending(std::vector<std::uint32_t> numbers) {
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

std::vector<std::uint32_t> candidates_on_cores(std::uint32_t cores) {
    std::vector<std::uint32_t> numbers{cores};
    for (const std::uint32_t quarters : {3U, 2U, 1U})
        if (cores * quarters >= 4) numbers.push_back(cores * quarters / 4);
    return descending(std::move(numbers));
}

std::vector<std::uint32_t> candidates_on_device(std::uint32_t most) {
    std::vector<std::uint32_t> numbers{most};
    for (std::uint32_t number = 1; number < most; number *= 2) numbers.push_back(number);
    return descending(std::move(numbers));
}

double probe_budget_s(double run_s) {
    const double budget_s = std::min(kMostProbe_s, kShareOfRun * run_s);
    return budget_s < kLeastProbe_s ? 0.0 : budget_s;
}

std::vector<Throughput> measure_in_turns(const std::vector<std::uint32_t>& candidates,
                                         const std::function<double(std::uint32_t)>& try_one,
                                         const std::function<double()>& elapsed_s, double budget_s) {
    std::vector<std::vector<double>> seen(candidates.size());
    double longest_s = 0.0;
    for (std::size_t turn = 0; turn <= kMostTurns; ++turn) {
        const double start_s = elapsed_s();
        if (start_s + longest_s > budget_s) break;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const double steps_per_s = try_one(candidates[i]);
            if (turn > 0) seen[i].push_back(steps_per_s);
        }
        longest_s = std::max(longest_s, elapsed_s() - start_s);
    }
    std::vector<Throughput> measured;
    if (candidates.empty() || seen[0].size() < 2) return measured;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        measured.push_back({.workers = candidates[i], .steps_per_s = median(seen[i])});
    return measured;
}

Throughput fewest_of_the_fastest(const std::vector<Throughput>& measured) {
    double fastest = 0.0;
    for (const Throughput& one : measured) fastest = std::max(fastest, one.steps_per_s);
    const Throughput* best = nullptr;
    for (const Throughput& one : measured) {
        if (one.steps_per_s < kAsGood * fastest) continue;
        if (best == nullptr || std::pair(one.workers, one.mps) < std::pair(best->workers, best->mps)) best = &one;
    }
    return *best;
}

std::string describe(const WorkerChoice& choice) {
    if (choice.measured.empty()) return "";
    std::string text = choice.by == ChosenBy::Probe ? "measured" : "measured earlier";
    if (choice.disturbed) text += " beside other programs";
    const char* unit = " steps/s";
    for (const Throughput& one : choice.measured) {
        text += fmt::format("{} {}{} → {:.3g}{}", &one == &choice.measured.front() ? "" : ",", one.workers,
                            one.mps ? " with mps" : "", one.steps_per_s, unit);
        unit = "";
    }
    return text;
}

nlohmann::json to_json(const WorkerChoice& choice) {
    if (choice.by == ChosenBy::Config) return nullptr;
    nlohmann::json measured = nlohmann::json::array();
    for (const Throughput& one : choice.measured)
        measured.push_back({{"workers", one.workers}, {"mps", one.mps}, {"steps_per_s", one.steps_per_s}});
    const auto* name = std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) { return known.first == choice.by; });
    return {{"by", name->second},
            {"mps", choice.mps},
            {"measured", measured},
            {"cost_s", choice.cost_s},
            {"disturbed", choice.disturbed}};
}

std::optional<WorkerChoice> choice_from(const nlohmann::json& json, std::uint32_t workers) {
    try {
        WorkerChoice choice;
        const auto by = json.at("by").get<std::string>();
        const auto* name = std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) { return known.second == by; });
        if (name == kNames.end()) return std::nullopt;
        choice.by = name->first;
        choice.workers = workers;
        choice.mps = json.at("mps").get<bool>();
        choice.cost_s = json.at("cost_s").get<double>();
        choice.disturbed = json.value("disturbed", false);
        for (const nlohmann::json& one : json.at("measured"))
            choice.measured.push_back(
                {one.at("workers").get<std::uint32_t>(), one.at("mps").get<bool>(), one.at("steps_per_s").get<double>()});
        return choice;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace fedhive::sim
