#include "sim/config/rule_check.h"

#include "aggregation/base/sha256.h"
#include "sim/config/method_trace.h"

namespace fedhive::sim {

std::shared_ptr<const RuleFile> load_rule(const std::filesystem::path& file) {
    auto rule = std::make_shared<RuleFile>();
    rule->file = std::filesystem::absolute(file);
    rule->source = content_of(rule->file);
    Sha256 hash;
    hash.update(rule->source.data(), rule->source.size());
    rule->sha256 = hash.hex_digest();
    python_result("fedhive.rule", rule->file);
    return rule;
}

}  // namespace fedhive::sim
