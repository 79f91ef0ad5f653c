#include "sim/config/visit_check.h"

#include "aggregation/base/error.h"
#include "aggregation/base/sha256.h"
#include "sim/config/method_trace.h"

#include <nlohmann/json.hpp>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace fedhive::sim {

namespace {

using aggregation::MemoryShape;

MemoryShape shape_of_word(const std::string& word) {
    static const std::map<std::string, MemoryShape> shapes{
        {"model", MemoryShape::Trainable}, {"classes", MemoryShape::Classes}, {"scalar", MemoryShape::Scalar}};
    return shapes.at(word);
}

}  // namespace

std::shared_ptr<const VisitFile> load_visit(const std::filesystem::path& file) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, std::shared_ptr<const VisitFile>> known;
    auto visit = std::make_shared<VisitFile>();
    visit->file = std::filesystem::absolute(file);
    visit->source = content_of(visit->file);
    Sha256 hash;
    hash.update(visit->source.data(), visit->source.size());
    visit->sha256 = hash.hex_digest();
    const std::scoped_lock lock(mutex);
    std::shared_ptr<const VisitFile>& found = known[{visit->file.string(), visit->sha256}];
    if (found != nullptr) return found;
    const auto said = nlohmann::json::parse(python_result("fedhive.visit", visit->file));
    for (const auto& argument : said["arguments"]) visit->takes_model = visit->takes_model || argument == "model";
    for (const auto& [name, shape] : said["memory"].items())
        visit->memory.emplace_back(name, shape_of_word(shape.get<std::string>()));
    return found = visit;
}

}  // namespace fedhive::sim
