// The formulas of a method, by the place in a round where they are evaluated, and the names that they may use. Coordinator and workers
// get the same text. The places, each with a target that it sets:
//
//   start     w = …          the model where a client's visit begins; without it, the model w_t that was sent
//   loss      loss = …       the loss of an example, in place of the run's (row_loss.h)
//   second    w_2 = …        in each local step: the point of a second gradient, g_2
//   gradient  g = …          in each local step: its gradient, and new values of memories
//   after     w = …          after each local step: the model, and new values of memories
//   measure   memory = …     a value of each of the client's examples at the trained model, summed by class or to a number
//   end       memory = …     after training: memories that the client keeps or sends
//   cohort    weight = …     when all updates have arrived: the weight of each; numbers for `server`; by_2, by_3, …: weights of further
//                            sums, which `server` reads as by_2.u
//   server    w = …          the next model, and new values of the server's memories
//   peers     weight = …     for each client of the round in turn: the weight of each update
//   mix       memory = …     that client's memory, from u = Σ weight_j u_j
//   judge     w = …          a client's own model, for an evaluation
//   answer    answer = …     a client's answer to an example, in place of that model's logits
#pragma once

#include "aggregation/base/words.h"
#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/executor.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

enum class Place { Start, Loss, Second, Gradient, End, Cohort, Server, Peers, Mix, Judge, Measure, Answer, After };
constexpr auto all_words(Place) {
    return std::array{"start", "loss", "second", "gradient", "end",    "cohort", "server",
                      "peers", "mix",  "judge",  "measure",  "answer", "after"};
}

/// A memory of the method: a vector of the model's shape, a number, or values by class (class_tables.h). down: the server sends it to
/// clients; up: clients send it to the server. A memory of the server without `down` never leaves the coordinator.
struct MethodMemory {
    std::string name;
    MemoryOwner owner = MemoryOwner::Visit;
    bool down = false;
    bool up = false;
    bool begins_as_model =
        false;           // first value: the first model that the client is sent; of a visit's memory, the model of that visit
    bool drawn = false;  // of a server's memory with `down`; first value: another model, drawn by a seed of its own
    double first = 0.0;  // first value of a number, or of each element of a server's memory without `down`
    MemoryShape shape = MemoryShape::Trainable;

    bool is_model() const { return shape == MemoryShape::Trainable; }
    bool is_number() const { return shape == MemoryShape::Scalar; }
    bool is_by_class() const { return !is_model() && !is_number(); }
    /// Its shape in formulas of parameters and in the loss.
    Shape value_shape() const;

    /// Whether the arena or the records have room for it: it is sent, or a client keeps it (memories.h).
    bool is_declared() const { return owner == MemoryOwner::Client || down || up; }
    /// mixed: the server's `mix` sets it.
    MemorySpec spec(bool mixed = false) const;
};

/// In formulas of an example, `NAME.logits` and `NAME.z` are the logits and features of that example by the model whose parameters are the
/// vector `at`: w_t, w_0 or a memory that a client reads.
struct OtherAnswers {
    std::string name;
    std::string at;
};

/// A number that a client's formulas read: the mean loss of its training examples by the model with parameters `at`, computed before it
/// trains. at: w_t, or a memory that the client reads.
struct LossAt {
    std::string name;
    std::string at;
};

/// The name that only `peers` may read: the mean loss of each update's model on the examples of the client in turn.
inline constexpr std::string_view kTheirLoss = "k.their_loss";

/// Names of the root client's update r, which `cohort` may read: ⟨u_k, r⟩, the cosine of u_k and r, and |r|.
inline constexpr const char* kDotRoot = "k.dot_root";
inline constexpr const char* kCosRoot = "k.cos_root";
inline constexpr const char* kRootNorm = "root_norm";

/// The weights of further sums, by_2 to by_8: `cohort` sets them, and `server` reads by_2.u, and by_2.NAME of memories that are sent up.
inline constexpr std::size_t kMostFurther = 7;
std::string further_name(std::size_t index);  // of 0, 1, …: by_2, by_3, …

using Lines = std::vector<std::string>;

