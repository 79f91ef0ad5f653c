#include "clients/engine/split_step.h"
#include "clients/trainers/engine.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/formats/glyphs.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "tests/support/proximal.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using aggregation::SgdOptions;

namespace {

const Dataset& glyphs() {
    static const Dataset dataset = draw_glyphs(40, 10, 1);
    return dataset;
}

ExamplesView train() { return {glyphs().train.shape, glyphs().train.values, glyphs().train.labels}; }

ModelSpec glyph_spec(std::string_view name, bool dropout = false) {
    const bool has_dropout = name == "mnist_cnn" || name == "cnn_m";
    return named_model(name, glyphs().train.shape, 10, has_dropout ? fedhive::Values{{"dropout", dropout}} : fedhive::Values());
}

Cut glyph_cut(const ModelSpec& spec, std::string_view layer) { return cut_after(spec, model_layout(spec), layer); }

/// A channel between two halves in one process. A failure of one half ends the other's wait.
class ThreadChannel final : public SplitChannel {
public:
    explicit ThreadChannel(std::size_t floats)
        : activations_(floats, MemorySpace::Host), gradient_(floats, MemorySpace::Host) {}
    ParamSpan activations() override { return activations_; }
    ParamSpan gradient() override { return gradient_; }
    void send_activations(std::size_t count) override { send(up_, count); }
    std::size_t receive_activations() override { return receive(up_); }
    void send_gradient(std::size_t count) override { send(down_, count); }
    std::size_t receive_gradient() override { return receive(down_); }

    /// Keeps the first reason.
    void close(const std::string& reason) {
        const std::lock_guard lock(mutex_);
        if (closed_.empty()) closed_ = reason;
        changed_.notify_all();
    }
    const std::string& closed() const { return closed_; }  // valid once both halves have ended

private:
    using Mail = std::optional<std::size_t>;

    void send(Mail& mail, std::size_t count) {
        const std::lock_guard lock(mutex_);
        mail = count;
        changed_.notify_all();
    }

    std::size_t receive(Mail& mail) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return mail.has_value() || !closed_.empty(); });
        if (!mail) throw Fault("the other half is gone");
        return *std::exchange(mail, std::nullopt);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Mail up_, down_;
    std::string closed_;
    aggregation::ParamBuffer activations_, gradient_;
};

/// A channel whose other half always sends the same.
struct ScriptedChannel final : SplitChannel {
    ScriptedChannel(std::size_t floats, std::size_t count)
        : up(floats, MemorySpace::Host), down(floats, MemorySpace::Host), other_count(count) {}
    ParamSpan activations() override { return {up.span().data + shift, up.span().size - shift}; }
    ParamSpan gradient() override { return {down.span().data + shift, down.span().size - shift}; }
    void send_activations(std::size_t count) override { sent = count; }
    std::size_t receive_activations() override { return other_count; }
    void send_gradient(std::size_t count) override { sent = count; }
    std::size_t receive_gradient() override { return other_count; }

    aggregation::ParamBuffer up, down;
    std::size_t other_count;
    std::size_t sent = 0;
    std::size_t shift = 0;  // floats
};

struct Outcome {
    std::vector<std::uint32_t> update;  // its bits
    double loss = 0.0;
    bool operator==(const Outcome&) const = default;
};

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits(values.size());
    std::transform(values.begin(), values.end(), bits.begin(), [](float value) { return std::bit_cast<std::uint32_t>(value); });
    return bits;
}

/// One round of one client: 37 of 40 examples in four batches of 8 and one of 5.
struct Round {
    Round(const ModelSpec& model_spec, const SgdOptions& sgd, float mu)
        : spec(model_spec), optimizer(sgd), pull(mu), layout(model_layout(spec)), shard(37) {
        at::set_num_threads(1);
        global.resize(layout.num_floats(), 0.0F);
        initial_parameters(spec, layout, 3, global);
        std::iota(shard.begin(), shard.end(), 2U);
    }

    /// first: of the model, where the step's parameters begin.
    ClientResult run(TrainingStep& step, aggregation::ConstParamSpan from, ParamSpan update, std::size_t first = 0) const {
        at::set_num_threads(1);  // the thread count is a setting of each thread
        const testing::Proximal term(pull, layout.num_trainable(), aggregation::ConstParamSpan(global));
        LocalStep local(step);
        if (pull != 0.0F) term.visit->add_to(local, first);
        return train_client(local, plan, {}, 4, 9, shard, from, update);
    }

    Outcome uncut() const {
        FlatModel model(spec, MemorySpace::Host);
        LibtorchStep step(model, train(), {}, optimizer);
        std::vector<float> update(global.size());
        const double loss = run(step, global, update).train_loss;
        return {bits_of(update), loss};
    }

    /// Trains by two halves; each half's model has NaN in the other's part.
    Outcome split(const Cut& cut) const {
        FlatModel lower(spec, MemorySpace::Host);
        FlatModel upper(spec, MemorySpace::Host);
        const auto fill = [](ParamSpan span, float value) { std::fill_n(span.data, span.size, value); };
        const auto is_nan = [](ParamSpan span) {
            return std::all_of(span.data, span.data + span.size, [](float value) { return std::isnan(value); });
        };
        fill(lower.parameters(), std::numeric_limits<float>::quiet_NaN());
        fill(upper.parameters(), std::numeric_limits<float>::quiet_NaN());

        ThreadChannel channel(plan.batch_size * cut.activation_floats);
        SplitClientStep client(lower, cut, train(), {}, optimizer, channel);
        SplitServerStep server(upper, cut, train(), optimizer, channel);
        std::vector<float> update(global.size());
        const aggregation::ConstParamSpan from(global);
        const auto run_half = [&](TrainingStep& step, aggregation::ConstParamSpan its_from, ParamSpan its_update,
                                  std::size_t first) {
            try {
                return run(step, its_from, its_update, first).train_loss;
            } catch (const std::exception& error) {
                channel.close(error.what());
                return 0.0;
            }
        };
        std::thread other([&] { run_half(client, cut.client_part(from), cut.client_part(ParamSpan(update)), 0); });
        const double loss = run_half(server, cut.server_part(from), cut.server_part(ParamSpan(update)), cut.offset);
        other.join();
        CHECK(channel.closed() == "");
        CHECK(is_nan(cut.server_part(lower.parameters())));
        CHECK(is_nan(cut.client_part(upper.parameters())));
        return {bits_of(update), loss};
    }

