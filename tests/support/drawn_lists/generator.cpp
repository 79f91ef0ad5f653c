#include "tests/support/drawn_lists/generator.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/models/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fedhive::testing {

namespace {

using clients::LayerList;
using clients::Shape;

/// Limits of the reference's memory per example: products of the forward pass, and values between two layers.
constexpr double kMostFlops = 120'000.0, kMostValues = 600.0;
constexpr std::size_t kMostEntries = 40;

class Drawing {
public:
    Drawing(const Choose& choose, bool dropout) : choose_(choose), dropout_(dropout) {}

    clients::ModelSpec draw() {
        clients::ModelSpec spec;
        spec.name.set(clients::kListedModel);
        draw_input(spec.input);
        for (std::uint64_t i = 0, wanted = choose_(8); i < wanted; ++i) draw_layer(any_, 0);
        ends_ = true;
        if (shape_.size() > 1) add("flatten");
        if (!has_parameters_) add("linear", {some({1, 2, 5, 16, 17, 40})});
        spec.layers = list_;
        if (choose_(3) == 0)
            spec.target = {clients::TargetKind::Numbers, static_cast<std::uint32_t>(shape_[0])};
        else
            spec.num_classes = shape_[0];
        return spec;
    }

private:
    float some(std::initializer_list<float> values) { return *(values.begin() + choose_(values.size())); }
    std::int64_t side(std::uint64_t most) { return 1 + static_cast<std::int64_t>(choose_(most)); }
    bool is_image() const { return shape_.size() == 3; }
    bool is_row() const { return shape_.size() == 1; }
    bool is_sequence() const { return shape_.size() == 2; }
    float channels() const { return static_cast<float>(shape_[0]); }
    float features() const { return static_cast<float>(shape_.back()); }

    void draw_input(clients::ExampleShape& input) {
        switch (choose_(5)) {
            case 0:
                input = {side(20), 1, 1, 0};
                break;
            case 1:
            case 2:
                input = {side(6), 1, 1, side(9)};
                break;
            default:
                input = {choose_(3) == 0 ? std::int64_t{16} : side(3), side(9), side(9), 0};
        }
        shape_ = clients::input_shape(input);
        of_host_ = choose_(3) == 0;
        if (input.vocabulary > 0)
            add("embedding", {static_cast<float>(side(6)), some({0, static_cast<float>(input.vocabulary + 1)})});
    }

    /// Appends the layer if its shape rules allow it.
    bool add(std::string_view kind, const std::vector<float>& arguments = {}) {
        const clients::LayerSpec& found = *std::ranges::find(clients::layer_catalog(), kind, &clients::LayerSpec::name);
        Values values;
        for (std::size_t i = 0; i < found.keys.size(); ++i) {
            const KeySpec& key = found.keys[i];
            const float given = i < arguments.size() ? arguments[i] : clients::default_argument(key);
            const auto integer = static_cast<std::int64_t>(given);
            if (std::holds_alternative<double>(key.default_value))
                values.set(key.name, static_cast<double>(given));
            else if (std::holds_alternative<bool>(key.default_value))
                values.set(key.name, integer > 0);
            else if (std::holds_alternative<std::int64_t>(key.default_value))
                values.set(key.name, integer);
            else
                values.set(key.name, found.takes_tokens || integer > 0 ? std::optional(integer) : std::nullopt);
        }
        try {
            const clients::LayerFit fit = found.fit(values, shape_);
            const bool too_large = fit.flops > flops_ || clients::num_values(fit.out) > kMostValues;
            if (!ends_ && (too_large || list_.entries().size() > kMostEntries)) return false;
            flops_ -= fit.flops;
            has_parameters_ = has_parameters_ || !fit.parameters.empty();
            shape_ = fit.out;
        } catch (const ConfigError&) {
            return false;
        }
        list_.add(kind, arguments);
        return true;
    }

    /// Draws a kind from these lists; if it does not fit, another one.
    using Kinds = std::vector<std::string>;
    bool draw_layer(const Kinds& kinds, int depth) {
        for (int tries = 0; tries < 12; ++tries)
            if (draw_kind(kinds[choose_(kinds.size())], depth, &kinds == &keeping_)) return true;
        return false;
    }

