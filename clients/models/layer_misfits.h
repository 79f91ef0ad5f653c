// The texts of messages about a layer that does not fit. Each text follows "layer 3 (conv2d) ".
#pragma once

#include "clients/models/model_plan.h"

namespace fedhive::clients::misfits {

/// The exception: "layer 3 (conv2d) " and the problem.
LayerMisfit at(const PlannedLayer& layer, const std::string& path, const std::string& problem);

/// The last layer's output has `shape`, but the data need `answers`.
std::string wrong_answers(const ModelSpec& spec, const Shape& shape, const Shape& answers);

std::string takes_tokens(const Shape& in);
std::string takes_numbers(const Shape& in);

/// A residual's layers map shape `in` to `made`, so the sum is impossible: first without a shortcut, then with one that maps `in` to `beside`.
std::string changes_shape(const Shape& in, const Shape& made);
std::string differs_from_shortcut(const Shape& in, const Shape& made, const Shape& beside);

/// The layer leaves out a key that only the last layer may leave out.
std::string needs(const ModelSpec& spec, const std::string& key);

std::string has_too_few_rows(std::int64_t given, std::int64_t tokens);
std::string gives_too_much(double values, double most);

}  // namespace fedhive::clients::misfits
