#include "tests/support/drawn_lists/reference.h"

#include "aggregation/base/error.h"
#include "clients/direct/shared_rules.h"

#include <algorithm>
#include <cmath>

namespace fedhive::testing {

namespace {

/// Variance of a batch's values below which they are alike up to a few hundred of a float's rounding errors, which batch norm magnifies.
constexpr double kAlike = 1e-9;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::size_t argument(const clients::PlannedLayer& layer, const char* key) { return size(layer.arguments.integer(key)); }

}  // namespace

void Tape::begin(const float* parameters, std::size_t size) {
    num_parameters_ = size;
    values_.assign(parameters, parameters + size);
    first_.assign(size, 0);
    terms_.clear();
}

Tape::Number Tape::add(double value) {
    values_.push_back(value);
    first_.push_back(terms_.size());
    return static_cast<Number>(values_.size() - 1);
}

void Tape::add_slopes(Number root, double weight, std::vector<double>& to, std::vector<double>& sizes) const {
    std::vector<double> slopes(root + 1, 0.0), all(root + 1, 0.0);
    slopes[root] = all[root] = weight;
    for (Number number = root; number >= num_parameters_; --number)
        for (std::size_t t = first_[number]; t < end_of(number); ++t) {
            slopes[terms_[t].on] += slopes[number] * terms_[t].slope;
            all[terms_[t].on] += all[number] * terms_[t].size;
        }
    for (std::size_t i = 0; i < num_parameters_; ++i) {
        to[i] += slopes[i];
        sizes[i] += all[i];
    }
}

Reference::Reference(const clients::ModelSpec& spec)
    : spec_(spec), layout_(clients::model_layout(spec)), plan_(clients::plan_model(spec)) {}

Reference::Result Reference::run(const float* parameters, const clients::direct::Batch& batch,
                                 std::optional<std::uint64_t> dropout_key, For purpose) {
    dropout_key_ = dropout_key;
    training_ = purpose == For::Training;
    Result result;
    result.gradient.assign(layout_.num_floats(), 0.0);
    result.sizes = result.gradient;
    edge_ = result.edge;
    const double share = 1.0 / static_cast<double>(batch.size);
    tape_.begin(parameters, layout_.num_floats());
    moved_.assign(parameters, parameters + layout_.num_floats());
    drops_ = 0;
    Batch x(batch.size, Numbers(spec_.input.num_values()));
    const float* next = batch.examples;
    for (Numbers& example : x)
        for (Number& value : example) value = tape_.add(static_cast<double>(*next++));
    const Batch answers = through(plan_, x);
    Numbers losses;
    for (std::size_t r = 0; r < batch.size; ++r) {
        double absolute = 0.0;
        losses.push_back(batch.numbers != nullptr ? numbers_loss(answers[r], batch.numbers + r * answers[r].size(), absolute)
                                                  : class_loss(answers[r], size(batch.labels[r])));
        result.loss += share * tape_[losses.back()];
        result.absolute += share * absolute;
    }
    const Number loss = tape_.add(result.loss);
    for (const Number each : losses) tape_.depends(each, share);
    tape_.add_slopes(loss, 1.0, result.gradient, result.sizes);
    result.edge = edge_;
    result.moved = moved_;
    return result;
}

Reference::Batch Reference::through(const Layers& layers, Batch x) {
    for (const Layer& layer : layers) x = through(layer, x);
    return x;
}

Reference::Batch Reference::through(const Layer& layer, const Batch& x) {
    const std::string& kind = layer.spec().name;
    if (kind == "batch_norm") return batch_norm(layer, x);
    Batch y(x.size());
    if (kind == "residual") {
        const Batch within = through(layer.residual, x), beside = through(layer.shortcut, x);
        for (std::size_t r = 0; r < x.size(); ++r) y[r] = sum(within[r], beside[r]);
        return y;
    }
    for (row_ = 0; row_ < x.size(); ++row_) y[row_] = of_example(layer, x[row_]);
    if (kind == "dropout" || kind == "dropout2d") ++drops_;
    if (layer.arguments.find("dropout") != nullptr && layer.arguments.number("dropout") > 0.0)
        drops_ += kind == "attention" ? 1 : static_cast<std::uint32_t>(argument(layer, "layers")) - 1;
    return y;
}

/// The layer's output for example row_.
Reference::Numbers Reference::of_example(const Layer& layer, const Numbers& x) {
    const std::string& kind = layer.spec().name;
    if (kind == "flatten") return x;
    if (kind == "linear") return linear(layer, x);
    if (kind == "conv2d") return convolution(layer, x);
    if (kind == "max_pool" || kind == "avg_pool") return pool(layer, x, kind == "max_pool");
    if (kind == "channel_shuffle") return shuffled(layer, x);
    if (kind == "group_norm") return norm(layer, x, argument(layer, "groups"), x.size() / size(layer.in[0]));
    if (kind == "layer_norm")
        return layer.arguments.flag("each_position") ? norm(layer, x, size(layer.in[0]), 0) : norm(layer, x, 1, 1);
    if (kind == "position" || kind == "attention" || kind == "last_position" || kind == "mean" || kind == "gelu" ||
        kind == "lstm" || kind == "gru")
        return of_sequence(layer, x);
    if (kind == "embedding") return embedding(layer, x);
    if (kind == "scale") return scaled(x, layer.arguments.number("by"));
    if (kind == "dropout" || kind == "dropout2d") return dropout(layer, x, kind == "dropout2d");
    if (kind == "tanh")
        return each(
            x, [](double v) { return std::tanh(v); }, [](double v) { return 1.0 - std::tanh(v) * std::tanh(v); },
            [](double v) { return 1.0 + std::tanh(v) * std::tanh(v); });
    FEDHIVE_CHECK(kind == "relu", "the reference has no {}", kind);
    for (const Number number : x)
        if (!tape_.is_constant(number)) edge_ = std::min(edge_, std::abs(tape_[number]));
    const auto above = [](double v) { return v > 0.0 ? 1.0 : 0.0; };
    return each(
        x, [](double v) { return std::max(v, 0.0); }, above, above);
}

std::size_t Reference::place_of(const Layer& layer, const std::string& tensor) const {
    const auto& entries = layout_.entries();
    return std::ranges::find(entries, layer.name + "." + tensor, &aggregation::LayoutEntry::name)->offset;
}

std::size_t Reference::weight_of(const Layer& layer) const { return place_of(layer, "weight"); }

std::optional<std::size_t> Reference::bias_of(const Layer& layer) const {
    const auto& entries = layout_.entries();
    const auto found = std::ranges::find(entries, layer.name + ".bias", &aggregation::LayoutEntry::name);
    return found == entries.end() ? std::nullopt : std::optional(found->offset);
}

Reference::Numbers Reference::each(const Numbers& x, double (*function)(double), double (*slope)(double),
                                   double (*size_of_slope)(double)) {
    Numbers y;
    for (const Number number : x) {
        y.push_back(tape_.add(function(tape_[number])));
        tape_.depends(number, slope(tape_[number]), size_of_slope(tape_[number]));
    }
    return y;
}

Reference::Numbers Reference::sum(const Numbers& a, const Numbers& b) {
    Numbers y;
    for (std::size_t i = 0; i < a.size(); ++i) {
        y.push_back(tape_.add(tape_[a[i]] + tape_[b[i]]));
        tape_.depends(a[i], 1.0);
        tape_.depends(b[i], 1.0);
    }
    return y;
}

/// Stored channel by channel.
Reference::Numbers Reference::shuffled(const Layer& layer, const Numbers& x) {
    const std::size_t groups = argument(layer, "groups"), channels = size(layer.in[0]), pixels = x.size() / channels;
    Numbers y;
    for (std::size_t c = 0; c < channels; ++c) {
        const auto from = x.begin() + static_cast<std::ptrdiff_t>((c % groups * (channels / groups) + c / groups) * pixels);
        y.insert(y.end(), from, from + static_cast<std::ptrdiff_t>(pixels));
    }
    return y;
}

Reference::Numbers Reference::linear(const Layer& layer, const Numbers& x) {
    const std::size_t in = size(layer.in.back());
    return with_low_rank(layer, "", x, in, project(x, in, size(layer.fit.out.back()), weight_of(layer), bias_of(layer)));
}

Reference::Numbers Reference::convolution(const Layer& layer, const Numbers& x) {
    const std::size_t weight = weight_of(layer), kernel = argument(layer, "kernel");
    const std::int64_t stride = layer.arguments.integer("stride"), padding = layer.arguments.integer("padding");
    const clients::Shape &in = layer.in, &out = layer.fit.out;
    const std::optional<std::size_t> bias = bias_of(layer);
    const std::size_t groups = argument(layer, "groups"), channels = size(in[0]) / groups, of_group = size(out[0]) / groups;
    Numbers y;
    for (std::size_t o = 0; o < size(out[0]); ++o)
        for (std::int64_t i = 0; i < out[1]; ++i)
            for (std::int64_t j = 0; j < out[2]; ++j) {
                Product product(tape_, bias ? std::optional(*bias + o) : std::nullopt);
                for (std::size_t tap = 0; tap < channels * kernel * kernel; ++tap) {
                    const std::int64_t line = i * stride - padding + static_cast<std::int64_t>(tap / kernel % kernel);
                    const std::int64_t pixel = j * stride - padding + static_cast<std::int64_t>(tap % kernel);
                    if (line < 0 || line >= in[1] || pixel < 0 || pixel >= in[2]) continue;
                    const std::size_t channel = o / of_group * channels + tap / (kernel * kernel);
                    product.add(x[(channel * size(in[1]) + size(line)) * size(in[2]) + size(pixel)],
                                weight + o * channels * kernel * kernel + tap);
                }
                y.push_back(product.made());
            }
    return y;
}

Reference::Numbers Reference::pool(const Layer& layer, const Numbers& x, bool largest) {
    const std::int64_t height = layer.in[1], width = layer.in[2], given = layer.arguments.integer("size");
    const std::int64_t down = given > 0 ? given : height, across = given > 0 ? given : width;
    const auto left_out = [&](const char* key) { return layer.arguments.optional_integer(key).value_or(0) == 0; };
    const std::int64_t stride = left_out("stride") ? 0 : *layer.arguments.optional_integer("stride"),
                       padding = left_out("padding") ? 0 : *layer.arguments.optional_integer("padding");
    const double share = 1.0 / static_cast<double>(down * across);  // the padding's zeros count
    Numbers y;
    for (std::int64_t c = 0; c < layer.in[0]; ++c)
        for (std::int64_t i = -padding; i + down <= height + padding; i += stride > 0 ? stride : down)
            for (std::int64_t j = -padding; j + across <= width + padding; j += stride > 0 ? stride : across) {
                Numbers square;
                for (std::int64_t k = 0; k < down * across; ++k) {
                    const std::int64_t line = i + k / across, pixel = j + k % across;
                    if (line < 0 || line >= height || pixel < 0 || pixel >= width) continue;
                    square.push_back(x[size((c * height + line) * width + pixel)]);
                }
                if (largest) {
                    y.push_back(largest_of(square));
                    continue;
                }
                double mean = 0.0;
                for (const Number number : square) mean += share * tape_[number];
                y.push_back(tape_.add(mean));
                for (const Number number : square) tape_.depends(number, share);
            }
    return y;
}

/// The largest; the first of equal ones.
Tape::Number Reference::largest_of(const Numbers& square) {
    Number best = square.front();
    for (const Number number : square)
        if (tape_[number] > tape_[best]) best = number;
    for (const Number number : square)
        if (number != best && !(tape_.is_constant(number) && tape_.is_constant(best)))
            edge_ = std::min(edge_, tape_[best] - tape_[number]);
    const Number largest = tape_.add(tape_[best]);
    tape_.depends(best, 1.0);
    return largest;
}

/// Normalises groups of equal size to mean 0 and variance 1; value i has scale and shift i / of_scale, with of_scale 0 its number in
/// the group.
Reference::Numbers Reference::norm(const Layer& layer, const Numbers& x, std::size_t groups, std::size_t of_scale) {
    const std::size_t weight = weight_of(layer), bias = *bias_of(layer), width = x.size() / groups;
    const double share = 1.0 / static_cast<double>(width);
    Numbers y;
    for (std::size_t g = 0; g < groups; ++g) {
        double of_mean = 0.0, of_variance = 0.0;
        for (std::size_t i = g * width; i < (g + 1) * width; ++i) of_mean += share * tape_[x[i]];
        const Number mean = tape_.add(of_mean);
        for (std::size_t i = g * width; i < (g + 1) * width; ++i) tape_.depends(x[i], share);
        for (std::size_t i = g * width; i < (g + 1) * width; ++i) of_variance += share * std::pow(tape_[x[i]] - tape_[mean], 2);
        const Number inverse = tape_.add(1.0 / std::sqrt(of_variance + 1e-5));
        const double scale = tape_[inverse];  // the mean's slope is 0, since deviations sum to 0
        for (std::size_t i = g * width; i < (g + 1) * width; ++i)
            tape_.depends(x[i], -std::pow(scale, 3) * share * (tape_[x[i]] - tape_[mean]));
        for (std::size_t i = g * width; i < (g + 1) * width; ++i) {
            const std::size_t at = of_scale > 0 ? i / of_scale : i % width;
            const auto w = static_cast<Number>(weight + at), b = static_cast<Number>(bias + at);
            const double off = tape_[x[i]] - tape_[mean];
            y.push_back(tape_.add(off * scale * tape_[w] + tape_[b]));
            tape_.depends(x[i], scale * tape_[w]);
            tape_.depends(mean, -scale * tape_[w]);
            tape_.depends(inverse, off * tape_[w]);
            tape_.depends(w, off * scale);
            tape_.depends(b, 1.0);
        }
    }
    return y;
}

/// By the batch's mean and variance of each channel, or by running ones: in an evaluation, or if a channel has one value.
Reference::Batch Reference::batch_norm(const Layer& layer, const Batch& x) {
    const std::size_t weight = weight_of(layer), bias = *bias_of(layer), of_mean = place_of(layer, "running_mean"),
                      of_variance = place_of(layer, "running_var");
    const std::size_t channels = size(layer.in[0]), pixels = x.front().size() / channels, count = x.size() * pixels;
    Batch y(x.size(), Numbers(x.front().size()));
    for (std::size_t c = 0; c < channels; ++c) {
        Numbers values;
        for (const Numbers& example : x)
            for (std::size_t p = 0; p < pixels; ++p) values.push_back(example[c * pixels + p]);
        double mean = moved_[of_mean + c], variance = moved_[of_variance + c];
        const bool of_batch = training_ && count > 1;
        const double share = 1.0 / static_cast<double>(count);
        if (of_batch) {
            mean = variance = 0.0;
            for (const Number value : values) mean += share * tape_[value];
            for (const Number value : values) variance += share * std::pow(tape_[value] - mean, 2);
            double largest = 0.0;
            for (const Number value : values) largest = std::max(largest, std::abs(tape_[value]));
            if (variance < kAlike && largest > 0.0) edge_ = 0.0;
            moved_[of_mean + c] = 0.9 * moved_[of_mean + c] + 0.1 * mean;
            moved_[of_variance + c] =
                0.9 * moved_[of_variance + c] + 0.1 * variance * static_cast<double>(count) / static_cast<double>(count - 1);
        }
        const Number middle = tape_.add(mean);
        for (const Number value : values)
            if (of_batch) tape_.depends(value, share);
        const double scale = 1.0 / std::sqrt(variance + 1e-5);
        const Number inverse = tape_.add(scale);  // the mean's slope is 0, since deviations sum to 0
        for (const Number value : values)
            if (of_batch) tape_.depends(value, -std::pow(scale, 3) * share * (tape_[value] - mean));
        for (std::size_t i = 0; i < count; ++i) {
            const auto w = static_cast<Number>(weight + c), b = static_cast<Number>(bias + c);
            const double off = tape_[values[i]] - mean;
            const Number made = tape_.add(off * scale * tape_[w] + tape_[b]);
            tape_.depends(values[i], scale * tape_[w]);
            tape_.depends(middle, -scale * tape_[w]);
            tape_.depends(inverse, off * tape_[w]);
            tape_.depends(w, off * scale);
            tape_.depends(b, 1.0);
            y[i / pixels][c * pixels + i % pixels] = made;
        }
    }
    return y;
}

Reference::Numbers Reference::embedding(const Layer& layer, const Numbers& x) {
    const std::size_t weight = weight_of(layer), dim = argument(layer, "dim");
    Numbers y;
    for (const Number token : x)
        for (std::size_t i = 0; i < dim; ++i)
            y.push_back(static_cast<Number>(weight + static_cast<std::size_t>(tape_[token]) * dim + i));
    return y;
}

Reference::Numbers Reference::dropped(const Numbers& x, double p, std::uint32_t number, std::size_t first) {
    if (!dropout_key_ || p == 0.0) return x;
    const std::uint64_t key = clients::direct::shared::dropout_key(*dropout_key_, number);
    Numbers y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double bits = clients::direct::shared::drawn_bits(static_cast<std::uint32_t>(first + i), key);
        const double factor =
            bits < std::round(p * 4294967296.0) ? 0.0 : static_cast<double>(static_cast<float>(1.0 / (1.0 - p)));
        y.push_back(tape_.add(tape_[x[i]] * factor));
        tape_.depends(x[i], factor);
    }
    return y;
}

