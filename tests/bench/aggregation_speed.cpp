// Speed of aggregation alone: each rule over K updates of P floats, compared with a copy on this machine in the same minute.
//
//   aggregation_speed cpu|cuda RULE P K REPEATS
//
// RULE: mean, median, trimmed_mean (a tenth at each end); products (inner products of all pairs); each of them followed by _by_two:
// two threads over ranges of columns, as two workers take them; distances: the products by a pass over each pair, for comparison.
// Prints for each repeat {"rule_s": …, "copy_s": …}: seconds of the rule, and of a copy in one thread that moves as many bytes,
// 4 * P * (K + 1).
#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/gram.h"
#include "aggregation/math/inner_products.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/trimmed_mean.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

using Buffers = std::vector<ParamBuffer>;

/// What is measured, over all updates.
using Rule = std::function<void(const Buffers& updates)>;

/// The rule over columns [begin, end) of each update.
void take(Aggregator& rule, const Buffers& updates, std::size_t begin, std::size_t end) {
    rule.zero_init(end - begin, updates.front().span().space);
    for (std::size_t k = 0; k < updates.size(); ++k)
        rule.aggregate({.values = updates[k].span().part(begin, end - begin), .position = k});
    FEDHIVE_CHECK_EQ(rule.finish().clients, updates.size());
}

using MakeAggregator = std::function<std::unique_ptr<Aggregator>()>;

Rule of_aggregator(const MakeAggregator& make_one) {
    return [rule = std::shared_ptr<Aggregator>(make_one())](const Buffers& updates) {
        take(*rule, updates, 0, updates.front().span().size);
    };
}

Rule by_two(const MakeAggregator& make_one) {
    return [first = std::shared_ptr<Aggregator>(make_one()),
            second = std::shared_ptr<Aggregator>(make_one())](const Buffers& updates) {
        const std::size_t size = updates.front().span().size, half = size / 2 / 16 * 16;
        std::thread other([&] { take(*second, updates, half, size); });
        take(*first, updates, 0, half);
        other.join();
    };
}

void take_products(const Buffers& updates) {
    const std::vector<ConstParamSpan> rows(updates.begin(), updates.end());
    FEDHIVE_CHECK(inner_products_of(rows, 0).norm(0) > 0.0, "no norm");
}

/// The products of every second range of columns from `first` on, range after range.
void take_ranges(const std::vector<const float*>& rows, std::size_t num_floats, MemorySpace space, std::size_t first,
                 std::vector<std::vector<double>>& values) {
    std::vector<const float*> columns(rows.size());
    for (std::size_t range = first; range < values.size(); range += 2) {
        const std::size_t begin = range * kGramColumns;
        for (std::size_t k = 0; k < rows.size(); ++k) columns[k] = rows[k] + begin;
        gram(columns, 0, std::min(kGramColumns, num_floats - begin), space, values[range]);
    }
}

void take_products_by_two(const Buffers& updates) {
    const std::size_t num_floats = updates.front().span().size;
    const MemorySpace space = updates.front().span().space;
    std::vector<const float*> rows;
    for (const ParamBuffer& update : updates) rows.push_back(update.span().data);
    std::vector<std::vector<double>> values((num_floats + kGramColumns - 1) / kGramColumns,
                                            std::vector<double>(gram_values(rows.size())));
    std::thread other([&] { take_ranges(rows, num_floats, space, 1, values); });
    take_ranges(rows, num_floats, space, 0, values);
    other.join();
    InnerProducts products(rows.size(), 0);
    for (const std::vector<double>& of_range : values) products.add(of_range);
    FEDHIVE_CHECK(products.norm(0) > 0.0, "no norm");
}

