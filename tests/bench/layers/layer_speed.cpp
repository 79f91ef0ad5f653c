// Time of the direct engine's local step by layer, compared with LibTorch's time for the same layers and with the core's peak:
// `fedhive bench --layers`.
//
//   layer_speed CONFIG SECONDS [KEY=VALUE…]      measures for SECONDS, one thread, everything in turn; prints a JSON object
//                                                with times in seconds, described in docs/speed.md
#include "aggregation/base/error.h"
#include "clients/engine/direct_step.h"
#include "clients/engine/libtorch_step.h"
#include "clients/trainers/engine.h"
#include "sim/config/load_config.h"
#include "sim/plan/experiment.h"
#include "tests/bench/layers/fma_peak.h"
#include "tests/bench/layers/layer_profiler.h"
#include "tests/bench/layers/libtorch_layers.h"
#include "tests/bench/layers/products.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

using namespace fedhive;
using namespace fedhive::bench;
using clients::PlannedLayer;
using clients::direct::Op;
using clients::direct::StepPhase;

namespace {

/// An operation, with the sum of its pieces in a step.
struct Measured {
    LibtorchLayers::Layers layers;
    std::vector<const PlannedLayer*> inner;  // of a residual that is computed as one operation
    bool goes_back = true;                   // an operation up to this one is trained
    bool asked_for = true;                   // the input gradient is needed
    double forward_s = 0.0, data_gradient_s = 0.0, weight_gradient_s = 0.0;
    std::optional<LibtorchLayers> libtorch;
};

void add_by_number(const std::vector<PlannedLayer>& layers, std::map<std::string, const PlannedLayer*>& all) {
    for (const PlannedLayer& layer : layers) {
        all[layer.number] = &layer;
        add_by_number(layer.residual, all);
        add_by_number(layer.shortcut, all);
    }
}

template <typename Work>
double seconds_of(const Work& work) {
    const std::int64_t start = now_ns();
    work();
    return seconds_between(start, now_ns());
}

/// JSON value: null if nothing was measured.
nlohmann::json told(double seconds) { return std::isfinite(seconds) ? nlohmann::json(seconds) : nlohmann::json(); }

class Bench {
public:
    explicit Bench(const sim::Experiment& run)
        : run_(run),
          plan_(clients::plan_model(run.model.spec)),
          frozen_(run.model.frozen.num_floats()),
          network_(run.model.spec, clients::direct::kernels(), frozen_),
          direct_(network_, run.data.dataset.train(), run.worker_plan.normalization.get(), run.worker_plan.optimizer),
          model_(run.model.spec, aggregation::MemorySpace::Host, frozen_),
          libtorch_(model_, run.data.dataset.train(), run.worker_plan.normalization.get(), run.worker_plan.optimizer),
          global_(run.model.layout.num_floats()) {
        add_by_number(plan_, by_number_);
        const aggregation::Layout whole = clients::whole_layout(run.model.spec);
        std::vector<float> first(whole.num_floats());
        clients::initial_parameters(run.model.spec, whole, run.config.seed, first);
        std::ranges::copy(aggregation::part_of(whole, first, run.model.layout), global_.begin());
        std::ranges::copy(aggregation::part_of(whole, first, run.model.frozen), frozen_.begin());
        const std::size_t there = run.data.dataset.train().size();
        for (std::size_t i = 0; i < run.worker_plan.training.batch_size; ++i)
            batch_.push_back(static_cast<std::uint32_t>(i % there));
    }

