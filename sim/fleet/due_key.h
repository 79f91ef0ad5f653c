// The key by which a slot's task is ordered in the workers' queue; the task with the smallest key is claimed first.
#pragma once

#include <cstdint>

namespace fedhive::sim {

/// A key has one of three meanings, each with its own constructor function, so that seconds and examples cannot be mixed. The run's mode decides
/// which one all its keys have.
class DueKey {
public:
    /// The key of tasks that are claimed in the order of put().
    static DueKey as_put() { return DueKey(0.0); }
    static DueKey earliest_first(double arrives_s) { return DueKey(arrives_s); }
    static DueKey largest_first(std::uint64_t examples) { return DueKey(-static_cast<double>(examples)); }

    double value() const { return value_; }
    bool operator==(const DueKey&) const = default;

private:
    explicit DueKey(double value) : value_(value) {}
    double value_;
};

}  // namespace fedhive::sim
