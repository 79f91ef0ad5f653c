#include "sim/fleet/chunk_work.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "sim/ranks/bytes.h"

#include <algorithm>

namespace fedhive::sim {

using clients::Task;
using clients::TaskKind;

namespace {

/// Before the first round, round is -1, and the task names round 0.
std::uint32_t told_round(std::int64_t round) { return static_cast<std::uint32_t>(std::max<std::int64_t>(0, round)); }

/// Clients per chunk such that their held-out examples number about options.test_chunk.
std::uint64_t clients_per_chunk(const FleetOptions& options, const clients::DatasetMap& data) {
    if (options.evaluated_clients.empty()) return 1;
    return std::max<std::uint64_t>(1, options.test_chunk * data.num_clients / std::max<std::uint64_t>(1, data.num_held_out));
}

/// 1 client per chunk; more only if that would exceed kMostChunks.
std::uint64_t one_per_chunk(std::uint64_t clients) {
    constexpr std::uint64_t kMostChunks = 4096;
    return std::max<std::uint64_t>(1, divide_up(clients, kMostChunks));
}

}  // namespace

std::uint64_t most_chunks(const FleetOptions& options, const clients::DatasetMap& data,
                          const aggregation::ArenaGeometry& arena) {
    const std::uint64_t clients = options.evaluated_clients.size();
    return std::max({divide_up(data.num_test, options.test_chunk), divide_up(data.num_triggered, options.test_chunk),
                     num_ranges(arena), divide_up(clients, clients_per_chunk(options, data)),
                     options.personalized ? divide_up(clients, one_per_chunk(clients)) : 0,
                     divide_up(options.most_measured, one_per_chunk(options.most_measured)),
                     options.cross_losses ? options.slots.num_slots(options.mode) : 0});
}

/// This rank's range of [0, total).
ChunkWork::Part ChunkWork::part_of(std::uint64_t total, std::uint64_t size) const {
    const Ranks& ranks = *options_.ranks;
    const std::uint64_t chunks = divide_up(total, size);
    return {ranks.begin_of(chunks) * size, std::min(total, ranks.end_of(chunks) * size), size};
}

/// This rank's range of these clients. With per-client state (it may hold a part of the model): the clients it trains.
ChunkWork::Part ChunkWork::clients_part(const std::vector<std::uint32_t>& clients, const clients::DatasetMap& data,
                                        std::uint64_t size) const {
    if (!options_.by_client) return part_of(clients.size(), size);
    const Ranks& ranks = *options_.ranks;
    const auto first_of = [&](std::uint32_t rank) {
        const auto is_before = [&](std::uint32_t client) { return ranks.owner_of(client, data.num_clients) < rank; };
        return static_cast<std::uint64_t>(std::partition_point(clients.begin(), clients.end(), is_before) - clients.begin());
    };
    return {first_of(ranks.rank()), first_of(ranks.rank() + 1), size};
}

/// Puts one task per chunk on the board and waits for all of them. Returns their number.
std::size_t ChunkWork::run(const Task& task, const Part& part) {
    const std::vector<std::size_t> cells = chunks_.put(task, part.first, part.end, part.size);
    if (cells.empty()) return 0;
    board_.ring();
    try {
        wait_.until([&] { return Awaited{cells, cells.size()}; }, kGrace);
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);
    }
    return cells.size();
}

std::vector<clients::EvaluationSums> ChunkWork::evaluate(const ServerState& server, std::uint64_t first, std::uint64_t count) {
    Task task;
    task.kind = TaskKind::Evaluate;
    task.round = told_round(server.round);
    task.global_index = server.global_index;
    task.deadline_s = deadlines_.of_chunk();
    const Part part = part_of(count, options_.test_chunk);
    const std::size_t num_chunks = run(task, {first + part.first, first + part.end, part.size});
    learn(num_chunks);
    std::vector<clients::EvaluationSums> results;
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) results.emplace_back(sums_).add(board_.chunk_sums(chunk));
    return of_all_ranks(std::move(results), sums_, reports_.patience_with_chunks(num_chunks + 1));
}

