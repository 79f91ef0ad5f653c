#include "tests/support/drawn_lists/comparison.h"

#include "aggregation/math/client_optimizer.h"
#include "clients/data/batches.h"
#include "clients/direct/device/block_plan.h"
#include "clients/direct/device/run.h"
#include "tests/support/sums_by_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedhive::testing {

namespace {

namespace device = clients::direct::device;
using clients::direct::Floats;
using clients::direct::Network;

constexpr double kEdge = 1e-4;  // closer to an edge than this, a float may be on the other side

struct SingleThread {
    std::uint32_t index() const { return 0; }
    std::uint32_t count() const { return 1; }
    void wait() const {}
};

bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Result of one kernel set, or of a thread block.
struct Found {
    double loss = 0.0;
    Floats gradient{};
    clients::EvaluationSums sums = empty_sums(clients::TargetKind::Class);
    Floats moved{};  // the model with the buffers after the step, [P]; empty: not told
};

Found by_kernels(const DrawnStep& step, Network& network) {
    Found found{.sums = empty_sums(step.spec.target.kind), .moved = step.parameters};
    found.gradient.assign(network.layout().num_trainable(), 7.0F);  // what was there is written over
    found.loss =
        network.train(step.parameters.data(), found.gradient.data(), step.batch(), step.dropout_key, found.moved.data());
    network.evaluate(step.parameters.data(), step.batch(), found.sums, 3);
    return found;
}

/// Whether the engine's fused steps equal a gradient followed by a step along it.
bool descends_along(const DrawnStep& step, Network& network, const Floats& gradient, const Floats& moved) {
    const aggregation::OptimizerOptions kinds[] = {aggregation::SgdOptions{0.1F, 0.0F, 0.0F, false},
                                                   aggregation::SgdOptions{0.1F, 0.9F, 0.01F, true},
                                                   aggregation::AdamOptions{.weight_decay = 0.01F}};
    const aggregation::MemorySpace host = aggregation::MemorySpace::Host;
    const std::size_t size = gradient.size();
    Floats both(step.parameters), along(gradient), one_after_the_other(moved), spare(size, 7.0F);
    aggregation::ClientOptimizer optimizer(kinds[step.dropout_key % 3], size, host),
        other(kinds[step.dropout_key % 3], size, host);
    for (aggregation::ClientOptimizer* each : {&optimizer, &other}) {
        each->begin();
        each->begin_step();
    }
    network.descend({both.data(), &optimizer, nullptr}, spare.data(), step.batch(), step.dropout_key);
    other.step({one_after_the_other.data(), size, host}, {along.data(), size, host});
    return same_bits(both, one_after_the_other);
}

/// By one host thread in place of a thread block, three rows at a time, or the whole batch if it must be.
Found by_block(const DrawnStep& step) {
    const device::BlockPlan plan = device::make_plan(step.spec);
    device::BlockNetwork network = plan.network;
    network.layers = plan.layers.data();
    const auto size = static_cast<std::uint32_t>(step.size);
    const std::uint32_t at_once = network.whole_batches ? std::max(3U, size) : 3U;
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < size; ++i) order.push_back(i);
    const std::vector<std::int32_t> labels(step.labels.begin(), step.labels.end());
    const float one = 1.0F, zero = 0.0F;
    clients::element::GatherTerms from{};
    from.values = step.examples.data();
    from.labels = labels.data();
    from.numbers = step.numbers.empty() ? nullptr : step.numbers.data();
    from.order = order.data();
    from.scale = &one;
    from.shift = &zero;
    from.num_values = from.plane = network.inputs;
    from.type = clients::ValueType::F32;
    Found found{.sums = empty_sums(step.spec.target.kind)};
    found.gradient.assign(network.trainable, 7.0F);
    Floats parameters = step.parameters, values(std::size_t{at_once} * network.row, NAN);
    std::vector<device::RowOutcome> outcomes(at_once);
    const device::Workspace work{parameters.data(), found.gradient.data(), nullptr, values.data(), outcomes.data(), at_once};
    found.loss = device::compute_gradient(SingleThread{}, network, work, from, {0, size, step.dropout_key});
    found.moved = parameters;
    for (std::uint32_t first = 0; first < size; first += 3) {
        const std::uint32_t rows = std::min(3U, size - first);
        device::evaluate(SingleThread{}, network, work, step.parameters.data(), from, first, rows);
        for (std::uint32_t r = 0; r < rows; ++r) {
            found.sums.add_loss(outcomes[r].loss);
            found.sums.add(outcomes[r].outcome);
        }
    }
    return found;
}

