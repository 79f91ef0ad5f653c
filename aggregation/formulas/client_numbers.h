// Numbers of each client of the run that formulas of a cohort keep at the server: k.NAME of the clients of a round, read and set.
#pragma once

#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/executor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

/// Memory   one number of each kind for each client that took part; for each client of the run with one on the simplex.
class ClientNumbers {
public:
    explicit ClientNumbers(std::vector<RememberedNumber> kinds) : kinds_(std::move(kinds)) {}

    /// Adds k.NAME to what formulas may read and set.
    void add_to(Scope& scope) const;
    /// Sets k.NAME for run().
    void give(Executor& executor, const RoundUpdates& updates);
    /// After run(): takes the numbers that the formulas have set.
    void take(const Executor& executor, const RoundUpdates& updates);

    /// For a checkpoint: "client,number,…," for each client. restore() returns false for a text that state() did not write.
    std::string state() const;
    bool restore(const std::string& state);

private:
    std::vector<double>& of(std::uint32_t client);
    void project(std::size_t kind);

    std::vector<RememberedNumber> kinds_;
    std::map<std::uint32_t, std::vector<double>> numbers_{};  // by client, as kinds_
};

}  // namespace fedhive::aggregation::formulas
