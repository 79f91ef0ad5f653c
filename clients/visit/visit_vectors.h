// The vectors and numbers that the formulas of one client's visit read, besides the model that a step trains.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/protocol/task.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fedhive::clients {

/// Numbers of one client's visit.
struct VisitFacts {
    std::uint32_t round = 0;
    std::uint64_t num_examples = 0;
    std::uint64_t steps = 0;
    double lr = 0.0;  // client rate of this round

    static VisitFacts of(std::uint32_t round, std::size_t num_examples, std::uint64_t steps,
                         const aggregation::OptimizerOptions& optimizer, const RoundRate& rate) {
        return {round, num_examples, steps, aggregation::client_rate(optimizer) * static_cast<double>(rate.lr_factor)};
    }
};

/// The executor of a place's formulas, with the method's keys set. Throws Fault for a method without that place.
aggregation::formulas::Executor executor_of(const aggregation::formulas::MethodFormulas& method,
                                            aggregation::formulas::Place place);

/// values = 0 outside the ranges; on a device: everywhere.
void zero_outside(aggregation::ParamSpan values, const std::vector<aggregation::formulas::ElementRange>& ranges);

class VisitVectors {
public:
    /// layout: the model's. A memory of `method` that is not in `memories` is left out; so it is in a run that keeps none.
    VisitVectors(const aggregation::formulas::MethodFormulas& method, const aggregation::Memories& memories,
                 const aggregation::Layout& layout, const LocalPart& local_part, aggregation::MemorySpace space);

    /// Begins a visit. sent: the model that the client was sent, with its own local part. Both must outlive the visit.
    ///
    /// Memory   a vector for each memory that steps change, and for the mask `local` if a formula reads it.
    void begin(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent, const VisitFacts& facts);

    /// The vector to which the mean gradient g_t at the sent model is written before a visit, for formulas that read it; [trainable].
    aggregation::ParamSpan mean_gradient();

    /// Sets an executor's inputs of this visit: w_t, memories, local, g_t, and the facts.
    void set_all(aggregation::formulas::Executor& executor) const;

    aggregation::ConstParamSpan sent() const { return sent_; }
    bool has_begun() const { return sent_.size > 0; }

    /// A memory that steps change, with its present value.
    struct Stepped {
        std::string name;
        aggregation::ParamSpan value;
    };
    std::vector<Stepped> stepped();

    /// Calls take(name, values) for each vector of this visit.
    template <typename Take>
    void each(const Take& take) const {
        take(std::string_view("w_t"), sent_);
        if (mask_.span().size > 0) take(std::string_view("local"), aggregation::ConstParamSpan(mask_));
        if (mean_gradient_.span().size > 0) take(std::string_view("g_t"), aggregation::ConstParamSpan(mean_gradient_));
        for (const Bound& memory : memories_) take(std::string_view(memory.name), memory.values);
    }
    /// The vector of that name. Throws Fault for a name that the client does not have.
    aggregation::ConstParamSpan values_of(std::string_view name) const;
    /// The model with one of these vectors as its parameters. Its local part and its buffers are those of the model that the client was sent.
    /// shared: the elements that travel. room: memory for the result, empty at first.
    aggregation::ConstParamSpan model_at(std::string_view name, const std::vector<aggregation::formulas::ElementRange>& shared,
                                         aggregation::ParamBuffer& room) const;

    const VisitFacts& facts() const { return facts_; }

    /// Numbers of this visit, by name, that formulas read beside the facts: losses_at, and memories that are numbers.
    void set_number(const std::string& name, double value) { numbers_[name] = value; }
    const std::map<std::string, double>& numbers() const { return numbers_; }

private:
    struct Bound {
        aggregation::MemoryOwner owner = aggregation::MemoryOwner::Visit;
        std::string name;
        bool begins_as_model = false, changes_in_steps = false;
        aggregation::ConstParamSpan values{};
        aggregation::ParamBuffer room{};  // the values that steps change, a record's copy on a device, or zeros
    };

    void bind(Bound& memory, const aggregation::VisitMemories& memories);
    aggregation::ConstParamSpan before_steps(const Bound& memory, const aggregation::VisitMemories& memories) const;

    aggregation::MemorySpace space_;
    std::size_t trainable_;
    std::deque<Bound> memories_{};
    std::vector<std::pair<std::string, aggregation::MemoryOwner>> number_memories_{};
    aggregation::ParamBuffer mean_gradient_{};  // empty: nothing was written
    aggregation::ParamBuffer mask_{};           // [trainable]: 1 in the client's own part, else 0; empty: no formula reads it
    aggregation::ConstParamSpan sent_{};
    VisitFacts facts_{};
    std::map<std::string, double> numbers_{};
};

}  // namespace fedhive::clients