/// The results of all ranks, in rank order.
std::vector<clients::EvaluationSums> ChunkWork::of_all_ranks(std::vector<clients::EvaluationSums> mine,
                                                             const clients::SumsPlan& plan, const Patience& patience) const {
    Ranks& ranks = *options_.ranks;
    if (ranks.is_alone()) return mine;
    BytesWriter bytes;
    for (const clients::EvaluationSums& one : mine)
        for (const double value : one.values()) bytes.put(value);
    std::vector<clients::EvaluationSums> all;
    std::vector<double> values(plan.size());
    try {
        for (const std::string& theirs : ranks.all_gather(bytes.take(), patience))
            for (BytesReader reader(theirs); !reader.empty();) {
                for (double& value : values) value = reader.get<double>();
                all.emplace_back(plan).add(values);
            }
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);
    }
    return all;
}

void ChunkWork::learn(std::size_t num_chunks) {
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
        const clients::TaskCell& cell = board_.chunk(chunk);
        deadlines_.learn_chunk(seconds_between(cell.started_ns.load(std::memory_order_relaxed), cell.finished_ns));
    }
}

std::vector<clients::EvaluationSums> ChunkWork::evaluate_clients(const ServerState& server, const clients::DatasetMap& data) {
    Task task;
    task.kind = TaskKind::EvaluateClients;
    task.round = told_round(server.round);
    task.global_index = server.global_index;
    task.deadline_s = deadlines_.of_chunk();
    place(options_.evaluated_clients);
    const Part part = clients_part(options_.evaluated_clients, data, clients_per_chunk(options_, data));
    const std::size_t num_chunks = run(task, part);
    learn(num_chunks);
    return of_all_ranks(results_of_clients(part), sums_.of_client(), reports_.patience_with_chunks(num_chunks + 1));
}

std::vector<clients::EvaluationSums> ChunkWork::evaluate_personalized(const ServerState& server,
                                                                      const clients::DatasetMap& data,
                                                                      const clients::RoundRate& rate, double deadline_s,
                                                                      std::uint64_t most_steps) {
    const std::uint64_t size = one_per_chunk(options_.evaluated_clients.size());
    Task task;
    task.kind = TaskKind::EvaluatePersonalized;
    task.round = told_round(server.round);
    task.global_index = server.global_index;
    task.rate = rate;
    task.deadline_s = deadline_s * static_cast<double>(size);
    place(options_.evaluated_clients);
    const Part part = clients_part(options_.evaluated_clients, data, size);
    const std::size_t num_chunks = run(task, part);
    return of_all_ranks(results_of_clients(part), sums_.of_client(),
                        reports_.patience(num_chunks + 1, (num_chunks + 1) * size * most_steps));
}

std::vector<double> ChunkWork::measure(const ServerState& server, const clients::DatasetMap& data,
                                       const std::vector<std::uint32_t>& clients, double deadline_s, std::uint64_t most_steps) {
    const std::uint64_t size = one_per_chunk(clients.size());
    Task task;
    task.kind = TaskKind::Measure;
    task.round = told_round(server.round);
    task.global_index = server.sent_index();
    task.deadline_s = deadline_s * static_cast<double>(size);
    place(clients);
    const Part part = clients_part(clients, data, size);
    const std::size_t num_chunks = run(task, part);
    std::vector<double> values;
    for (const clients::EvaluationSums& one :
         of_all_ranks(results_of_clients(part), sums_.of_client(),
                      reports_.patience(num_chunks + 1, (num_chunks + 1) * size * most_steps)))
        values.push_back(one.values().front());
    return values;
}

void ChunkWork::place(const std::vector<std::uint32_t>& clients) {
    const std::span<std::uint32_t> places = board_.evaluated();
    FEDHIVE_CHECK(clients.size() <= places.size(), "{} clients to evaluate, room for {}", clients.size(), places.size());
    std::copy(clients.begin(), clients.end(), places.begin());
}

std::vector<clients::EvaluationSums> ChunkWork::results_of_clients(const Part& part) {
    std::vector<clients::EvaluationSums> results;
    const clients::SumsPlan plan = sums_.of_client();
    for (std::uint64_t i = part.first; i < part.end; ++i) results.emplace_back(plan).add(board_.client_sums(i));
    return results;
}

aggregation::Aggregator& ChunkWork::share(aggregation::Aggregator& rule, std::uint64_t bytes, std::int64_t round) {
    const bool possible = arena_.geometry().num_aggregates > 0 && rule.column_rule() != aggregation::ColumnRule::None;
    if (!possible || bytes < kSharedBytes) return rule;
    shared_ = std::make_unique<SharedAggregator>(
        rule, arena_, [this, round](const aggregation::Aggregator& column_rule, const auto& updates) {
            aggregate(column_rule, updates, round);
        });
    return *shared_;
}

