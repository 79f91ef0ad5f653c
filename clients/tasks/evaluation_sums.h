// The sums over evaluated targets from which a task's metrics are computed: Σ loss, the number of ignored targets, and the sums that the task
// names (LearningTask::sums). They are one vector of doubles, which workers, ranks and the coordinator add element by element.
#pragma once

#include "clients/tasks/outcome.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// The values of a sum: a single one, one for each class, or one for each pair (label, predicted class).
enum class SumShape : std::uint32_t { One, Classes, Pairs };

/// A sum over evaluated targets.
struct Sum {
    std::string name;
    SumShape shape = SumShape::One;
    /// Adds one target to the sum's values. Counts are exact below 2^53.
    void (*add)(double* sum, const TargetOutcome& outcome, std::uint32_t classes) = nullptr;

    std::uint64_t size(std::uint64_t classes) const {
        return shape == SumShape::One ? 1 : shape == SumShape::Classes ? classes : classes * classes;
    }
};

/// The sums that a run needs, as plain data for workers.
struct SumsPlan {
    std::uint32_t task = 0;      // index in task_catalog()
    std::uint32_t classes = 0;   // classes of the data; 0: no sums by class
    std::uint32_t chosen = ~0U;  // bit i: the task's sum i is needed

    /// Plans all sums of a single value, and the sums named in `needed`.
    static SumsPlan of(std::string_view task_name, std::int64_t classes, std::span<const std::string> needed = {});

    bool has(std::size_t sum) const { return (chosen >> sum & 1U) != 0; }
    /// This plan without sums over pairs, which are too large to keep for each client.
    SumsPlan of_client() const;
    /// Doubles in one EvaluationSums.
    std::uint64_t size() const;
};

class EvaluationSums {
public:
    explicit EvaluationSums(const SumsPlan& plan);

    /// Adds the outcome of one target that is not ignored.
    void add(const TargetOutcome& outcome) {
        for (const Part& part : parts_) part.add(values_.data() + part.first, outcome, classes_);
    }
    /// Adds losses of examples; that of an example is the mean over its targets.
    void add_loss(double loss) { values_[kLoss] += loss; }
    /// Counts targets labelled kIgnored, which enter no other sum.
    void add_ignored(std::uint64_t targets) { values_[kIgnoredTargets] += static_cast<double>(targets); }
    /// Adds sums of the same plan. Throws Fault for another size.
    void add(std::span<const double> values);

    /// Examples, less ignored targets as fractions: one with half of its targets ignored counts 1/2. Ignored targets have loss 0, so
    /// loss() / this number is the mean loss over the other targets.
    double counted_examples(std::uint64_t examples, std::uint64_t per_example) const {
        return static_cast<double>(examples) - ignored() / static_cast<double>(per_example);
    }

    double loss() const { return values_[kLoss]; }
    double ignored() const { return values_[kIgnoredTargets]; }
    /// A sum's values. Throws Fault if the plan has none of that name.
    std::span<const double> of(std::string_view sum) const;
    /// A sum with a single value.
    double one(std::string_view sum) const { return of(sum).front(); }

    std::span<const double> values() const { return values_; }

private:
    static constexpr std::size_t kLoss = 0, kIgnoredTargets = 1;
    struct Part {
        std::string_view name;
        std::uint64_t first = 0, size = 0;  // in values_
        void (*add)(double* sum, const TargetOutcome& outcome, std::uint32_t classes) = nullptr;
    };

    std::uint32_t classes_;
    std::vector<Part> parts_;
    std::vector<double> values_;
};

}  // namespace fedhive::clients
