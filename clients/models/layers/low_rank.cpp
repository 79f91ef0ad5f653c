// Low-rank factors beside a layer's weight: A begins as a linear layer's weight, B as 0, so that the layer begins as itself.
#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

namespace fedhive::clients {

LowRankTerms low_rank_terms(const Values& arguments) {
    const std::int64_t rank = arguments.optional_integer("lora").value_or(0);
    const auto alpha = static_cast<double>(arguments.optional_integer("alpha").value_or(rank));
    return {rank, rank > 0 ? alpha / static_cast<double>(rank) : 1.0};
}

std::vector<KeySpec> low_rank_keys(const std::string& beside) {
    return {{.name = "lora",
             .default_value = std::optional<std::int64_t>(),
             .range = between(1, kWide),
             .default_note = "no factors",
             .doc = "Rank r of low-rank factors A (r rows) and B (r columns), whose product alpha / r · B A is added to " +
                    beside + " (LoRA, arXiv:2106.09685). `model.frozen` keeps the weight itself."},
            {.name = "alpha",
             .default_value = std::optional<std::int64_t>(),
             .range = between(1, kWide),
             .default_note = "as `lora`",
             .doc = "Strength of the low-rank factors."}};
}

void add_low_rank(LayerFit& fit, const Values& arguments, const std::string& prefix, std::int64_t in, std::int64_t out,
                  double rows) {
    const std::int64_t rank = low_rank_terms(arguments).rank;
    if (rank == 0) {
        if (arguments.optional_integer("alpha")) throw ConfigError("has alpha, but no lora; write lora: RANK, or remove alpha");
        return;
    }
    const auto inputs = static_cast<double>(in), outputs = static_cast<double>(out), r = static_cast<double>(rank);
    fit.parameters.push_back(
        {.name = prefix + "A", .shape = {rank, in}, .initial = Initial::Kaiming, .fan_in = inputs, .factor = true});
    fit.parameters.push_back({.name = prefix + "B", .shape = {out, rank}, .initial = Initial::Zeros, .factor = true});
    fit.flops += rows * (2.0 * r * inputs + 2.0 * r * outputs);
    fit.kept += 2.0 * rows * r;
}

}  // namespace fedhive::clients
