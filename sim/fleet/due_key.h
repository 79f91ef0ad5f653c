// A slot's place in the workers' queue: the smallest key is claimed first.
#pragma once

#include <cstdint>

namespace fedhive::sim {

/// Made in one of three ways, so that seconds and examples are not taken for each other. All keys of a run are made in the same
/// way, since its mode decides.
class DueKey {
public:
    /// In the order of put().
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