    void measure(double seconds) {
        find_operations();
        const std::int64_t start = now_ns();
        do {
            const double fma_s = seconds_of([&] { fma_ = multiply_and_add(kernels(), 50'000); });
            peak_ = std::max(peak_, fma_.flops / fma_s);
            // Runs of the same kind: the first one suffers from the caches that the other kinds left behind.
            for (int i = 0; i < 3; ++i) shorten(step_s_, step(direct_));
            for (int i = 0; i < 3; ++i) profiled_step();
            for (int i = 0; i < 2; ++i) shorten(libtorch_step_s_, step(libtorch_));
            for (Measured& one : operations_)
                if (one.libtorch) one.libtorch->run();
            ++turns_;
        } while (seconds_between(start, now_ns()) < seconds);
        add_pieces();
    }

    nlohmann::json found() const {
        nlohmann::json layers = nlohmann::json::array();
        for (const Measured& one : operations_) layers.push_back(told_of(one));
        return {{"model", run_.model.spec.name.get()},
                {"kernels", kernels()},
                {"batch_size", batch_.size()},
                {"turns", turns_},
                {"peak_flops", peak_},
                {"fma_sum", fma_.sum},
                {"step_s", step_s_},
                {"loss_s", loss_s_},
                {"optimizer_s", optimizer_s_},
                {"rest_s", rest_s_},
                {"libtorch_step_s", libtorch_step_s_},
                {"layers", layers}};
    }

private:
    static std::string kernels() { return std::string(clients::direct::kernels().name); }
    static void shorten(double& least, double seconds) { least = std::min(least, seconds); }

    /// Seconds of a client's first step from the experiment's initial model; all steps are the same.
    double step(clients::TrainingStep& step) {
        clients::ClientStart start;
        start.global = global_;
        start.dropout_seed = 1;
        step.begin(start);
        return seconds_of([&] { step.step(batch_); });
    }

    void profiled_step() {
        clients::ClientStart start;
        start.global = global_;
        start.dropout_seed = 1;
        direct_.begin(start);
        network_.set_profiler(&profiler_);
        profiler_.begin_step();
        direct_.step(batch_);
        profiler_.end_step();
        network_.set_profiler(nullptr);
    }

    /// Finds the operations, in forward order.
    void find_operations() {
        profiled_step();
        std::set<std::string> apart;  // layers of operations
        for (const LayerProfiler::Piece& piece : profiler_.pieces()) {
            const Op* op = piece.owner.op;
            if (op == nullptr || places_.contains(op)) continue;
            places_[op] = operations_.size();
            Measured& one = operations_.emplace_back();
            for (const std::string& number : op->layers()) {
                one.layers.push_back(by_number_.at(number));
                apart.insert(number);
            }
            one.goes_back = op->is_trained();
        }
        for (Measured& one : operations_)
            for (const PlannedLayer* layer : one.layers)
                clients::for_each_within(*layer, [&](const PlannedLayer& inner) {
                    if (!apart.contains(inner.number)) one.inner.push_back(&inner);
                });
        bool begun = false;
        for (Measured& one : operations_) {
            one.asked_for = begun;
            const bool holds = std::ranges::any_of(one.layers, [](const auto* layer) { return layer->spec().holds_layers; });
            begun = begun || (one.goes_back && (!holds || !one.inner.empty()));
            one.goes_back = one.goes_back || begun;
            if (LibtorchLayers::has(one.layers))
                one.libtorch.emplace(one.layers, static_cast<std::int64_t>(batch_.size()), one.asked_for);
        }
    }

    void add_pieces() {
        for (const LayerProfiler::Piece& piece : profiler_.pieces()) {
            const double seconds = seconds_between(0, piece.shortest_ns);
            Measured* const one = piece.owner.op == nullptr ? nullptr : &operations_[places_.at(piece.owner.op)];
            if (!piece.owner.part)
                rest_s_ += seconds;
            else if (*piece.owner.part == StepPhase::Loss)
                loss_s_ += seconds;
            else if (*piece.owner.part == StepPhase::Optimizer)
                optimizer_s_ += seconds;
            else if (*piece.owner.part == StepPhase::Forward)
                one->forward_s += seconds;
            else if (*piece.owner.part == StepPhase::DataGradient)
                one->data_gradient_s += seconds;
            else
                one->weight_gradient_s += seconds;
        }
    }

    static nlohmann::json told_of(const Measured& one) {
        nlohmann::json told_layer{{"layers", nlohmann::json::array()},
                                  {"forward_s", one.forward_s},
                                  {"data_gradient_s", one.data_gradient_s},
                                  {"weight_gradient_s", one.weight_gradient_s}};
        Products products;
        for (const PlannedLayer* layer : one.layers) {
            const std::string& kind = layer->spec().name;
            const std::int64_t kernel = kind == "conv2d" ? layer->arguments.integer("kernel") : 0;
            told_layer["layers"].push_back({{"number", layer->number},
                                            {"kind", kernel > 0 ? fmt::format("{} {} x {}", kind, kernel, kernel) : kind},
                                            {"in", clients::text_of(layer->in)},
                                            {"out", clients::text_of(layer->fit.out)}});
            products.add(products_of(*layer, one.asked_for));
        }
        for (const PlannedLayer* layer : one.inner) products.add(products_of(*layer, one.asked_for));
        const bool back = one.goes_back;
        told_layer["products"] = {{"forward", products.forward},
                                  {"data_gradient", back ? products.data_gradient : 0.0},
                                  {"weight_gradient", back ? products.weight_gradient : 0.0}};
        told_layer["input_gradient"] = one.asked_for;
        const LibtorchLayers::Figures libtorch = one.libtorch ? one.libtorch->figures() : LibtorchLayers::Figures{};
        told_layer["libtorch_forward_s"] = told(libtorch.forward);
        told_layer["libtorch_data_gradient_s"] = told(libtorch.data_gradient);
        told_layer["libtorch_weight_gradient_s"] = told(libtorch.weight_gradient);
        return told_layer;
    }

    const sim::Experiment& run_;
    std::vector<PlannedLayer> plan_;
    std::map<std::string, const PlannedLayer*> by_number_;
    std::vector<float> frozen_;  // [F]
    clients::direct::Network network_;
    clients::DirectStep direct_;
    clients::FlatModel model_;
    clients::LibtorchStep libtorch_;
    std::vector<float> global_;
    std::vector<std::uint32_t> batch_;

    LayerProfiler profiler_;
    std::map<const Op*, std::size_t> places_;
    std::vector<Measured> operations_;
    FmaRun fma_;
    std::size_t turns_ = 0;
    double peak_ = 0.0, step_s_ = HUGE_VAL, libtorch_step_s_ = HUGE_VAL;
    double loss_s_ = 0.0, optimizer_s_ = 0.0, rest_s_ = 0.0;
};

int measure(const std::string& config, double seconds, std::vector<std::string> changes) {
    changes.insert(changes.end(), {"device=cpu", "training.engine=direct"});
    const sim::Experiment run = sim::Experiment::to_inspect(sim::load_config(config, changes));
    clients::prepare_libtorch(1);
    Bench bench(run);
    bench.measure(seconds);
    fmt::print("{}\n", bench.found().dump());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr, "usage: layer_speed CONFIG SECONDS [KEY=VALUE...]\n");
        return 2;
    }
    try {
        return measure(argv[1], std::stod(argv[2]), {argv + 3, argv + argc});
    } catch (const ConfigError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "layer_speed: {}\n", error.what());
        return 1;
    }
}