    ModelSpec spec;
    SgdOptions optimizer;
    float pull;
    aggregation::Layout layout;
    LocalTraining plan{5, 1, 8};
    std::vector<float> global;
    std::vector<std::uint32_t> shard;
};

}  // namespace

TEST_SUITE("SplitStep") {
    TEST_CASE("EveryCutOfEveryModelGivesTheBitsOfTheUncutOneAndTouchesItsHalfOnly") {
        struct Row {
            SgdOptions optimizer;
            float mu;
        };
        for (const Row& row : {Row{{0.05F, 0.0F, 0.0F, false}, 0.0F}, Row{{0.05F, 0.9F, 0.01F, false}, 0.0F},
                               Row{{0.05F, 0.5F, 0.01F, true}, 0.5F}}) {
            for (const std::string_view name : {"mlp", "mnist_cnn", "cnn_m"}) {
                const Round round(glyph_spec(name), row.optimizer, row.mu);
                const Outcome whole = round.uncut();
                std::vector<std::string> layers = model_layers(round.spec);
                layers.pop_back();
                for (const std::string& layer : layers) {
                    CAPTURE(name);
                    CAPTURE(layer);
                    CAPTURE(row.mu);
                    CHECK(round.split(glyph_cut(round.spec, layer)) == whole);
                }
            }
        }
    }

    TEST_CASE("HalvesDrawTheirDropoutFromStreamsOfTheirOwn") {
        const ModelSpec spec = glyph_spec("mnist_cnn", true);
        const Cut at = glyph_cut(spec, "conv2");
        FlatModel model(spec, MemorySpace::Host);
        std::vector<float> global(model.layout().num_floats(), 0.0F);
        initial_parameters(spec, model.layout(), 3, global);
        const std::vector<std::uint32_t> batch{1, 5, 7};
        const std::uint64_t seed = 77;
        ScriptedChannel channel(3 * at.activation_floats, 3);
        const aggregation::ConstParamSpan from(global);
        aggregation::copy(model.parameters(), from);

        BatchTensors tensors(train().shape, {}, at::kCPU);
        const auto [examples, labels] = tensors.gather(train(), {batch});
        at::manual_seed(seed);
        const at::Tensor expected = model.module().forward_layers(examples, 0, at.num_layers).detach();
        SplitClientStep client(model, at, train(), {}, {}, channel);
        client.begin({1, at.client_part(from), {}, false, seed, {}, {}});
        client.step(batch);
        CHECK(channel.sent == 3);
        const at::Tensor sent = at::from_blob(channel.up.span().data, {3, 320});
        CHECK(at::equal(sent, expected));

        const auto gradient_of = [&](std::uint64_t generator_seed) {
            model.module().train();
            at::manual_seed(generator_seed);
            const at::Tensor x = sent.clone().set_requires_grad(true);
            const at::Tensor logits = model.module().forward_layers(x, at.num_layers, model.module().num_layers());
            at::cross_entropy_loss(logits, labels).backward();
            return x.grad();
        };
        const at::Tensor own = gradient_of(Stream(seed, Purpose::ServerDropout).next_u64());
        const at::Tensor clients = gradient_of(seed);
        SplitServerStep server(model, at, train(), {}, channel);
        server.begin({1, at.server_part(from), {}, false, seed, {}, {}});
        server.step(batch);
        const at::Tensor gradient = at::from_blob(channel.down.span().data, {3, 320});
        CHECK(at::equal(gradient, own));
        CHECK_FALSE(at::equal(gradient, clients));
    }

    TEST_CASE("OtherBatchOrARegionThatDoesNotFitIsAFault") {
        const ModelSpec spec = glyph_spec("mlp");
        const Cut at = glyph_cut(spec, "fc1");
        FlatModel model(spec, MemorySpace::Host);
        const std::vector<std::uint32_t> batch{0, 1, 2};
        const auto check = [&](std::size_t floats, std::size_t shift, std::size_t other_count, const char* message) {
            ScriptedChannel channel(floats, other_count);
            channel.shift = shift;
            SplitClientStep client(model, at, train(), {}, {}, channel);
            SplitServerStep server(model, at, train(), {}, channel);
            CHECK_THROWS_WITH_AS(client.step(batch), doctest::Contains(message), Fault);
            CHECK_THROWS_WITH_AS(server.step(batch), doctest::Contains(message), Fault);
        };
        check(3 * 200, 0, 2, "2 against 3");
        check(3 * 200 - 1, 0, 3, "600 floats do not fit into a channel's region of 599");
        check(3 * 200 + 15, 15, 3, "is not aligned");
        ScriptedChannel channel(3 * 200, 3);
        SplitServerStep server(model, at, train(), {}, channel);
        CHECK_THROWS_WITH_AS(server.step(std::vector<std::uint32_t>{0, 1, 40}), doctest::Contains("example 40 of 40"), Fault);
    }
}
