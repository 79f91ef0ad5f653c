// Work that the workers share besides training: evaluation over test examples and over clients, measures, aggregation and inner products over
// ranges of parameters, cross losses.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/inner_products.h"
#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "sim/fleet/chunks.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/rank_reports.h"
#include "sim/fleet/shared_aggregation.h"
#include "sim/fleet/wait.h"
#include "sim/round/product_rows.h"
#include "sim/round/server_state.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fedhive::sim {

/// The largest number of chunks on the board at a time.
std::uint64_t most_chunks(const FleetOptions& options, const clients::DatasetMap& data,
                          const aggregation::ArenaGeometry& arena);

class ChunkWork {
public:
    static constexpr double kGrace = 10.0;  // s that work goes on after a first signal, since the round's model exists already

    /// All must outlive this.
    ChunkWork(const FleetOptions& options, const aggregation::Arena& arena, const clients::SumsPlan& sums, Deadlines& deadlines,
              Board& board, Chunks& chunks, Wait& wait, const RankReports& reports)
        : options_(options),
          arena_(arena),
          sums_(sums),
          deadlines_(deadlines),
          board_(board),
          chunks_(chunks),
          wait_(wait),
          reports_(reports) {}

    /// The sums of the global model over `count` test examples from `first` on, one result a chunk, in order. Each rank takes a range of the chunks,
    /// and in the functions below a range of the clients. Throws as Fleet::evaluate.
    std::vector<clients::EvaluationSums> evaluate(const ServerState& server, std::uint64_t first, std::uint64_t count);

    /// The sums over the held-out examples of each of options.evaluated_clients, in their order: of the global model, or of that model after a
    /// local epoch of the client at `rate`, of at most `most_steps` steps. Each client may take `deadline_s`. Throws as
    /// Fleet::evaluate.
    std::vector<clients::EvaluationSums> evaluate_clients(const ServerState& server, const clients::DatasetMap& data);
    std::vector<clients::EvaluationSums> evaluate_personalized(const ServerState& server, const clients::DatasetMap& data,
                                                               const clients::RoundRate& rate, double deadline_s,
                                                               std::uint64_t most_steps);

    /// The sampler's measure of the global model on each of these clients (ascending ids, at most options.most_measured), in their
    /// order. A client's pass takes as long as at most `most_steps` local steps, and may take `deadline_s`. Throws as Fleet::evaluate.
    std::vector<double> measure(const ServerState& server, const clients::DatasetMap& data,
                                const std::vector<std::uint32_t>& clients, double deadline_s, std::uint64_t most_steps);

    /// An aggregator with the result of `rule` whose ranges the workers compute, if the updates have enough bytes; else `rule`. Valid until the
    /// next call.
    aggregation::Aggregator& share(aggregation::Aggregator& rule, std::uint64_t bytes, std::int64_t round);

    /// Inner products of the vectors that rows_of selects in the updates (product_rows.h), with that of updates[base] as r. by_workers: the
    /// workers compute them if the arena has a region for products; else this process does.
    aggregation::InnerProducts products(std::span<const aggregation::Update> updates, std::size_t base,
                                        const ProductRows& rows_of, bool by_workers, std::int64_t round);

    /// result[i K + j] = mean loss of update j's model on the examples of update i's client, for K updates and their clients in the same order
    /// (clients/worker/cross_losses_task.h). sent: the global region from which the updates began. A client may take `deadline_s`. Throws as
    /// Fleet::evaluate.
    std::vector<double> cross_losses(std::span<const aggregation::Update> updates, const std::vector<std::uint32_t>& clients,
                                     std::uint32_t sent, std::int64_t round, double deadline_s);

private:
    /// A range of [0, total) in chunks of `size`; the last chunk may be smaller.
    struct Part {
        std::uint64_t first;
        std::uint64_t end;
        std::uint64_t size;  // of a chunk
    };
    Part part_of(std::uint64_t total, std::uint64_t size) const;
    Part clients_part(const std::vector<std::uint32_t>& clients, const clients::DatasetMap& data, std::uint64_t size) const;
    std::size_t run(const clients::Task& task, const Part& part);
    void learn(std::size_t num_chunks);
    void place(const std::vector<std::uint32_t>& clients);
    std::vector<clients::EvaluationSums> results_of_clients(const Part& part);
    std::vector<clients::EvaluationSums> of_all_ranks(std::vector<clients::EvaluationSums> mine, const clients::SumsPlan& plan,
                                                      const Patience& patience) const;
    std::uint32_t place_terms(std::span<const aggregation::Update> updates);
    std::uint32_t place_groups(const aggregation::Groups& groups);
    void aggregate(const aggregation::Aggregator& rule, std::span<const aggregation::Update> updates, std::int64_t round);

    const FleetOptions& options_;
    const aggregation::Arena& arena_;
    const clients::SumsPlan& sums_;
    Deadlines& deadlines_;
    Board& board_;
    Chunks& chunks_;
    Wait& wait_;
    const RankReports& reports_;
    std::unique_ptr<SharedAggregator> shared_;  // of the last sum large enough to share
};

}  // namespace fedhive::sim
