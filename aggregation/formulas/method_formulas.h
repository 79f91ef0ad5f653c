// The formulas of a method, by place of a round, and the names that they may use. Coordinator and workers get the same text.
//
//   start     w = …          where a client's visit begins, from the model w_t that was sent
//   loss      loss = …       of an example, in place of the run's (row_loss.h)
//   second    w_2 = …        in each local step: where a second gradient, g_2, is taken
//   gradient  g = …          in each local step, and what memories of the visit become
//   after     w = …          behind each local step: the model, and what memories of the visit become
//   measure   memory = …     of each of the client's examples at the trained model, to be summed, by class or to a number
//   end       memory = …     what the client keeps and sends when it has trained
//   cohort    weight = …     when all updates of a round are there: numbers of the cohort; by_2, by_3, …: weights of further sums, which
//                            the server has as by_2.u
//   server    w = …          the next model, and what the server keeps
//   peers     weight = …     for each client of the round in turn: how much of each update it gets
//   mix       memory = …     what that client keeps of Σ weight_j u_j
//   judge     w = …          a client's own model, for an evaluation
//   answer    answer = …     what a client answers to an example, in place of that model's logits
#pragma once

#include "aggregation/base/words.h"
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

/// What the method remembers: a vector of the model's shape, one with a row for each class (class_tables.h), or a number. One of the server
/// that does not go down never leaves the coordinator; one by class goes down, or comes up, or a client keeps it.
struct MethodMemory {
    std::string name;
    MemoryOwner owner = MemoryOwner::Visit;
    bool down = false;
    bool up = false;
    bool begins_as_model = false;  // a client's: as the model that it is sent first; a visit's: as the model that is sent
    bool drawn = false;            // a server's that goes down: at first as another model, drawn by a seed of its own
    double first = 0.0;            // of each element, of a server's that does not go down; of a number
    MemoryShape shape = MemoryShape::Trainable;

    bool is_model() const { return shape == MemoryShape::Trainable; }
    bool is_number() const { return shape == MemoryShape::Scalar; }
    bool is_by_class() const { return !is_model() && !is_number(); }
    /// In formulas of parameters, and in the loss.
    Shape value_shape() const;

    /// It travels, or a client keeps it: the arena and the records have room for it (memories.h).
    bool is_declared() const { return owner == MemoryOwner::Client || down || up; }
    /// Views `name`. mixed: the server's `mix` sets it.
    MemorySpec spec(bool mixed = false) const;
};

/// `NAME.logits` and `NAME.z` in formulas of examples are those at the vector `at`: w_t, w_0 or a memory that a client reads.
struct OtherAnswers {
    std::string name;
    std::string at;
};

/// A number that a client's formulas read: the mean loss of its training examples at the vector `at`, before it trains: w_t, or a
/// memory that it reads.
struct LossAt {
    std::string name;
    std::string at;
};

/// What `peers` reads of the client in turn beside numbers of the cohort: the mean loss of each update's model on its examples.
inline constexpr std::string_view kTheirLoss = "k.their_loss";

/// The weights of further sums, by_2 to by_8: `cohort` sets them, and `server` reads by_2.u and what comes up, by_2.NAME.
inline constexpr std::size_t kMostFurther = 7;
std::string further_name(std::size_t index);  // of 0, 1, …: by_2, by_3, …

using Lines = std::vector<std::string>;

struct MethodFormulas {
    std::map<std::string, double> keys;  // by name, with their values
    std::vector<MethodMemory> memories;
    std::vector<std::string> reports;   // numbers that `end` gives
    std::vector<OtherAnswers> also_at;  // of `loss`, `measure` and `answer`
    std::vector<LossAt> losses_at;
    std::map<Place, Lines> lines;
    bool second_on_next = false;  // the second gradient is the next batch's, else the same batch's
    std::string
        products_of{};  // the memory that comes up whose inner products `cohort` and `peers` take; empty: of the updates

    bool has(Place place) const { return lines.contains(place); }
    bool any() const { return !lines.empty(); }
    /// A client's visit is more than local steps on the loss.
    bool changes_visits() const {
        return has(Place::Start) || has(Place::Loss) || has(Place::Gradient) || has(Place::End) || has(Place::Measure) ||
               has(Place::After);
    }
    /// A line of the place sets that name.
    bool sets(Place place, std::string_view name) const;
    /// A memory of a client or a visit that changes in each local step.
    bool changes_in_steps(const MethodMemory& memory) const {
        return memory.owner != MemoryOwner::Server && (sets(Place::Gradient, memory.name) || sets(Place::After, memory.name));
    }

    /// The number of further sums: `cohort` sets by_2, by_3 and so on, without a gap.
    std::size_t num_further() const;
    /// A place's formulas read what another model gives for an example.
    bool reads_answers(Place place, const OtherAnswers& other) const;
    /// Models that `measure` looks at.
    std::uint64_t measure_passes() const;
    /// A client's memory that the server mixes of the updates of a round.
    bool is_mixed(const MethodMemory& memory) const { return sets(Place::Mix, memory.name); }
    bool any_by_class() const {
        return std::any_of(memories.begin(), memories.end(), [](const MethodMemory& memory) { return memory.is_by_class(); });
    }

    /// Throws FormulaError.
    Formulas parsed(Place place) const;
    /// Those whose targets are vectors of the model's shape, or numbers: what an Executor runs.
    Formulas of_vectors(Place place) const;
    /// What a place's formulas may read and set.
    Scope scope(Place place) const;

    /// One line each, for a worker. of() reads it back; it throws Fault for text that text() did not write.
    std::string text() const;
    static MethodFormulas of(std::string_view text);

private:
    void add_numbers_of(Place place, Scope& scope) const;
    void add_server_numbers(Scope& scope) const;
};

inline constexpr std::size_t kLongestMethod = kLongestText + 2048;  // bytes of text()

/// The elements of the parameters, without padding, and without the tensors `without`.
std::vector<Range> ranges_of(const Layout& layout, const std::vector<std::string>& without = {});

}  // namespace fedhive::aggregation::formulas