/// A pass over each pair of updates, as Krum took its distances before there were inner products.
void take_distances(const Buffers& updates) {
    ParamBuffer difference(updates.front().span().size, updates.front().span().space);
    for (std::size_t i = 0; i < updates.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            FEDHIVE_CHECK(write_update(difference, updates[i], updates[j]).norm > 0.0, "no distance");
}

const std::map<std::string, Rule>& known_rules() {
    const MakeAggregator trimmed_mean = [] { return make_trimmed_mean(0.1); };
    static const std::map<std::string, Rule> known = {
        {"mean", of_aggregator(make_mean)},
        {"mean_by_two", by_two(make_mean)},
        {"median", of_aggregator(make_median)},
        {"median_by_two", by_two(make_median)},
        {"trimmed_mean", of_aggregator(trimmed_mean)},
        {"trimmed_mean_by_two", by_two(trimmed_mean)},
        {"products", take_products},
        {"products_by_two", take_products_by_two},
        {"distances", take_distances},
    };
    return known;
}

Rule make(const std::string& name) {
    const auto found = known_rules().find(name);
    if (found != known_rules().end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, rule] : known_rules()) names.push_back(known);
    throw ConfigError(fmt::format("there is no rule '{}'; known: {}", name, fmt::join(names, ", ")));
}

MemorySpace space_of(const std::string& device) {
    if (device == "cpu") return MemorySpace::Host;
    if (device == "cuda") return MemorySpace::Cuda;
    throw ConfigError(fmt::format("there is no device '{}'; known: cpu, cuda", device));
}

Buffers draw_updates(std::size_t num_floats, std::size_t clients, MemorySpace space) {
    Buffers updates;
    std::vector<float> drawn(num_floats);
    for (std::size_t k = 0; k < clients; ++k) {
        Stream stream(1, Purpose::TrainData, 0, static_cast<std::uint32_t>(k));
        for (float& value : drawn) value = static_cast<float>(stream()) * 0x1p-32F - 0.5F;
        updates.emplace_back(num_floats, space);
        copy(updates.back(), drawn);
    }
    return updates;
}

/// Seconds until `work` is done, including the device.
template <typename Work>
double seconds_of(MemorySpace space, Work work) {
    synchronize(space);
    const std::int64_t start = now_ns();
    work();
    synchronize(space);
    return seconds_between(start, now_ns());
}

/// Copies (K + 1) / 2 updates, each to its own destination: half of the bytes are read, half written.
void copy_as_many(Buffers& to, const Buffers& from, std::size_t num_floats) {
    std::size_t left = num_floats * (from.size() + 1) / 2;
    for (std::size_t k = 0; left > 0; ++k) {
        const std::size_t count = std::min(left, num_floats);
        copy(to[k].span().first(count), from[k].span().first(count));
        left -= count;
    }
}

void measure(MemorySpace space, const std::string& rule, std::size_t num_floats, std::size_t clients, int repeats) {
    const Rule work = make(rule);
    const Buffers updates = draw_updates(num_floats, clients, space);
    Buffers copies;
    for (std::size_t k = 0; k < clients / 2 + 1; ++k) copies.emplace_back(num_floats, space);
    for (int repeat = 0; repeat <= repeats; ++repeat) {
        const double rule_s = seconds_of(space, [&] { work(updates); });
        const double copy_s = seconds_of(space, [&] { copy_as_many(copies, updates, num_floats); });
        if (repeat > 0) fmt::print("{{\"rule_s\": {:.9f}, \"copy_s\": {:.9f}}}\n", rule_s, copy_s);  // repeat 0 is the warm-up
    }
}

}  // namespace

int main(int argc, char** argv) {
    const long num_floats = argc == 6 ? std::atol(argv[3]) : 0;
    const long clients = argc == 6 ? std::atol(argv[4]) : 0;
    if (num_floats < 1 || clients < 2) {
        fmt::print(stderr, "usage: aggregation_speed cpu|cuda RULE P K REPEATS, K from 2\n");
        return 2;
    }
    try {
        measure(space_of(argv[1]), argv[2], static_cast<std::size_t>(num_floats), static_cast<std::size_t>(clients),
                std::atoi(argv[5]));
    } catch (const ConfigError& error) {
        fmt::print(stderr, "aggregation_speed: {}\n", error.what());
        return 2;
    }
    return 0;
}