    /// keeps: only if the shape stays.
    bool draw_kind(const std::string& kind, int depth, bool keeps) {
        if (kind == "residual") return depth < 2 && draw_residual(depth + 1, keeps);
        if (kind == "flatten" && keeps && !is_row()) return false;
        if (kind == "batch_norm" || kind == "gelu") return add(kind);
        if (kind == "linear") return !is_image() && add_linear(keeps ? features() : some({1, 2, 5, 16, 17, 40}));
        if (kind == "layer_norm")
            // Of images: LibTorch alone. Of one value: 0, whose gradient has no digits to compare.
            return !is_image() && !(is_row() && features() == 1) &&
                   add(kind, {is_row() || features() == 1 ? 0.0F : some({0, 1})});
        if (kind == "scale") return add(kind, {some({0.5F, -2, 1})});
        if (kind == "attention")
            return is_sequence() &&
                   add(kind, {some({1, 2, 3, features()}), some({0, 1}), dropout_ ? some({0, 0.3F}) : 0.0F, some({0, 0, 3})});
        if (kind == "lstm" || kind == "gru") {
            const bool both_ways = some({0, 0, 1}) > 0 && (!keeps || shape_.back() % 2 == 0);
            const float hidden = !keeps ? some({1, 5, 16, 17}) : both_ways ? features() / 2 : features();
            return is_sequence() && add(kind, {hidden, some({1, 2}), keeps ? 1.0F : some({0, 1}), both_ways ? 1.0F : 0.0F,
                                               dropout_ ? some({0, 0.3F}) : 0.0F});
        }
        if (kind == "position") return is_sequence() && add(kind);
        if (kind == "last_position" || kind == "mean") return is_sequence() && !keeps && add(kind);
        if (kind == "dropout" || kind == "dropout2d") return add(kind, {dropout_ ? some({0, 0.25, 0.5}) : 0.0F});
        if (kind == "channel_shuffle") return is_image() && add(kind, {some({1, 2, 3, channels()})});
        if (kind == "group_norm") return is_image() && add(kind, {some({1, 2, 3, channels()})});
        if (kind == "max_pool") return add_pool(kind, keeps ? some({1, 3}) : some({2, 1, 2, 3}), keeps);
        if (kind == "avg_pool") {
            const bool whole = is_image() && (of_host_ || shape_[1] == shape_[2]);  // blocks pool whole squares alone
            return add_pool(kind, keeps ? some({1, 3}) : whole ? some({0, 1, 2, 3}) : some({1, 2, 3}), keeps);
        }
        if (kind != "conv2d") return add(kind);
        if (keeps) return is_image() && change(channels(), 1);
        const float kernel = some({1, 2, 3, 4, 5, 6});
        const float groups = !of_host_ || !is_image() ? 1.0F : some({1, 1, 1, 2, channels(), channels()});
        const float out = groups == 1.0F ? some({1, 2, 3, 5, 8, 16, 17, 32}) : groups * some({1, 1, 2, 3});
        return add(kind, {out, kernel, some({1, 1, 2, 3}), static_cast<float>(choose_(static_cast<std::uint64_t>(kernel))),
                          groups, some({1, 0})});
    }

    /// Some without bias, and some with low-rank factors.
    bool add_linear(float out) {
        const bool factors = some({0, 0, 1}) > 0;
        return add("linear", {out, some({1, 1, 0}), factors ? some({1, 3, 17}) : 0.0F, factors ? some({0, 4}) : 0.0F});
    }

    /// Pools whose windows abut; on the host also others, of size 3 those that keep the shape.
    bool add_pool(const std::string& kind, float size, bool keeps) {
        if (keeps && size == 3.0F) return of_host_ && add(kind, {3, 1, 1});
        const bool apart = !keeps && of_host_ && size > 0.0F && some({0, 1}) > 0;
        return apart ? add(kind, {size, some({1, 2, 3}), size > 1.0F ? some({0, 1}) : 0.0F}) : add(kind, {size});
    }

    /// Changes to `to` channels or features; sides become 1 / stride.
    bool change(float to, std::int64_t stride) {
        if (!is_image()) return is_row() && add("linear", {to});
        const bool pools = to == channels() && shape_[1] % stride == 0 && shape_[2] % stride == 0;
        if (pools && choose_(3) == 0) return add(some({0, 1}) > 0 ? "max_pool" : "avg_pool", {static_cast<float>(stride)});
        const float half = some({1, 0, 2});
        const float groups = of_host_ && to == channels() ? some({1, to}) : 1.0F;
        return add("conv2d", {to, 2 * half + 1, static_cast<float>(stride), half, groups, some({1, 0})});
    }

    /// Layers that keep the shape or, with a shortcut, two paths to the same shape.
    bool draw_residual(int depth, bool keeps) {
        const LayerList list = list_;
        const Shape in = shape_;
        const double flops = flops_;
        const bool had_parameters = has_parameters_;
        const auto draw_keeping = [&](std::uint64_t least, std::uint64_t most) {
            bool all = true;
            for (std::uint64_t i = 0, n = least + choose_(most - least + 1); i < n; ++i)
                all = draw_layer(keeping_, depth) && all;
            return all;
        };
        list_.add("residual");
        bool drawn = true;
        if (choose_(2) == 0) {
            drawn = draw_keeping(1, 3);
        } else {
            const bool changes = !keeps && shape_.size() != 2 && choose_(2) == 0;
            const float to = is_image() ? some({1, 3, 16}) : some({1, 5, 17});
            const std::int64_t stride = is_image() ? side(2) : 1;
            for (const bool shortcut : {false, true}) {
                if (shortcut) list_.shortcut();
                shape_ = in;
                drawn =
                    drawn && (changes ? draw_keeping(0, 1) && change(to, stride) && draw_keeping(0, 1) : draw_keeping(1, 2));
            }
        }
        list_.end();
        if (drawn) return true;
        list_ = list;
        shape_ = in;
        flops_ = flops;
        has_parameters_ = had_parameters;
        return false;
    }

