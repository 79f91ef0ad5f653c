#include "sim/run/evaluate.h"

namespace fedhive::sim {

Metrics evaluate(Fleet& fleet, const ServerState& server, std::uint64_t num_test) {
    double loss_sum = 0.0;
    std::uint64_t correct = 0;
    for (const clients::EvaluationResult& chunk : fleet.evaluate(server)) {
        loss_sum += chunk.loss_sum;
        correct += chunk.correct;
    }
    const auto total = static_cast<double>(num_test);
    return {loss_sum / total, static_cast<double>(correct) / total};
}

}  // namespace fedhive::sim
