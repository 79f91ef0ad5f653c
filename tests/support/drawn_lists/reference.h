// A list of layers in double precision, from its layers' definitions, one number after the other. Every number knows what it was made of and by
// what slope, so gradients follow from the way forward alone: no way back is written that could share a mistake with the one it is held against.
// What it computes is right and slow.
#pragma once

#include "clients/direct/network.h"
#include "clients/models/model_plan.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace fedhive::testing {

/// Numbers in the order in which they are made.
class Tape {
public:
    using Number = std::uint32_t;

    /// Forgets all but parameters [0, size).
    void begin(const float* parameters, std::size_t size);

    /// A new number; what it depends on is told right behind it.
    Number add(double value);
    void depends(Number on, double slope) { depends(on, slope, std::abs(slope)); }
    /// size: of what the slope is the difference of.
    void depends(Number on, double slope, double size) {
        if (size != 0.0 && !is_constant(on)) terms_.push_back({on, slope, size});
    }

    double operator[](Number number) const { return values_[number]; }
    bool is_constant(Number number) const { return number >= num_parameters_ && first_[number] == end_of(number); }

    /// Adds the slopes of `root` in the parameters to `to`, times `weight`, and to `sizes` what they would be if nothing cancelled.
    void add_slopes(Number root, double weight, std::vector<double>& to, std::vector<double>& sizes) const;

private:
    struct Term {
        Number on;
        double slope, size;
    };
    std::size_t end_of(Number number) const { return number + 1 < first_.size() ? first_[number + 1] : terms_.size(); }

    std::size_t num_parameters_ = 0;
    std::vector<double> values_;
    std::vector<std::size_t> first_;  // of a number's terms
    std::vector<Term> terms_;
};

class Reference {
public:
    explicit Reference(const clients::ModelSpec& spec);

    struct Result {
        double loss = 0.0, absolute = 0.0;  // means over the batch
        std::vector<double> gradient;       // [P]
        std::vector<double> sizes;          // [P]: what it would be if no two of its terms cancelled
        /// How far the nearest value was from where a slope jumps, a ReLU's 0 or two largest of a pool's: nearer than float rounds, engines may
        /// differ and be right.
        double edge = std::numeric_limits<double>::infinity();
    };
    /// dropout_key: none: dropout does not act. Throws Fault for a kind of layer that it does not know.
    Result run(const float* parameters, const clients::direct::Batch& batch, std::optional<std::uint64_t> dropout_key);

private:
    using Number = Tape::Number;
    using Numbers = std::vector<Number>;
    using Layers = std::vector<clients::PlannedLayer>;
    using Layer = clients::PlannedLayer;

    Numbers through(const Layers& layers, Numbers x);
    Numbers through(const Layer& layer, const Numbers& x);
    Numbers linear(const Layer& layer, const Numbers& x);
    Numbers convolution(const Layer& layer, const Numbers& x);
    Numbers pool(const Layer& layer, const Numbers& x, bool largest);
    Number largest_of(const Numbers& square);
    Numbers norm(const Layer& layer, const Numbers& x, std::size_t groups, std::size_t of_scale);
    Numbers embedding(const Layer& layer, const Numbers& x);
    Numbers dropout(const Layer& layer, const Numbers& x, bool whole_channels);
    Numbers sum(const Numbers& a, const Numbers& b);
    Numbers each(const Numbers& x, double (*function)(double), double (*slope)(double), double (*size_of_slope)(double));
    Number class_loss(const Numbers& scores, std::size_t label);
    Number numbers_loss(const Numbers& answers, const float* wanted, double& absolute);

    std::size_t weight_of(const Layer& layer) const;
    std::optional<std::size_t> bias_of(const Layer& layer) const;

    clients::ModelSpec spec_;
    aggregation::Layout layout_;
    Layers plan_;
    Tape tape_;
    std::optional<std::uint64_t> dropout_key_;
    std::uint32_t row_ = 0, drops_ = 0;  // of the example in hand
    double edge_ = 0.0;
};

}  // namespace fedhive::testing
