// Batch norm of each channel over the pixels of a whole batch, which is one group of rows. C++17.
//
// Figures  six floats for each channel in each row, at other_at. A row's own: 0 and 1, the two parts of a sum in double. The first row's are
//          the batch's: 2, mean; 3, 1 / deviation; from backward 4 and 5, Σ gradient and Σ gradient · (value − mean).
// Order    the sum of a row's pixels, then rows in order.
#pragma once

#include "clients/direct/device/layers.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::device {

struct BatchNormLayer : NoPasses {
    static constexpr std::uint32_t kFigures = 6;

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        const float *running_mean = parameters + layer.running_mean, *running_variance = parameters + layer.running_variance;
        if (is_of_batch(layer, group)) {
            take_statistics(threads, layer, group, parameters);
        } else {
            for_each(threads, layer.in.channels, [&](std::uint32_t c) {
                float* const of = figures(layer, group.values, c);
                of[2] = running_mean[c];
                of[3] = inverse_of(static_cast<double>(running_variance[c]));
            });
        }
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const std::uint32_t c = i / pixels_of(layer);
            const float* const of = figures(layer, group.values, c);
            values[layer.out_at + i] =
                (values[layer.in_at + i] - of[2]) * (of[3] * parameters[layer.weight + c]) + parameters[layer.bias + c];
        });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        sum_channels(
            threads, layer, group,
            [&](const float* values, std::uint32_t i, const float*) { return static_cast<double>(values[layer.out_at + i]); },
            [&](std::uint32_t c, double sum) {
                figures(layer, group.values, c)[4] = static_cast<float>(sum);
                to.sums[layer.bias + c] += static_cast<float>(sum);
            });
        sum_channels(
            threads, layer, group,
            [&](const float* values, std::uint32_t i, const float* of) {
                return static_cast<double>(values[layer.out_at + i]) *
                       (static_cast<double>(values[layer.in_at + i]) - static_cast<double>(of[2]));
            },
            [&](std::uint32_t c, double along) {
                float* const of = figures(layer, group.values, c);
                of[5] = static_cast<float>(along);
                to.sums[layer.weight + c] += static_cast<float>(along * static_cast<double>(of[3]));
            });
    }

    /// dx = inverse · weight · (g − mean(g) − n · mean(g · n)) with n = (x − mean) · inverse; by the running statistics, which do not depend
    /// on x, inverse · weight · g.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                   const float* parameters) {
        const float share = is_of_batch(layer, group) ? 1.0F / static_cast<float>(group.rows * pixels_of(layer)) : 0.0F;
        for_each_of_rows(threads, group, layer.in.size(), [&](float* values, std::uint32_t i, std::uint32_t) {
            const std::uint32_t c = i / pixels_of(layer);
            const float* const of = figures(layer, group.values, c);
            const float along = of[5] * share * of[3] * of[3];
            const float off = values[layer.out_at + i] - of[4] * share - (values[layer.in_at + i] - of[2]) * along;
            values[layer.in_at + i] = of[3] * parameters[layer.weight + c] * off;
        });
    }

private:
    FEDHIVE_HOST_DEVICE static std::uint32_t pixels_of(const Layer& layer) { return layer.in.height * layer.in.width; }

    FEDHIVE_HOST_DEVICE static bool is_of_batch(const Layer& layer, const RowGroup& group) {
        return group.training && group.rows * pixels_of(layer) > 1;
    }

    FEDHIVE_HOST_DEVICE static float* figures(const Layer& layer, float* row, std::uint32_t c) {
        return row + layer.other_at + static_cast<std::size_t>(kFigures) * c;
    }

    FEDHIVE_HOST_DEVICE static float inverse_of(double variance) {
        return static_cast<float>(1.0 / ::sqrt(variance + shared::kNormEpsilon));
    }

    /// use(channel, Σ over the batch of term(row's values, i, the channel's figures of the batch)).
    template <typename Threads, typename Term, typename Use>
    FEDHIVE_HOST_DEVICE static void sum_channels(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                 const Term& term, const Use& use) {
        const std::uint32_t pixels = pixels_of(layer);
        for_each_of_rows(threads, group, layer.in.channels, [&](float* values, std::uint32_t c, std::uint32_t) {
            double sum = 0.0;
            for (std::uint32_t i = c * pixels; i < (c + 1) * pixels; ++i)
                sum += term(values, i, figures(layer, group.values, c));
            float* const of = figures(layer, values, c);
            of[0] = static_cast<float>(sum);
            of[1] = static_cast<float>(sum - static_cast<double>(of[0]));
        });
        for_each(threads, layer.in.channels, [&](std::uint32_t c) {
            double sum = 0.0;
            for (std::uint32_t r = 0; r < group.rows; ++r) {
                const float* const of = figures(layer, group.values + static_cast<std::size_t>(r) * group.row, c);
                sum += static_cast<double>(of[0]) + static_cast<double>(of[1]);
            }
            use(c, sum);
        });
    }

    /// The batch's mean and inverse deviation; moves the running ones.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void take_statistics(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                    const float* parameters) {
        const double count = group.rows * pixels_of(layer);
        const auto move = [&](std::uint32_t at, double to) {
            if (group.moved == nullptr) return;
            const auto before = static_cast<double>(parameters[at]);
            group.moved[at] = static_cast<float>((1.0 - shared::kNewStatistics) * before + shared::kNewStatistics * to);
        };
        sum_channels(
            threads, layer, group,
            [&](const float* values, std::uint32_t i, const float*) { return static_cast<double>(values[layer.in_at + i]); },
            [&](std::uint32_t c, double sum) {
                figures(layer, group.values, c)[2] = static_cast<float>(sum / count);
                move(layer.running_mean + c, sum / count);
            });
        sum_channels(
            threads, layer, group,
            [&](const float* values, std::uint32_t i, const float* of) {
                const double off = static_cast<double>(values[layer.in_at + i]) - static_cast<double>(of[2]);
                return off * off;
            },
            [&](std::uint32_t c, double squares) {
                figures(layer, group.values, c)[3] = inverse_of(squares / count);
                move(layer.running_variance + c, squares / (count - 1.0));
            });
    }
};

}  // namespace fedhive::clients::direct::device
