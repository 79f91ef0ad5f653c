#include "clients/models/layer_misfits.h"

#include <fmt/format.h>

namespace fedhive::clients::misfits {

namespace {

std::string wanted_by(const ModelSpec& spec) {
    switch (spec.target.kind) {
        case TargetKind::Numbers:
            return fmt::format("the data's targets are {} number{}", spec.target.width, spec.target.width == 1 ? "" : "s");
        case TargetKind::ClassEach:
            return fmt::format("the data has {} classes at each of {} positions", spec.num_classes, spec.target.width);
        case TargetKind::Class:
            break;
    }
    return fmt::format("the data has {} classes", spec.num_classes);
}

}  // namespace

LayerMisfit at(const PlannedLayer& layer, const std::string& path, const std::string& problem) {
    return {fmt::format("layer {} ({}) {}", layer.number, name_of(layer.kind), problem), path};
}

std::string wrong_answers(const ModelSpec& spec, const Shape& shape, const Shape& answers) {
    return fmt::format("is the last layer and gives {}, but {}; {}", text_of(shape), wanted_by(spec),
                       shape.size() == 2 && answers.size() == 1
                           ? "for one output for all positions, put flatten or last_position before linear, or remove "
                             "all_positions of lstm or gru"
                           : "end with linear, without out");
}

std::string takes_tokens(const Shape& in) {
    return fmt::format(
        "takes tokens, but its input is numbers, {}; use it only as the first layer for data of tokens, such as data.format "
        "text",
        text_of(in));
}

std::string takes_numbers(const Shape& in) {
    return fmt::format("takes numbers, but its input is {} tokens; put embedding before it", text_of(in));
}

std::string changes_shape(const Shape& in, const Shape& made) {
    return fmt::format(
        "cannot add its input of {} to the output of its layers, {}; keep the shape with padding and the same number of "
        "channels, or add a shortcut that also gives {}",
        text_of(in), text_of(made), text_of(made));
}

std::string differs_from_shortcut(const Shape& in, const Shape& made, const Shape& beside) {
    return fmt::format(
        "turns {} into {} by its layers and into {} by its shortcut, which cannot be added; make both shapes equal with "
        "strides, padding and channels",
        text_of(in), text_of(made), text_of(beside));
}

std::string needs(const ModelSpec& spec, const std::string& key) {
    return fmt::format("needs {}; only the last layer may leave it out, where it is the number of {}", key,
                       spec.target.kind == TargetKind::Numbers ? "targets' numbers" : "classes");
}

std::string has_too_few_rows(std::int64_t given, std::int64_t tokens) {
    return fmt::format("has rows for {} tokens, but the data have {}; give at least that number, or remove tokens", given,
                       tokens);
}

std::string gives_too_much(double values, double most) {
    return fmt::format("gives {:.0e} values for an example; allowed: at most {:.0e}", values, most);
}

}  // namespace fedhive::clients::misfits
