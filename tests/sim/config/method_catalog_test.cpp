// The catalog of methods: everything that a config can name is in it, once, with a family, a source and a config that loads.
#include "sim/config/method_catalog.h"

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "clients/uploads/upload.h"
#include "sim/config/missing_methods.h"
#include "sim/config/named_methods.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"
#include "sim/strategies/strategy.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

bool has_method(const std::string& name, const std::string& where) {
    return std::ranges::any_of(method_catalog(),
                               [&](const CatalogedMethod& method) { return method.name == name && method.where == where; });
}

std::string problem_of_name(const std::string& name) {
    try {
        methods_called(name);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

/// The keys of a flow of YAML, a line each: "a: {b: 1}, c: 2" is two lines.
std::string lines_of_keys(std::string config) {
    int depth = 0;
    for (std::size_t i = 0; i < config.size(); ++i) {
        depth += config[i] == '{' || config[i] == '[' ? 1 : config[i] == '}' || config[i] == ']' ? -1 : 0;
        if (config[i] == ',' && depth == 0) config.replace(i, 2, "\n");
    }
    return config + "\n";
}

}  // namespace

TEST_SUITE("MethodCatalog") {
    TEST_CASE("WhatAConfigCanNameIsInItOnce") {
        std::set<std::pair<std::string, std::string>> names;
        for (const CatalogedMethod& method : method_catalog()) {
            CAPTURE(method.name);
            CHECK(names.emplace(method.name, method.where).second);
            CHECK(method.says.size() > 10);
            CHECK(method.config.find('{') != std::string::npos);
        }
        for (const StrategySpec& spec : strategy_catalog()) CHECK_MESSAGE(has_method(spec.name, "strategy.name"), spec.name);
        for (const NamedMethod& method : named_methods()) CHECK_MESSAGE(has_method(method.name, "strategy.name"), method.name);
        for (const SamplerSpec& spec : sampler_catalog()) CHECK_MESSAGE(has_method(spec.name, "sampling.name"), spec.name);
        for (const clients::UploadSpec& spec : clients::upload_catalog())
            CHECK_MESSAGE(has_method(spec.name, "upload"), spec.name);
        for (const ModeSpec& spec : mode_catalog()) CHECK_MESSAGE(has_method(spec.name, "mode.name"), spec.name);
        CHECK(has_method("alie", "attack.name"));
        CHECK(has_method("trigger", "data.poison.name"));
        CHECK(has_method("sign_majority", "strategy.aggregator"));
        CHECK(has_method("bucketing", "strategy.pre_aggregation"));
        CHECK_FALSE(has_method("none", "attack.name"));
    }

    TEST_CASE("FamiliesFollowEachOtherAndEachHasMethods") {
        CHECK(std::ranges::is_sorted(method_catalog(), {}, &CatalogedMethod::family));
        const auto family_of = [](const char* name) { return methods_called(name).front().family; };
        CHECK_EQ(family_of("fedprox"), MethodFamily::Optimisation);
        CHECK_EQ(family_of("moon"), MethodFamily::Losses);
        CHECK_EQ(family_of("ditto"), MethodFamily::Personal);
        CHECK_EQ(family_of("gifair"), MethodFamily::Fairness);
        CHECK_EQ(family_of("oort"), MethodFamily::Selection);
        CHECK_EQ(family_of("krum"), MethodFamily::Robust);
        CHECK_EQ(family_of("sign_flip"), MethodFamily::Attacks);
        CHECK_EQ(family_of("laplace_noise"), MethodFamily::Privacy);
        CHECK_EQ(family_of("drive"), MethodFamily::Compression);
        CHECK_EQ(family_of("fedbuff"), MethodFamily::Modes);
    }

    TEST_CASE("NeedsAreThoseOfTheFormulas") {
        const auto needs = [](const char* name) { return methods_called(name).front().needs; };
        CHECK_EQ(needs("ditto"), std::vector<std::string>{"client memory", "a second gradient"});
        CHECK_EQ(needs("fedsam"), std::vector<std::string>{"a second gradient"});
        CHECK_EQ(needs("moon"), std::vector<std::string>{"client memory", "a loss", "a second forward pass"});
        CHECK_EQ(needs("mimelite"), std::vector<std::string>{"more down", "more up", "the whole gradient"});
        CHECK_EQ(needs("fedbabu"), std::vector<std::string>{"model.local"});
        CHECK_EQ(needs("slsgd"), std::vector<std::string>{});
        CHECK_EQ(needs("celgc"), std::vector<std::string>{});  // "local" in the words about a key
        CHECK_EQ(needs("multi_krum"), std::vector<std::string>{"inner products"});
        CHECK_EQ(needs("krum"), std::vector<std::string>{"inner products"});
        CHECK_EQ(needs("scaffold"), std::vector<std::string>{"client memory", "more up"});
        CHECK_EQ(needs("qfedavg"), std::vector<std::string>{"measure loss"});
    }

    TEST_CASE("WhatAConfigSaysIsKnownToIt") {
        std::size_t loads = 0;
        for (const CatalogedMethod& method : method_catalog()) {
            const std::string top = method.config.substr(0, method.config.find(':'));
            const bool replaces = top == "data" || top == "model";  // which kMinimal has
            const std::string head = replaces ? "" : kMinimal;
            std::string config = lines_of_keys(method.config);
            if (top == "data")
                config = "model: {name: lr}\ndata: {format: glyphs, partition: {clients: 4}, " + config.substr(7);
            if (top == "model") config = "data: {format: glyphs, partition: {clients: 4}}\n" + config;
            CAPTURE(config);
            const std::string error = error_of(head + config);
            CHECK_MESSAGE(error.find("unknown") == std::string::npos, error);
            loads += error.empty() ? 1 : 0;
        }
        CHECK(loads > method_catalog().size() * 3 / 4);  // others lack a head, root examples, a value without a default
    }

    TEST_CASE("ANameIsFoundHoweverItIsWritten") {
        CHECK(methods_called("FedProx").front().name == "fedprox");
        CHECK(methods_called("EF21-SGDM").front().name == "ef21_sgdm");
        CHECK(methods_called("adaptive_clip").size() == 2);  // a step of `upload`, and a method file
        for (const auto& [other, name] : std::vector<std::pair<std::string, std::string>>{
                 {"MeaMed", "mean_around_median"}, {"FedMGDA+", "fedmgda_plus"}, {"Top-k", "top_k"}, {"scaffnew", "proxskip"}})
            CHECK(methods_called(other).front().name == name);
        CHECK(problem_of_name("fedproxs") ==
              "methods fedproxs: no such method; did you mean 'fedprox'?; 'fedhive methods' lists all");
        CHECK(problem_of_name("zzzzzzzz") == "methods zzzzzzzz: no such method; 'fedhive methods' lists all");
    }

    TEST_CASE("WhatPapersCompareAndIsNotThereIsNamedWithItsReason") {
        CHECK(missing_methods().size() >= 40);
        for (const auto& [name, method] : missing_methods()) {
            CAPTURE(name);
            const std::string problem = problem_of_name(name);
            CHECK(problem.find(method.title) != std::string::npos);
            CHECK(problem.find(method.why) != std::string::npos);
            CHECK(method.title.find(" 20") != std::string::npos);  // who, and when
            CHECK(std::ranges::none_of(method_catalog(), [&](const CatalogedMethod& there) { return there.name == name; }));
        }
        CHECK(problem_of_name("FedGen").find("did you mean") == std::string::npos);
        CHECK(problem_of_name("DP-SGD").find("the gradient of every single example") != std::string::npos);
    }
}