struct MethodFormulas {
    std::map<std::string, double> keys{};  // by name, with their values
    std::vector<MethodMemory> memories{};
    std::vector<RememberedNumber> of_clients{};  // at the server, for each client of the run; `cohort` reads and sets k.NAME
    std::vector<std::string> reports{};          // numbers that `end` gives
    std::vector<OtherAnswers> also_at{};         // of `loss`, `measure` and `answer`
    std::vector<LossAt> losses_at{};
    std::map<Place, Lines> lines{};
    bool second_on_next = false;  // the second gradient g_2 is of the next batch, else of the same batch
    std::string products_of{};    // the memory with `up` whose inner products `cohort` and `peers` take; empty: the updates

    bool has(Place place) const { return lines.contains(place); }
    bool any() const { return !lines.empty(); }
    /// Whether a client's visit differs from plain local steps on the run's loss.
    bool changes_visits() const {
        return has(Place::Start) || has(Place::Loss) || has(Place::Gradient) || has(Place::End) || has(Place::Measure) ||
               has(Place::After);
    }
    /// In a visit it only changes the gradient, element by element, by values that are the same for all clients and steps of a round.
    bool changes_elements() const;
    /// Whether a line of the place sets that name.
    bool sets(Place place, std::string_view name) const;
    /// Whether a client's or a visit's memory changes in each local step.
    bool changes_in_steps(const MethodMemory& memory) const {
        return memory.owner != MemoryOwner::Server && (sets(Place::Gradient, memory.name) || sets(Place::After, memory.name));
    }

    /// The number of further sums: `cohort` sets by_2, by_3 and so on, without a gap.
    std::size_t num_further() const;
    /// Whether a place's formulas read the logits or features of `other`.
    bool reads_answers(Place place, const OtherAnswers& other) const;
    /// The number of models that `measure` runs on each example.
    std::uint64_t measure_passes() const;
    /// Whether the server computes this client's memory from the updates of a round (formula_mix.h).
    bool is_mixed(const MethodMemory& memory) const { return sets(Place::Mix, memory.name); }
    // What a round has to do for it.

    /// Whether a visit depends on more of its client than its batches, so that an arena slot may hold one client's update only.
    bool trains_alone() const;
    /// Whether clients keep memories from round to round; they change when the client's update is accepted.
    bool keeps_memories() const;
    bool changes_memories_in_steps() const;
    bool reads_sent_loss() const;
    /// Whether `peers` reads the loss of each update's model on the examples of the other clients.
    bool reads_cross_losses() const;
    /// Whether its `cohort` or `peers` formulas need the inner products of the updates.
    bool takes_products() const;
    /// Whether `cohort` reads the root client's update.
    bool reads_root() const;
    /// Whether a formula of any place reads that name.
    bool reads(std::string_view value) const;
    /// Whether a client's formulas read g_t, the mean gradient of its examples at the model that it is sent.
    bool reads_mean_gradient() const { return reads("g_t"); }
    /// Whether `cohort` sets the weights of the updates.
    bool sets_weights() const;

    bool any_by_class() const {
        return std::any_of(memories.begin(), memories.end(), [](const MethodMemory& memory) { return memory.is_by_class(); });
    }

    /// The place's formulas, parsed and checked. Throws FormulaError.
    Formulas parsed(Place place) const;
    /// The place's formulas whose targets are vectors of the model's shape or numbers: those that an Executor runs.
    Formulas of_vectors(Place place) const;
    /// The names that a place's formulas may read and set.
    Scope scope(Place place) const;

    /// The method as text for a worker, one line for each part. of() reads it back, and throws Fault for text that text() did not write.
    std::string text() const;
    static MethodFormulas of(std::string_view text);

private:
    void add_numbers_of(Place place, Scope& scope) const;
    void add_server_numbers(Scope& scope) const;
};

inline constexpr std::size_t kLongestMethod = kLongestText + 2048;  // bytes of text()

/// The elements of the parameters, without padding, and without the tensors `without`.
std::vector<ElementRange> ranges_of(const Layout& layout, const std::vector<std::string>& without = {});

}  // namespace fedhive::aggregation::formulas
