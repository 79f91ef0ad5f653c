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
    return fmt::format("is the last one and gives {}, {}; {}", text_of(shape), wanted_by(spec),
                       shape.size() == 2 && answers.size() == 1
                           ? "for one answer to all positions put flatten or last_position before linear, or "
                             "leave out all_positions of lstm"
                           : "end with linear, without out");
}

std::string takes_tokens(const Shape& in) {
    return fmt::format(
        "takes tokens, and what comes in are numbers, {}; it is the first layer on data of tokens, such as "
        "data.format text, and only there",
        text_of(in));
}

std::string takes_numbers(const Shape& in) {
    return fmt::format("takes numbers, and what comes in are {} tokens; put embedding before it", text_of(in));
}

std::string changes_shape(const Shape& in, const Shape& made) {
    return fmt::format(
        "takes {} and its layers make {} of it, which cannot be added; let them keep the shape, by "
        "padding and as many channels, or give it a shortcut whose layers make {} too",
        text_of(in), text_of(made), text_of(made));
}

std::string differs_from_shortcut(const Shape& in, const Shape& made, const Shape& beside) {
    return fmt::format(
        "takes {}, of which its layers make {} and its shortcut {}, which cannot be added; let both "
        "make the same of it, by strides, padding and as many channels",
        text_of(in), text_of(made), text_of(beside));
}

std::string needs(const ModelSpec& spec, const std::string& key) {
    return fmt::format("needs {}; only the last layer can do without, whose units are the {}", key,
                       spec.target.kind == TargetKind::Numbers ? "targets' numbers" : "classes");
}

std::string has_too_few_rows(std::int64_t given, std::int64_t tokens) {
    return fmt::format("has rows for {} tokens, and the data know {}; allowed: at least as many, or leave tokens out", given,
                       tokens);
}

std::string gives_too_much(double values, double most) {
    return fmt::format("gives {:.0e} values for an example; allowed: at most {:.0e}", values, most);
}

}  // namespace fedhive::clients::misfits
