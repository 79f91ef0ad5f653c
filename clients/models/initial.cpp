#include "clients/models/initial.h"

#include "clients/models/model_plan.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

namespace fedhive::clients {

namespace {

/// Kaiming's rule for a leaky ReLU of slope sqrt(5), as torch.nn writes it. Its last bits differ from 1 / sqrt(fan_in).
double kaiming_bound(double fan_in) {
    const double slope = std::sqrt(5.0);
    return std::sqrt(3.0) * (std::sqrt(2.0 / (1.0 + std::pow(slope, 2))) / std::sqrt(fan_in));
}

void draw_uniform(std::span<float> values, double bound, std::mt19937& generator) {
    const auto from = static_cast<float>(-bound);
    const float width = static_cast<float>(bound) - from;
    for (float& value : values) {
        const float share = static_cast<float>(generator() & 0xFFFFFFU) * 0x1p-24F;
        value = std::fma(share, width, from);
    }
}

}  // namespace

bool draw_initial(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed, aggregation::ParamSpan to) {
    FEDHIVE_CHECK_EQ(to.size, layout.num_floats());
    if (spec.exported.given()) return false;
    const std::vector<PlannedLayer> plan = plan_model(spec);
    std::vector<Parameter> tensors;
    for_each_tensor(plan, [&](const std::string&, const Parameter& tensor) { tensors.push_back(tensor); });
    FEDHIVE_CHECK_EQ(tensors.size(), layout.entries().size());
    if (std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.initial == Initial::Normal; }))
        return false;  // models with attention have an embedding, so that Xavier's rule is not needed here
    std::mt19937 generator(static_cast<std::uint32_t>(seed));  // PyTorch's engine takes the low 32 bits, too
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::span<float> values = to.part(layout.entries()[i].offset, layout.entries()[i].size).host();
        switch (tensors[i].initial) {
            case Initial::Kaiming:
                draw_uniform(values, kaiming_bound(tensors[i].fan_in), generator);
                break;
            case Initial::FanIn:
                draw_uniform(values, 1.0 / std::sqrt(tensors[i].fan_in), generator);
                break;
            case Initial::Ones:
                std::fill(values.begin(), values.end(), 1.0F);
                break;
            case Initial::Zeros:
            case Initial::Normal:
            case Initial::Xavier:
                std::fill(values.begin(), values.end(), 0.0F);
                break;
        }
    }
    return true;
}

}  // namespace fedhive::clients