/// Tells the workers which updates the next tasks are about. Returns their number.
std::uint32_t ChunkWork::place_terms(std::span<const aggregation::Update> updates) {
    const std::span<clients::Term> terms = board_.terms();
    FEDHIVE_CHECK(updates.size() <= terms.size(), "{} updates, room for {}", updates.size(), terms.size());
    for (std::size_t k = 0; k < updates.size(); ++k) {
        const aggregation::Update& update = updates[k];
        const aggregation::ConstParamSpan slot = arena_.slot(update.slot);
        FEDHIVE_CHECK(slot.data == update.values.data && slot.size == update.values.size, "not the span of slot {}",
                      update.slot);
        terms[k] = {update.slot, update.position, update.scale, update.weight, update.clients, 0};
    }
    return static_cast<std::uint32_t>(updates.size());
}

/// Tells the workers which groups of the terms a rule combines. Returns their number.
std::uint32_t ChunkWork::place_groups(const aggregation::Groups& groups) {
    const std::span<std::uint32_t> table = board_.groups();
    std::size_t at = 0;
    for (const auto& group : groups) {
        FEDHIVE_CHECK(at + 1 + group.size() <= table.size(), "{} groups, room for {} numbers", groups.size(), table.size());
        table[at++] = static_cast<std::uint32_t>(group.size());
        for (const std::size_t k : group) table[at++] = static_cast<std::uint32_t>(k);
    }
    return static_cast<std::uint32_t>(groups.size());
}

void ChunkWork::aggregate(const aggregation::Aggregator& rule, std::span<const aggregation::Update> updates,
                          std::int64_t round) {
    Task task;
    task.kind = TaskKind::Aggregate;
    task.round = told_round(round);
    task.rule = rule.column_rule();
    task.rule_number = rule.column_number();
    task.num_terms = place_terms(updates);
    if (const aggregation::Groups* groups = rule.groups()) task.num_groups = place_groups(*groups);
    task.deadline_s = deadlines_.of_chunk();
    run(task, {0, arena_.geometry().num_floats, kRangeFloats});
}

aggregation::InnerProducts ChunkWork::products(std::span<const aggregation::Update> updates, std::size_t base,
                                               const ProductRows& rows_of, bool by_workers, std::int64_t round) {
    const aggregation::ArenaGeometry& arena = arena_.geometry();
    const std::size_t columns = rows_of.columns;
    if (!by_workers || arena.num_products == 0) {
        std::vector<aggregation::ConstParamSpan> rows;
        for (const aggregation::Update& update : updates) rows.push_back(update.values.part(rows_of.first, columns));
        return aggregation::inner_products_of(rows, base, rows_of.sums);
    }
    static_assert(kRangeFloats == aggregation::kGramColumns);
    Task task;
    task.kind = TaskKind::Products;
    task.round = told_round(round);
    task.num_terms = place_terms(updates);
    task.base = static_cast<std::uint32_t>(base);
    task.histories = rows_of.adds_histories() ? 1 : 0;
    task.row_first = rows_of.first;
    for (std::size_t k = 0; k < rows_of.clients.size(); ++k) board_.terms()[k].client_id = rows_of.clients[k];
    task.deadline_s = deadlines_.of_chunk();
    run(task, {0, columns, kRangeFloats});
    aggregation::InnerProducts products(updates.size(), base);
    const std::uint64_t values = aggregation::gram_values(updates.size());
    for (std::uint64_t range = 0; range < divide_up(columns, kRangeFloats); ++range)
        products.add(arena_.products().subspan(range * values, values));
    return products;
}

std::vector<double> ChunkWork::cross_losses(std::span<const aggregation::Update> updates,
                                            const std::vector<std::uint32_t>& clients, std::uint32_t sent, std::int64_t round,
                                            double deadline_s) {
    FEDHIVE_CHECK_EQ(updates.size(), clients.size());
    Task task;
    task.kind = TaskKind::CrossLosses;
    task.round = told_round(round);
    task.global_index = sent;
    task.num_terms = place_terms(updates);
    for (std::size_t k = 0; k < clients.size(); ++k) board_.terms()[k].client_id = clients[k];
    task.deadline_s = deadline_s;
    run(task, {0, updates.size(), 1});
    const std::span<const double> losses = board_.losses().first(updates.size() * updates.size());
    return {losses.begin(), losses.end()};
}

}  // namespace fedhive::sim
