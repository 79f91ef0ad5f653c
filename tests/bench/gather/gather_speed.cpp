// Batch gather as in training, compared with LibTorch's index_select plus, for bytes, conversion and in-place normalisation.
// One thread; the two alternate batch by batch, in the order of a shuffled epoch.
//
//   gather_speed EXAMPLES CHANNELS SIDE u8|f32 BATCH EPOCHS     per epoch prints {"ours_s": …, "theirs_s": …}: seconds of its
//   batches
#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/batches.h"
#include "clients/models/tensor.h"

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

constexpr double kMean = 0.47, kStd = 0.25;  // for bytes; floats are not normalised

struct Given {
    std::size_t examples = 0;
    ExampleShape shape;
    ValueType type = ValueType::U8;
    std::size_t batch = 0;
    int epochs = 0;
};

Examples drawn(const Given& given) {
    Examples examples{given.shape, {}, {}, given.type};
    const std::size_t count = given.examples * given.shape.num_values();
    examples.values.resize(count * bytes_of(given.type));
    Stream stream(1, Purpose::TrainData);
    if (given.type == ValueType::U8)
        for (std::uint8_t& value : examples.values) value = static_cast<std::uint8_t>(stream());
    else
        for (std::size_t i = 0; i < count; ++i) {
            const float value = static_cast<float>(stream()) * 0x1p-32F;
            std::memcpy(examples.values.data() + i * sizeof value, &value, sizeof value);
        }
    for (std::size_t i = 0; i < given.examples; ++i) examples.labels.push_back(static_cast<std::int32_t>(i % 10));
    return examples;
}

class Sides {
public:
    Sides(const Given& given, const Examples& examples)
        : given_(given),
          view_{given.shape, examples.values, examples.labels, aggregation::MemorySpace::Host, given.type},
          gather_(given.shape, given.type == ValueType::U8 ? Normalization{{kMean}, {kStd}} : Normalization{}) {
        const auto rows = static_cast<std::int64_t>(given.batch), values = static_cast<std::int64_t>(given.shape.num_values());
        const auto all = static_cast<std::int64_t>(given.examples);
        const bool bytes = given.type == ValueType::U8;
        stored_ =
            at::from_blob(const_cast<std::uint8_t*>(examples.values.data()), {all, values}, bytes ? at::kByte : at::kFloat);
        classes_ = at::zeros({all}, at::kLong);
        for (std::int64_t i = 0; i < all; ++i) classes_.data_ptr<std::int64_t>()[i] = i % 10;
        selected_ = at::empty({rows, values}, stored_.options());
        theirs_ = bytes ? at::empty({rows, values}, at::kFloat) : selected_;
        their_classes_ = at::empty({rows}, at::kLong);
        ours_ = at::empty({rows, values}, at::kFloat);
        our_classes_ = at::empty({rows}, at::kLong);
    }

    void ours(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> next) {
        gather_.gather(view_, indices, ours_.data_ptr<float>(), {.labels = our_classes_.data_ptr<std::int64_t>()}, {}, next);
    }

    void theirs(const at::Tensor& indices) {
        at::index_select_out(selected_, stored_, 0, indices);
        at::index_select_out(their_classes_, classes_, 0, indices);
        if (given_.type == ValueType::U8) theirs_.copy_(selected_).mul_(1.0 / (255.0 * kStd)).add_(-kMean / kStd);
    }

    bool agree() const {
        const bool same = given_.type == ValueType::U8 ? at::allclose(ours_, theirs_, 1e-5, 1e-6) : ours_.equal(theirs_);
        return same && our_classes_.equal(their_classes_);
    }

private:
    Given given_;
    ExamplesView view_;
    BatchGather gather_;
    at::Tensor stored_, classes_, selected_, theirs_, their_classes_, ours_, our_classes_;
};

void measure(const Given& given) {
    const Examples examples = drawn(given);
    Sides sides(given, examples);
    std::vector<std::uint32_t> order(given.examples);
    std::iota(order.begin(), order.end(), 0U);
    Stream stream(1, Purpose::Shuffle);
    for (int epoch = 0; epoch <= given.epochs; ++epoch) {
        shuffle(std::span(order), stream);
        const at::Tensor indices =
            at::from_blob(order.data(), {static_cast<std::int64_t>(order.size())}, at::kInt).to(at::kLong);
        double ours_s = 0.0, theirs_s = 0.0;
        // Alternate the two over disjoint batches, so that neither finds the other's data in a cache.
        for (std::size_t at = 0, turn = 0; at + given.batch <= order.size(); at += given.batch, ++turn) {
            const std::span<const std::uint32_t> later = std::span(order).subspan(std::min(order.size(), at + 2 * given.batch));
            const std::int64_t start = now_ns();
            if (turn % 2 == 0) {
                sides.ours(std::span(order).subspan(at, given.batch), later.first(std::min(later.size(), given.batch)));
                ours_s += seconds_between(start, now_ns());
            } else {
                sides.theirs(indices.narrow(0, static_cast<std::int64_t>(at), static_cast<std::int64_t>(given.batch)));
                theirs_s += seconds_between(start, now_ns());
            }
        }
        sides.ours(std::span(order).first(given.batch), {});
        sides.theirs(indices.narrow(0, 0, static_cast<std::int64_t>(given.batch)));
        FEDHIVE_CHECK(sides.agree(), "the two have gathered other batches");
        if (epoch > 0)
            fmt::print("{{\"ours_s\": {:.9f}, \"theirs_s\": {:.9f}}}\n", ours_s, theirs_s);  // epoch 0 is the warm-up
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int place) { return argc == 7 ? std::atol(argv[place]) : 0; };
    const std::string type = argc == 7 ? argv[4] : "";
    if (number(1) < 1 || number(2) < 1 || number(3) < 1 || number(5) < 1 || number(1) < 2 * number(5) ||
        (type != "u8" && type != "f32")) {
        fmt::print(stderr,
                   "usage: gather_speed EXAMPLES CHANNELS SIDE u8|f32 BATCH EPOCHS, at least two batches of examples\n");
        return 2;
    }
    at::set_num_threads(1);
    measure({.examples = static_cast<std::size_t>(number(1)),
             .shape = {number(2), number(3), number(3)},
             .type = type == "u8" ? ValueType::U8 : ValueType::F32,
             .batch = static_cast<std::size_t>(number(5)),
             .epochs = static_cast<int>(number(6))});
    return 0;
}
