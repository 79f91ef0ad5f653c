// What a worker is asked to do, as plain data of fixed size: it lies in the control block, so no pointers and no strings. A worker knows no
// strategy and no YAML; all it needs is in the plan it got at start (clients/training/worker_plan.h) and in its tasks.
#pragma once

#include "aggregation/math/aggregator.h"

#include <cstdint>
#include <type_traits>

namespace fedhive::clients {

/// What a client minimises besides the loss of its data, and how fast.
struct Objective {
    float proximal_mu = 0.0F;  // >= 0; mu/2 * |local - global|^2 (FedProx); 0: the loss alone
    float lr_factor = 1.0F;    // above 0; of the plan's client rate, in the round in which the client was sent out
};

enum class TaskKind : std::uint32_t {
    Train,                 // members of one slot, in cohort order; result: the slot and one ClientResult a member
    Gradient,              // one local step of a client: its gradient to the slot; parameter_server
    InPlace,               // a client's local training in the global region itself; hogwild
    Replica,               // one rank of a group that trains one model together; gradient_averaging
    LowerHalf,             // a client's layers below the cut, with its UpperHalf in another worker; split
    UpperHalf,             // those above
    Evaluate,              // one chunk of the test examples under the global model; result: its sums
    EvaluateClients,       // the global model on what a range of the evaluated clients hold out; result: one each …
    EvaluatePersonalized,  // … and on the same, after a local epoch of each client's own
    Aggregate,             // one range of the parameters of the round's aggregate; result: that range of the arena's aggregate
    Empty,                 // nothing: what a round costs by itself
};

/// Is it about clients? What is not is told without one when it fails.
constexpr bool has_members(TaskKind kind) {
    return kind != TaskKind::Evaluate && kind != TaskKind::EvaluateClients && kind != TaskKind::EvaluatePersonalized &&
           kind != TaskKind::Aggregate && kind != TaskKind::Empty;
}

/// A failure to inject into a client's training (`faults:` in the config).
enum class FaultKind : std::uint32_t { None, Kill, Hang, Throw, Nan, Slow, OutOfMemory };

struct InjectedFault {
    FaultKind kind = FaultKind::None;
    std::uint32_t at_update = 0;  // 1: when the update is written; 0: after the first local step
    double seconds = 0.0;         // Slow
};

/// What a Train task leaves in its slot.
enum class Payload : std::uint32_t {
    Update,  // local - global
    Model,   // local
};

/// One unit of work: filled by the coordinator, run by the worker that claims it.
struct Task {
    TaskKind kind = TaskKind::Empty;
    std::uint32_t round = 0;         // 0-based, in which it was handed out …
    std::uint32_t repeat = 0;        // … and how often its client had been sent in that round before
    std::uint32_t global_index = 0;  // which global region holds the model to start from
    Payload payload = Payload::Update;
    std::uint32_t slot = 0;            // Train: where the update goes
    std::uint64_t first = 0;           // Train: first member on the board; Evaluate: first example; Aggregate: first float;
                                       // EvaluateClients, EvaluatePersonalized: first evaluated client
    std::uint64_t count = 0;           // members, examples, floats or clients
    std::uint64_t num_together = 1;    // Train: updates that the server step is to take which takes this one
    std::uint64_t step = 0;            // Gradient: which of the client's local steps, from 0
    std::uint32_t num_ranks = 1;       // Replica: ranks of the group; this one is `slot`
    std::uint32_t velocity_index = 0;  // Replica: which global region holds the momentum to begin with
    aggregation::ColumnRule rule{};    // Aggregate …
    std::uint32_t num_terms = 0;       // … of so many updates
    double deadline_s = 0.0;           // what one member, or the chunk, may take
    Objective objective{};
};

/// A cohort member: who, with what weight.
struct Member {
    std::uint32_t client_id = 0;
    std::uint32_t left_out = 0;  // 1: this client's update is not wanted any more; the slot's others are summed without it
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
};

/// What a worker reports of one member.
struct ClientResult {
    std::uint64_t steps = 0;
    double train_loss = 0.0;  // mean over all examples seen, as far as their targets count; 0 where none does
    double update_norm = 0.0;
    std::uint64_t update_hash = 0;
    std::uint32_t finite = 1;
    double seconds = 0.0;
    double gather_s = 0.0;      // of them: the host's, for bringing batches together
    double update_s = 0.0;      // and for the update: difference, norm, hash, its place in the slot; both 0 on a device
    std::int64_t start_ns = 0;  // now_ns() when it began
};

/// Sums over evaluated examples; of what is a mean over an example's positions or numbers, those means.
struct EvaluationResult {
    double loss_sum = 0.0;
    std::uint64_t correct = 0;     // classes that are told right, each position's by itself
    double absolute_sum = 0.0;     // absolute errors of numbers
    std::uint64_t among_five = 0;  // classes that are among the five with the largest scores
    std::uint64_t ignored = 0;     // targets that count nowhere

    EvaluationResult& operator+=(const EvaluationResult& part) {
        loss_sum += part.loss_sum;
        correct += part.correct;
        absolute_sum += part.absolute_sum;
        among_five += part.among_five;
        ignored += part.ignored;
        return *this;
    }
};

/// A client on whose held-out examples models are evaluated, and what came of it.
struct EvaluatedClient {
    std::uint32_t client_id = 0;
    EvaluationResult result{};
};

static_assert(std::is_trivially_copyable_v<Task> && std::is_trivially_copyable_v<Member> &&
              std::is_trivially_copyable_v<Term> && std::is_trivially_copyable_v<ClientResult> &&
              std::is_trivially_copyable_v<EvaluatedClient>);

}  // namespace fedhive::clients
