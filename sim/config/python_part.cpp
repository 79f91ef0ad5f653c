#include "sim/config/python_part.h"

#include "aggregation/base/sha256.h"
#include "sim/config/method_declarations.h"

#include <fmt/format.h>

#include <map>
#include <memory>

namespace fedhive::sim {

namespace {

using aggregation::MemoryShape;

KeptMemory kept_of(const YamlNode& memory) {
    static const std::map<std::string, MemoryShape> shapes{
        {"model", MemoryShape::Trainable}, {"classes", MemoryShape::Classes}, {"number", MemoryShape::Scalar}};
    const auto shape = shapes.find(word_at(memory, "shape"));
    if (shape == shapes.end())
        refuse(memory,
               fmt::format("memory '{}': shape: '{}'; allowed: model, classes, number", memory.key, word_at(memory, "shape")));
    return {memory.key, shape->second, word_at(memory, "first") == "w_t"};
}

}  // namespace

void read_python(const YamlNode& python, Method& method) {
    if (const YamlNode* server = python.find("server")) {
        auto rule = std::make_shared<RuleFile>();
        rule->function = word_at(*server, "function");
        method.rule = rule;
    }
    const YamlNode* visit = python.find("visit");
    if (visit == nullptr) return;
    auto file = std::make_shared<VisitFile>();
    file->function = word_at(*visit, "function");
    if (const YamlNode* arguments = visit->find("arguments"))
        for (const YamlNode& argument : arguments->children) file->takes_model = file->takes_model || argument.text == "model";
    if (const YamlNode* memories = visit->find("memories"))
        for (const YamlNode& memory : memories->children) file->memory.push_back(kept_of(memory));
    file->reports = method.reports;
    method.visit = file;
}

void complete_python(Method& method, const std::string& key) {
    if (method.rule == nullptr && method.visit == nullptr) return;
    Sha256 hash;
    hash.update(method.source.data(), method.source.size());
    method.sha256 = hash.hex_digest();
    const auto complete = [&](const auto& code) {
        if (code == nullptr) return;
        code->file = method.file;
        code->source = method.source;
        code->sha256 = method.sha256;
        code->key = key;
        code->keys = method.keys;
    };
    complete(method.rule);
    complete(method.visit);
}

}  // namespace fedhive::sim
