// The norm of upload step adaptive_clip, from round to round: Andrew, Thakkar, McMahan and Ramaswamy 2021, arXiv:1905.03871,
// Algorithm 1. What a client does with it: clients/uploads/adaptive_clip.cpp.
#pragma once

#include "clients/protocol/reports.h"
#include "clients/uploads/upload.h"
#include "sim/round/flight.h"

#include <cstdint>
#include <optional>

namespace fedhive::sim {

class ClipNorm {
public:
    /// The norm stays between these: noise makes it neither 0 nor infinite in f32.
    static constexpr double kLeast = 1e-30, kMost = 1e30;

    /// seed: that of the clients' training; reports: the list of the run's clients.
    ClipNorm(const clients::UploadPlan& upload, std::uint64_t seed, const clients::Reports& reports);

    /// The chain has such a step.
    bool adapts() const { return step_.has_value(); }

    /// C of the first round; 0 where the chain has no such step.
    double first() const { return step_ ? step_->numbers[0] : 0.0; }

    /// C exp(-η (b̃ - γ)) with b̃ = (Σ b_k + σ_b z) / n: b_k is 1 if accepted client k's update was within C, n their number, z
    /// standard normal. C if no client was accepted.
    ///
    /// Order    keyed by (seed, round): same bits on every rank and after a resume.
    double next(double norm, const Arrivals& arrived, std::int64_t round) const;

private:
    std::optional<clients::UploadStep> step_;
    std::uint64_t seed_;
    std::size_t within_ = 0;  // its place among the reports
};

}  // namespace fedhive::sim
