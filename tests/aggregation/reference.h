// Reference implementation of aggregation's arithmetic: plain loops, one value at a time. Fast paths must give the same bits.
#pragma once

#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace fedhive::aggregation::reference {

using Floats = std::vector<float>;

inline Floats scaled(const Floats& values, double weight) {
    Floats out;
    for (const float value : values) out.push_back(static_cast<float>(weight * static_cast<double>(value)));
    return out;
}

/// tree(low, size) = tree(low, size / 2) + tree(low + size / 2, size / 2); absent positions are skipped.
template <typename T>
std::optional<T> tree(const std::map<std::size_t, T>& terms, std::size_t low, std::size_t size) {
    if (size == 1) return terms.contains(low) ? std::optional<T>(terms.at(low)) : std::nullopt;
    const std::optional<T> left = tree(terms, low, size / 2);
    const std::optional<T> right = tree(terms, low + size / 2, size / 2);
    if (left && right) return *left + *right;
    return left ? left : right;
}

/// `updates` and `weights` by position below `size`, a power of two.
inline Floats mean(const std::map<std::size_t, Floats>& updates, const std::map<std::size_t, double>& weights,
                   std::size_t size) {
    const double total = *tree(weights, 0, size);
    Floats out;
    for (std::size_t i = 0; i < updates.begin()->second.size(); ++i) {
        std::map<std::size_t, float> column;
        for (const auto& [position, values] : updates)
            column[position] = static_cast<float>(weights.at(position) * static_cast<double>(values[i]));
        out.push_back(static_cast<float>(static_cast<double>(*tree(column, 0, size)) / total));
    }
    return out;
}

inline Floats median(const std::vector<Floats>& updates) {
    Floats out;
    for (std::size_t i = 0; i < updates.front().size(); ++i) {
        Floats column;
        for (const Floats& update : updates) column.push_back(update[i]);
        std::sort(column.begin(), column.end());
        const double lower = static_cast<double>(column[(column.size() - 1) / 2]);
        const double upper = static_cast<double>(column[column.size() / 2]);
        out.push_back(static_cast<float>((lower + upper) / 2.0));
    }
    return out;
}

inline void sgd_step(Floats& parameters, const Floats& gradient, Floats& velocity, const SgdOptions& options) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const float g = gradient[i] + options.weight_decay * parameters[i];
        float step = g;
        if (options.momentum != 0.0F) {
            velocity[i] = options.momentum * velocity[i] + g;
            step = options.nesterov ? g + options.momentum * velocity[i] : velocity[i];
        }
        parameters[i] -= options.lr * step;
    }
}

inline void adam_step(Floats& parameters, const Floats& gradient, Floats& m, Floats& v, const AdamOptions& options, int step) {
    const auto rate =
        static_cast<float>(static_cast<double>(options.lr) / (1.0 - std::pow(static_cast<double>(options.beta1), step)));
    const auto root = static_cast<float>(std::sqrt(1.0 - std::pow(static_cast<double>(options.beta2), step)));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const float g = options.decoupled ? gradient[i] : gradient[i] + options.weight_decay * parameters[i];
        m[i] = options.beta1 * m[i] + (1.0F - options.beta1) * g;
        v[i] = options.beta2 * v[i] + (1.0F - options.beta2) * (g * g);
        if (options.decoupled) parameters[i] = (1.0F - options.lr * options.weight_decay) * parameters[i];
        parameters[i] -= rate * m[i] / (std::sqrt(v[i]) / root + options.epsilon);
    }
}

inline void adagrad_step(Floats& parameters, const Floats& gradient, Floats& sum, const AdagradOptions& options) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const float g = gradient[i] + options.weight_decay * parameters[i];
        sum[i] += g * g;
        parameters[i] -= options.lr * g / (std::sqrt(sum[i]) + options.epsilon);
    }
}

inline UpdateSummary write_update(Floats& update, const Floats& local, const Floats& global) {
    UpdateSummary summary;
    double total = 0.0;
    for (std::size_t first = 0; first < local.size(); first += 1024) {
        std::map<std::size_t, double> lanes;
        std::map<std::size_t, std::uint32_t> hashes;
        for (std::size_t lane = 0; lane < 32; ++lane) lanes[lane] = 0.0;
        for (std::size_t i = first; i < std::min(first + 1024, local.size()); ++i) {
            update[i] = local[i] - global[i];
            summary.finite = summary.finite && std::isfinite(update[i]);
            lanes[(i - first) % 32] += static_cast<double>(update[i]) * static_cast<double>(update[i]);
            std::uint32_t bits = 0;
            std::memcpy(&bits, &update[i], sizeof bits);
            hashes[(i - first) % 32] = std::rotl(hashes[(i - first) % 32], 13) + bits;
        }
        for (const auto& [lane, hash] : hashes) {
            const std::uint64_t spread = (first + lane) * 0x9E3779B97F4A7C15U;
            summary.hash += hash * ((spread ^ (spread >> 32)) | 1);
        }
        for (std::size_t half = 16; half > 0; half /= 2)
            for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
        total += lanes[0];
    }
    summary.norm = std::sqrt(total);
    return summary;
}

inline Floats server_momentum(const Floats& global, const Floats& aggregate, Floats& velocity, float lr, float momentum) {
    Floats next;
    for (std::size_t i = 0; i < global.size(); ++i) {
        velocity[i] = momentum * velocity[i] + aggregate[i];
        next.push_back(global[i] + lr * velocity[i]);
    }
    return next;
}

struct AdaptiveServer {
    double lr, beta1, beta2, tau;
};

/// Adam, Yogi or Adagrad, by `name`.
inline Floats server_adaptive(const std::string& name, const Floats& global, const Floats& aggregate, Floats& m, Floats& v,
                              const AdaptiveServer& options) {
    const auto lr = static_cast<float>(options.lr), tau = static_cast<float>(options.tau);
    const auto beta1 = static_cast<float>(options.beta1), taken1 = static_cast<float>(1.0 - options.beta1);
    const auto beta2 = static_cast<float>(options.beta2), taken2 = static_cast<float>(1.0 - options.beta2);
    Floats next;
    for (std::size_t i = 0; i < global.size(); ++i) {
        const float square = aggregate[i] * aggregate[i];
        m[i] = beta1 * m[i] + taken1 * aggregate[i];
        if (name == "adagrad")
            v[i] = v[i] + square;
        else if (name == "adam")
            v[i] = beta2 * v[i] + taken2 * square;
        else if (v[i] > square)
            v[i] = v[i] - taken2 * square;
        else if (v[i] < square)
            v[i] = v[i] + taken2 * square;
        next.push_back(global[i] + lr * m[i] / (std::sqrt(v[i]) + tau));
    }
    return next;
}

}  // namespace fedhive::aggregation::reference
