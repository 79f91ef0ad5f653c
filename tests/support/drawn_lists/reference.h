// Reference for lists of layers: double precision, from the layers' definitions, one number at a time. Correct and slow.
//
// Every number records its operands and slopes, so gradients follow from the forward pass alone (reverse-mode differentiation).
// There is no handwritten backward pass that could share a mistake with the engine's.
#pragma once

#include "clients/direct/network.h"
#include "clients/models/model_plan.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace fedhive::testing {

/// Numbers in order of creation.
class Tape {
public:
    using Number = std::uint32_t;

    /// Forgets everything but parameters [0, size).
    void begin(const float* parameters, std::size_t size);

    /// A new number; its dependencies must be given directly afterwards.
    Number add(double value);
    void depends(Number on, double slope) { depends(on, slope, std::abs(slope)); }
    /// Adds a dependency; size: magnitude of the terms whose difference is the slope.
    void depends(Number on, double slope, double size) {
        if (size != 0.0 && !is_constant(on)) terms_.push_back({on, slope, size});
    }

    double operator[](Number number) const { return values_[number]; }
    bool is_constant(Number number) const { return number >= num_parameters_ && first_[number] == end_of(number); }

    /// to += weight · d root / d parameters; `sizes` likewise, with magnitudes that do not cancel.
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

/// bias + Σ weights[i] · x[i] over pairs (x, weight), in order of arrival.
class Product {
public:
    Product(Tape& tape, std::optional<std::size_t> bias) : tape_(tape), bias_(bias) {}
    void add(Tape::Number x, std::size_t weight) { pairs_.emplace_back(x, static_cast<Tape::Number>(weight)); }
    Tape::Number made() const {
        double value = bias_ ? tape_[static_cast<Tape::Number>(*bias_)] : 0.0;
        for (const auto& [x, weight] : pairs_) value += tape_[x] * tape_[weight];
        const Tape::Number number = tape_.add(value);
        if (bias_) tape_.depends(static_cast<Tape::Number>(*bias_), 1.0);
        for (const auto& [x, weight] : pairs_) {
            tape_.depends(x, tape_[weight]);
            tape_.depends(weight, tape_[x]);
        }
        return number;
    }

private:
    Tape& tape_;
    std::optional<std::size_t> bias_;
    std::vector<std::pair<Tape::Number, Tape::Number>> pairs_;
};

class Reference {
public:
    explicit Reference(const clients::ModelSpec& spec);

    struct Result {
        double loss = 0.0, absolute = 0.0;  // means over the batch
        std::vector<double> gradient;       // [P], 0 for buffers
        std::vector<double> sizes;          // [P]: the gradient without cancellation between its terms
        std::vector<double> moved;          // [P]: the buffers after the pass; parameters as they were
        /// Smallest distance of a value from a jump in slope: a ReLU's 0, or a tie of a pool's two largest; 0 where batch norm divides by rounding errors. Below the rounding
        /// of a float, engines may differ and still be right.
        double edge = std::numeric_limits<double>::infinity();
    };
    enum class For { Training, Evaluation };
    /// dropout_key: none: no dropout. Throws Fault for an unknown kind of layer.
    Result run(const float* parameters, const clients::direct::Batch& batch, std::optional<std::uint64_t> dropout_key,
               For purpose = For::Training);

private:
    using Number = Tape::Number;
    using Numbers = std::vector<Number>;
    using Batch = std::vector<Numbers>;
    using Layers = std::vector<clients::PlannedLayer>;
    using Layer = clients::PlannedLayer;

    Batch through(const Layers& layers, Batch x);
    Batch through(const Layer& layer, const Batch& x);
    Numbers of_example(const Layer& layer, const Numbers& x);
    Batch batch_norm(const Layer& layer, const Batch& x);
    Numbers linear(const Layer& layer, const Numbers& x);
    /// Rows of `in` numbers times weights [out][in].
    Numbers project(const Numbers& x, std::size_t in, std::size_t out, std::size_t weight, std::optional<std::size_t> bias);
    /// y + scale · B A of rows of `in` numbers, with the layer's factors after `prefix`; y if it has none.
    Numbers with_low_rank(const Layer& layer, const std::string& prefix, const Numbers& x, std::size_t in, const Numbers& y);
    Numbers scaled(const Numbers& x, double by);
    Numbers of_sequence(const Layer& layer, const Numbers& x);
    Numbers attention(const Layer& layer, const Numbers& x);
    Numbers recurrent(const Layer& layer, const Numbers& x);
    /// One layer, its tensors' names with `end`; positions in the order of steps.
    Numbers lstm_layer(const Layer& layer, const std::string& end, std::size_t in, const Numbers& x);
    Numbers gru_layer(const Layer& layer, const std::string& end, std::size_t in, const Numbers& x);
    /// W_hh h + b_hh; without a state b_hh.
    Numbers of_state(const Layer& layer, const std::string& end, std::size_t rows, const Numbers& state);
    Numbers sigmoid(const Numbers& x);
    Numbers bounded(const Numbers& x);
    Numbers difference(const Numbers& a, const Numbers& b);
    Numbers product_of_each(const Numbers& a, const Numbers& b);
    Numbers softmax(const Numbers& scores);
    Numbers convolution(const Layer& layer, const Numbers& x);
    Numbers shuffled(const Layer& layer, const Numbers& x);
    Numbers pool(const Layer& layer, const Numbers& x, bool largest);
    Number largest_of(const Numbers& square);
    Numbers norm(const Layer& layer, const Numbers& x, std::size_t groups, std::size_t of_scale);
    Numbers embedding(const Layer& layer, const Numbers& x);
    Numbers dropout(const Layer& layer, const Numbers& x, bool whole_channels);
    /// Dropout `number` of the list; x[0] is value `first` of the batch.
    Numbers dropped(const Numbers& x, double p, std::uint32_t number, std::size_t first);
    Numbers sum(const Numbers& a, const Numbers& b);
    Numbers each(const Numbers& x, double (*function)(double), double (*slope)(double), double (*size_of_slope)(double));
    Number class_loss(const Numbers& scores, std::size_t label);
    Number numbers_loss(const Numbers& answers, const float* wanted, double& absolute);

    std::size_t place_of(const Layer& layer, const std::string& tensor) const;
    std::size_t weight_of(const Layer& layer) const;
    std::optional<std::size_t> bias_of(const Layer& layer) const;

    clients::ModelSpec spec_;
    aggregation::Layout layout_;
    Layers plan_;
    Tape tape_;
    std::optional<std::uint64_t> dropout_key_;
    std::uint32_t row_ = 0, drops_ = 0;  // the current example; the dropout layers before the current one
    bool training_ = true;
    double edge_ = 0.0;
    std::vector<double> moved_;
};

}  // namespace fedhive::testing