double difference_of_loss(double found, double expected) {
    return std::abs(found - expected) / std::max(1.0, std::abs(expected));
}

/// Results of one implementation, compared with the references for training and evaluation.
class Sides {
public:
    explicit Sides(const DrawnStep& step) : step_(step), layout_(clients::model_layout(step.spec)) {
        Reference reference(step.spec);
        training_ = reference.run(step.parameters.data(), step.batch(), step.dropout_key);
        evaluation_ = reference.run(step.parameters.data(), step.batch(), std::nullopt, Reference::For::Evaluation);
        found_.near_edge = std::min(training_.edge, evaluation_.edge) < kEdge;
    }

    void compare(std::string_view side, const Found& found) {
        if (found_.near_edge) return;
        const double count = static_cast<double>(step_.size);
        judge(side, "loss", difference_of_loss(found.loss, training_.loss));
        const std::vector<double> gradient(found.gradient.begin(), found.gradient.end());
        judge(side, "gradient", difference(layout_, gradient, training_));
        if (!found.moved.empty()) judge(side, "buffers", difference_of_buffers(found.moved));
        judge(side, "test loss", difference_of_loss(found.sums.loss() / count, evaluation_.loss));
        if (step_.numbers.empty()) return;
        judge(side, "mean absolute error", difference_of_loss(found.sums.one("absolute") / count, evaluation_.absolute));
    }

    void expect(bool holds, std::string_view side, std::string_view what) {
        if (!holds && found_.fault.empty()) found_.fault = fmt::format("{}: {}; {}", side, what, text());
    }

    const Comparison& found() const { return found_; }

private:
    void judge(std::string_view side, std::string_view what, double off) {
        found_.worst = std::max(found_.worst, std::isfinite(off) ? off : INFINITY);
        expect(off <= kMostInFloat, side, fmt::format("the {} is {:.2e} off", what, off));
    }
    /// Largest error of a buffer's value, relative to max(|value|, 1).
    double difference_of_buffers(const Floats& found) const {
        double worst = 0.0;
        for (std::size_t i = layout_.num_trainable(); i < layout_.num_floats(); ++i)
            worst = std::max(worst, difference_of_loss(static_cast<double>(found[i]), training_.moved[i]));
        return worst;
    }
    std::string text() const {
        return fmt::format("{}, batch {}, seed {}", text_of(step_.spec), step_.size, step_.dropout_key);
    }

    const DrawnStep& step_;
    aggregation::Layout layout_;
    Reference::Result training_, evaluation_;
    Comparison found_;
};

}  // namespace

double difference(const aggregation::Layout& layout, std::span<const double> found, const Reference::Result& expected) {
    const auto length = [](std::span<const double> values) {
        double squares = 0.0;
        for (const double value : values) squares += value * value;
        return std::sqrt(squares);
    };
    std::vector<double> off(expected.gradient);
    for (std::size_t i = 0; i < layout.num_trainable(); ++i) off[i] -= found[i];
    double worst = 0.0;
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        if (entry.kind == aggregation::TensorKind::Buffer) continue;
        const auto part = [&](const std::vector<double>& all) {
            return length(std::span(all).subspan(entry.offset, entry.size));
        };
        const double least = 1e-2 * std::max(length(expected.gradient), part(expected.sizes));
        const double share = part(off) / std::max({part(expected.gradient), least, 1e-30});
        worst = std::max(worst, std::isfinite(share) ? share : INFINITY);
    }
    return worst;
}

Comparison compare(const DrawnStep& step) {
    Sides sides(step);
    Found first;
    for (const char* name : {"plain", "avx2", "avx512"}) {
        const clients::direct::Kernels* kernels = clients::direct::kernels_by_name(name);
        if (kernels == nullptr) continue;
        Network network(step.spec, *kernels);
        const Found found = by_kernels(step, network);
        sides.expect(descends_along(step, network, found.gradient, found.moved), name, "a step is not one along its gradient");
        if (kernels->name == "plain") {
            first = found;
            sides.compare(name, found);
            continue;
        }
        sides.expect(
            found.loss == first.loss && same_bits(found.gradient, first.gradient) && same_bits(found.moved, first.moved), name,
            "other bits than by plain kernels");
        sides.expect(std::ranges::equal(found.sums.values(), first.sums.values()), name,
                     "another evaluation than by plain kernels");
    }
    if (device::misfit(step.spec).empty()) sides.compare("a block of threads", by_block(step));
    return sides.found();
}

}  // namespace fedhive::testing