    const Kinds any_{"flatten",       "relu",    "tanh",       "conv2d",     "linear",          "max_pool",
                     "avg_pool",      "dropout", "dropout2d",  "group_norm", "layer_norm",      "residual",
                     "residual",      "conv2d",  "batch_norm", "gelu",       "position",        "attention",
                     "last_position", "lstm",    "gru",        "scale",      "channel_shuffle", "mean"};
    const Kinds keeping_{"flatten",  "relu",      "tanh",       "conv2d",     "linear",   "max_pool",       "avg_pool",
                         "dropout",  "dropout2d", "group_norm", "layer_norm", "residual", "batch_norm",     "gelu",
                         "position", "attention", "lstm",       "gru",        "scale",    "channel_shuffle"};
    const Choose& choose_;
    bool dropout_;
    bool of_host_ = false;  // also arguments that thread blocks lack: groups of convolutions, pools whose windows do not abut
    LayerList list_;
    Shape shape_;
    double flops_ = kMostFlops;
    bool has_parameters_ = false;
    bool ends_ = false;  // the end of the list is appended regardless of limits
};

std::string text_of(const std::vector<clients::PlannedLayer>& layers) {
    std::string text;
    for (const clients::PlannedLayer& layer : layers) {
        std::string arguments;
        for (const KeySpec& key : layer.spec().keys) {
            const KeyValue* value = layer.arguments.find(key.name);
            arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", clients::argument_of(*value));
        }
        if (!layer.residual.empty()) arguments = text_of(layer.residual);
        if (!layer.shortcut.empty()) arguments += " | " + text_of(layer.shortcut);
        text += fmt::format("{}{}{}", text.empty() ? "" : " ", layer.spec().name,
                            arguments.empty() ? "" : fmt::format("({})", arguments));
    }
    return text;
}

void add_neighbours(const std::vector<clients::PlannedLayer>& layers, const char* around, Neighbours& all) {
    std::string before = around;
    for (const clients::PlannedLayer& layer : layers) {
        all.emplace_back(before, layer.spec().name);
        before = layer.spec().name;
        for (const auto* list : {&layer.residual, &layer.shortcut})
            if (!list->empty()) add_neighbours(*list, kResidual, all);
    }
    all.emplace_back(before, around);
}

}  // namespace

clients::ModelSpec draw_model(const Choose& choose, bool dropout) { return Drawing(choose, dropout).draw(); }

std::string text_of(const clients::ModelSpec& spec) {
    const bool tells_numbers = spec.target.kind == clients::TargetKind::Numbers;
    return fmt::format(
        "{}: {}, {}", clients::text_of(spec.input), text_of(clients::plan_model(spec)),
        tells_numbers ? fmt::format("{} numbers", spec.target.width) : fmt::format("{} classes", spec.num_classes));
}

Neighbours neighbours_of(const clients::ModelSpec& spec) {
    Neighbours all;
    add_neighbours(clients::plan_model(spec), kModel, all);
    return all;
}

std::size_t draw_batch_size(const Choose& choose) {
    constexpr std::size_t kSizes[] = {1, 4, 5, 2, 3, 9};
    return kSizes[choose(std::size(kSizes))];
}

DrawnStep::DrawnStep(const clients::ModelSpec& drawn, std::size_t batch_size, std::uint64_t seed)
    : spec(drawn), size(batch_size), dropout_key(seed) {
    Stream stream(seed, Purpose::ModelInit);
    const aggregation::Layout layout = clients::model_layout(spec);
    parameters.assign(layout.num_floats(), 0.0F);
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        const double fan_in = static_cast<double>(entry.size) / static_cast<double>(entry.shape[0]);
        const bool variance = entry.name.ends_with(".running_var");
        for (std::size_t i = 0; i < entry.size; ++i) {
            const double value = stream.normal() / std::sqrt(fan_in);
            parameters[entry.offset + i] = static_cast<float>(variance ? 0.5 + value * value : value);
        }
    }
    examples.resize(size * spec.input.num_values());
    for (float& value : examples)
        value = spec.input.vocabulary > 0 ? static_cast<float>(stream.below(static_cast<std::uint64_t>(spec.input.vocabulary)))
                                          : static_cast<float>(stream.normal());
    if (spec.target.kind == clients::TargetKind::Numbers)
        for (std::size_t i = 0; i < size * spec.target.width; ++i) numbers.push_back(static_cast<float>(stream.normal()));
    else
        for (std::size_t i = 0; i < size; ++i)
            labels.push_back(static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(spec.num_classes))));
}

clients::direct::Batch DrawnStep::batch() const {
    return {examples.data(), numbers.empty() ? labels.data() : nullptr, size, numbers.empty() ? nullptr : numbers.data()};
}

}  // namespace fedhive::testing
