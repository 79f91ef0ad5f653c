// Tasks for workers: plain data of fixed size in the control block, without pointers and strings. A worker knows no strategy
// and no YAML; all it needs is in the plan from its start (clients/trainers/worker_plan.h) and in its tasks.
#pragma once

#include "aggregation/math/aggregator.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fedhive::clients {

/// What a round changes of a client's training.
struct RoundRate {
    float lr_factor = 1.0F;  // > 0; factor on the plan's client rate, for the round in which the client was sent out
};

enum class TaskKind : std::uint32_t {
    Train,                 // members of one slot, in cohort order; result: the slot and one ClientResult for each member
    Gradient,              // one local step of a client; result: its gradient in the slot; mode parameter_server
    InPlace,               // a client's local training in the global region itself; mode hogwild
    Replica,               // one rank of a group that trains one model together; mode gradient_averaging
    LowerHalf,             // a client's layers below the cut, with its UpperHalf in another worker; mode split
    UpperHalf,             // a client's layers above the cut
    Evaluate,              // evaluates the global model on one chunk of the test examples; result: its sums
    EvaluateClients,       // evaluates it on the held-out examples of a range of clients; result: the sums of each client
    EvaluatePersonalized,  // as EvaluateClients, after a local epoch of each client on its own examples
    Measure,               // the number that a sampler asks of a range of clients; result: the first of the sums of each client
    Aggregate,             // one range of parameters of the round's aggregate; result: that range of the arena's aggregate
    Products,              // inner products of the updates over one range; result: in the arena's products
    CrossLosses,  // the models of all updates on the examples of a range of their clients; result: the control block's losses()
    Empty,        // no work: measures the time of a round by itself
};

/// Whether a task of this kind has clients as members; a failure of any other kind is reported without a client.
constexpr bool has_members(TaskKind kind) {
    return kind != TaskKind::Evaluate && kind != TaskKind::EvaluateClients && kind != TaskKind::EvaluatePersonalized &&
           kind != TaskKind::Measure && kind != TaskKind::Aggregate && kind != TaskKind::Products &&
           kind != TaskKind::CrossLosses && kind != TaskKind::Empty;
}

/// A failure to inject into a client's training (`faults:` in the config).
enum class FaultKind : std::uint32_t { None, Kill, Hang, Throw, Nan, Slow, OutOfMemory };

struct InjectedFault {
    FaultKind kind = FaultKind::None;
    std::uint32_t at_update = 0;  // 1: when the update is written; 0: after the first local step
    double seconds = 0.0;         // Slow
};

/// The content of the slot after a Train task.
enum class Payload : std::uint32_t {
    Update,  // local - global
    Model,   // local
};

/// One unit of work: filled by the coordinator, run by the worker that claims it.
struct Task {
    TaskKind kind = TaskKind::Empty;
    std::uint32_t round = 0;         // 0-based round in which it was handed out
    std::uint32_t repeat = 0;        // number of times that its client had been sent in that round before
    std::uint32_t global_index = 0;  // index of the global region with the model to start from
    Payload payload = Payload::Update;
    std::uint32_t slot = 0;   // Train: index of the slot for the update
    std::uint64_t first = 0;  // Train: first member on the board; Evaluate: first example; Aggregate, Products: first float;
                              // EvaluateClients, EvaluatePersonalized, Measure: first evaluated client; CrossLosses: first term
    std::uint64_t count = 0;  // members, examples, floats, clients or terms
    std::uint64_t num_together = 1;    // Train: number of updates in the server step that takes this one
    std::uint64_t step = 0;            // Gradient: index of the client's local step, from 0
    std::uint32_t num_ranks = 1;       // Replica: ranks of the group; `slot` is this task's rank
    std::uint32_t velocity_index = 0;  // Replica: index of the global region with the initial momentum
    aggregation::ColumnRule rule{};    // Aggregate: the rule
    double rule_number = 0.0;          // Aggregate: the rule's number (Aggregator::column_number)
    std::uint32_t num_terms = 0;       // Aggregate, Products, CrossLosses: number of updates
    std::uint32_t num_groups = 0;      // Aggregate: the rule combines the means of this many groups of them; 0: the updates
    std::uint32_t base = 0;            // Products: index of the update r (aggregation/math/gram.h)
    double clip_norm = 0.0;            // Train: the round's clip norm, for an upload chain that adapts it
    std::uint32_t histories = 0;       // Products: 1: of each update plus the sum of its client's earlier updates
    std::uint64_t row_first = 0;       // Products: offset in a slot of column 0
    double deadline_s = 0.0;           // time limit of one member, or of the chunk
    RoundRate rate{};
};

/// A cohort member: a client and its weight.
struct Member {
    std::uint32_t client_id = 0;
    std::uint32_t left_out = 0;  // 1: this client's update is no longer wanted; the slot's sum is made without it
    double weight = 1.0;         // w_k, used by the worker only where a slot holds several clients
    InjectedFault fault{};
};

/// An update of the aggregate that workers compute: its slot, and the rest of aggregation::Update.
struct Term {
    std::uint64_t slot = 0;
    std::uint64_t position = 0;
    double scale = 1.0;
    double weight = 1.0;
    std::uint64_t clients = 1;
    std::uint64_t client_id = 0;  // set for a task with `histories`, and for CrossLosses
};

/// The values of a run's reports (reports.h), in the order of its list; 0 after its end.
inline constexpr std::size_t kMostReports = 16;
using ReportValues = std::array<double, kMostReports>;

/// A worker's report on one member.
struct ClientResult {
    std::uint64_t steps = 0;
    double train_loss = 0.0;  // mean over the counted targets of all examples used; 0 if there is none
    double update_norm = 0.0;
    std::uint64_t update_hash = 0;
    std::uint32_t finite = 1;
    double seconds = 0.0;
    double gather_s = 0.0;      // part of `seconds`: the host's time for assembling batches; 0 on a device
    double update_s = 0.0;      // part of `seconds`: difference, norm, hash and writing to the slot; 0 on a device
    std::int64_t start_ns = 0;  // now_ns() when it began
    ReportValues reports{};
};

static_assert(std::is_trivially_copyable_v<Task> && std::is_trivially_copyable_v<Member> &&
              std::is_trivially_copyable_v<Term> && std::is_trivially_copyable_v<ClientResult>);

}  // namespace fedhive::clients
