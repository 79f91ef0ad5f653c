// fairness.csv and client_accuracy.csv as text: what evaluations on the clients' held-out examples leave (results/README.md).
#pragma once

#include "sim/round/fairness.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fedhive::sim {

/// The header of fairness.csv, with its line end.
std::string fairness_columns();

/// A row of fairness.csv for each model that was evaluated after round `round`, from 1.
std::string fairness_rows(std::int64_t round, const ClientsTest& test);

/// All of client_accuracy.csv.
std::string client_accuracy_table(std::int64_t round, const ClientsTest& test);

/// The round that a client_accuracy.csv is of; 0 where the text is none.
std::int64_t round_of_client_accuracy(std::string_view text);

}  // namespace fedhive::sim
