#include "sim/fleet/rank_reports.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/divide_up.h"
#include "sim/ranks/bytes.h"

#include <algorithm>
#include <optional>

namespace fedhive::sim {

namespace {

/// s. Workers may still be starting, and some hosts have slow disks.
constexpr double kFirstMeeting = 120.0;

struct FailureHead {
    clients::FailureKind kind;
    FailureAction action;
    std::int64_t worker, round, client_id, attempt;
};

struct ClientHead {
    Attempts attempts;
    clients::ClientResult result;
};

}  // namespace

RankReports::RankReports(const FleetOptions& options, const Workforce& workforce, const Workload& workload,
                         const Deadlines& deadlines, Board& board, FailurePolicy& policy, Flights& flights)
    : options_(options),
      workforce_(workforce),
      workload_(workload),
      deadlines_(deadlines),
      board_(board),
      policy_(policy),
      flights_(flights) {
    Ranks& ranks = *options_.ranks;
    if (ranks.is_alone()) return;
    policy_.collect_reports();
    // The first meeting synchronises the ranks; the second exchanges their clocks.
    ranks.all_gather("", patience(1, 0));
    const std::int64_t mine = now_ns();
    for (const std::string& theirs : ranks.all_gather(std::to_string(mine), patience(1, 0)))
        clock_ahead_ns_.push_back(mine - std::stoll(theirs));
}

Patience RankReports::patience(std::uint64_t tasks, std::uint64_t steps) const {
    return patience_with(deadlines_.of_rank(tasks, steps));
}

Patience RankReports::patience_with_chunks(std::uint64_t chunks) const {
    return patience_with(deadlines_.of_rank_with_chunks(chunks));
}

Patience RankReports::patience_with(double seconds) const {
    return {.seconds = seconds + (first_ ? kFirstMeeting : 0.0), .interrupted = [this] { return workforce_.interrupted(); }};
}

/// The patience for the rank with most work, which may have to try again.
Patience RankReports::patience(const Expected& arrivals) {
    const Ranks& ranks = *options_.ranks;
    std::vector<std::uint64_t> tasks(ranks.size());
    std::vector<std::uint64_t> steps(ranks.size());
    const auto add = [&](const Flight& flight) {
        tasks[flight.rank] += flight.clients.size();
        steps[flight.rank] += workload_.local_steps(flight);
    };
    const std::optional<std::size_t> root = flights_.root();
    for (const ExpectedArrival& one : arrivals)
        if (one.slot != root) add(flights_.at(one.slot));
    if (root) add(flights_.at(*root));  // its rank trains it meanwhile
    std::uint64_t most_tasks = 1;
    std::uint64_t most_steps = 1;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        const std::uint64_t workers = ranks.num_workers(rank);
        most_tasks = std::max(most_tasks, divide_up(tasks[rank], workers));
        most_steps = std::max(most_steps, divide_up(steps[rank], workers));
    }
    const auto attempts = static_cast<std::uint64_t>(policy_.most_attempts(!root));
    return patience(most_tasks * attempts, most_steps * attempts);
}

void RankReports::exchange(const Expected& arrivals) {
    Ranks& ranks = *options_.ranks;
    if (ranks.is_alone()) return;
    const std::vector<std::string> reports = ranks.all_gather(report(arrivals), patience(arrivals));
    first_ = false;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
        if (rank != ranks.rank()) read(reports[rank], arrivals, rank);
}

std::string RankReports::report(const Expected& arrivals) {
    BytesWriter bytes;
    const std::vector<FailurePolicy::Report> failures = policy_.take_reports();
    bytes.put(std::uint64_t{failures.size()});
    for (const auto& [failure, action] : failures) {
        bytes.put(FailureHead{failure.kind, action, failure.worker, failure.round, failure.client_id, failure.attempt});
        bytes.put_text(failure.message);
    }
    bytes.put(policy_.take_replaced());
    for (const ExpectedArrival& one : arrivals) {
        const Flight& flight = flights_.at(one.slot);
        if (!board_.is_here(one.slot)) continue;
        const bool here = flight.was_put() && flight.wanted();
        bytes.put(here ? board_.finished_ns(one.slot) : std::int64_t{0});
        for (std::size_t i = 0; i < flight.clients.size(); ++i) {
            ClientHead head{flight.clients[i].attempts, board_.result(flight.task.first + i)};
            if (here && !head.attempts.dropped) head.attempts.worker = board_.worker_of(one.slot);
            bytes.put(head);
        }
    }
    return bytes.take();
}

void RankReports::read(const std::string& report, const Expected& arrivals, std::uint32_t rank) {
    const std::int64_t ahead_ns = clock_ahead_ns_[rank];
    const std::uint32_t first_worker = options_.ranks->first_worker(rank);
    BytesReader bytes(report);
    for (auto failures = bytes.get<std::uint64_t>(); failures > 0; --failures) {
        const auto head = bytes.get<FailureHead>();
        policy_.count_report_of_others({{.kind = head.kind,
                                         .worker = head.worker < 0 ? head.worker : first_worker + head.worker,
                                         .round = head.round,
                                         .client_id = head.client_id,
                                         .attempt = head.attempt,
                                         .message = bytes.get_text()},
                                        head.action});
    }
    policy_.count_replaced_by_others(bytes.get<std::uint64_t>());
    for (const ExpectedArrival& one : arrivals) {
        Flight& flight = flights_.at(one.slot);
        if (flight.rank != rank) continue;
        board_.finished_elsewhere(one.slot, bytes.get<std::int64_t>() + ahead_ns);
        for (std::size_t i = 0; i < flight.clients.size(); ++i) {
            auto head = bytes.get<ClientHead>();
            flight.clients[i].attempts = head.attempts;
            flight.clients[i].attempts.worker += first_worker;
            head.result.start_ns += ahead_ns;
            board_.set_result(flight.task.first + i, head.result);
        }
    }
}

}  // namespace fedhive::sim