/// Uses the engine's random bits in its order: images pixel by pixel.
Reference::Numbers Reference::dropout(const Layer& layer, const Numbers& x, bool whole_channels) {
    const double p = layer.arguments.number("p");
    if (!dropout_key_) return x;
    const std::uint64_t key = *dropout_key_ ^ (std::uint64_t{drops_} + 1) * 0x9E3779B97F4A7C15U;
    const bool image = layer.in.size() == 3;
    const std::size_t channels = image ? size(layer.in[0]) : x.size(), pixels = x.size() / channels;
    Numbers y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i / pixels,
                          at = whole_channels ? row_ * channels + c : (row_ * pixels + i % pixels) * channels + c;
        const double bits = clients::direct::shared::drawn_bits(static_cast<std::uint32_t>(at), key);
        const double factor =
            bits < std::round(p * 4294967296.0) ? 0.0 : static_cast<double>(static_cast<float>(1.0 / (1.0 - p)));
        y.push_back(tape_.add(tape_[x[i]] * factor));
        tape_.depends(x[i], factor);
    }
    return y;
}

Tape::Number Reference::class_loss(const Numbers& scores, std::size_t label) {
    double largest = tape_[scores.front()], total = 0.0;
    for (const Number score : scores) largest = std::max(largest, tape_[score]);
    for (const Number score : scores) total += std::exp(tape_[score] - largest);
    const Number loss = tape_.add(std::log(total) + largest - tape_[scores[label]]);
    for (std::size_t c = 0; c < scores.size(); ++c) {
        const double part = std::exp(tape_[scores[c]] - largest) / total, of_label = c == label ? 1.0 : 0.0;
        tape_.depends(scores[c], part - of_label, part + of_label);
    }
    return loss;
}

Tape::Number Reference::numbers_loss(const Numbers& answers, const float* wanted, double& absolute) {
    const double share = 1.0 / static_cast<double>(answers.size());
    double squares = 0.0;
    std::vector<double> errors;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        errors.push_back(tape_[answers[i]] - static_cast<double>(wanted[i]));
        squares += share * errors[i] * errors[i];
        absolute += share * std::abs(errors[i]);
    }
    const Number loss = tape_.add(squares);
    for (std::size_t i = 0; i < answers.size(); ++i) tape_.depends(answers[i], 2.0 * share * errors[i]);
    return loss;
}

}  // namespace fedhive::testing
