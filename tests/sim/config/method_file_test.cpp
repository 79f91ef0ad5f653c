// strategy.file in configs: what a method brings to the strategy, and what is refused, with the line of the user's own file.
#include "sim/config/method_file.h"
#include "sim/config/named_methods.h"

#include "tests/sim/config/config_files.h"
#include "tests/sim/config/method_folder.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

const std::string kScaffold =
    "doc: SCAFFOLD\n"
    "weighting: uniform\n"
    "keys: [{name: share, default: 1, least: 0, most: 1, doc: of the correction}]\n"
    "memories:\n"
    "- {name: c, owner: server, down: true}\n"
    "- {name: c_k, owner: client}\n"
    "- {name: d, owner: visit, up: true}\n"
    "gradient: g + share * (c - c_k)\n"
    "end:\n"
    "- let change = (w_t - w) / (steps * lr) - c\n"
    "- d = change\n"
    "- c_k = c_k + change\n"
    "server:\n"
    "- w = w + server_lr * u\n"
    "- c = c + d * received / clients\n";

std::string with_file(const std::string& file, const std::string& more = "") {
    return kMinimal + "strategy: {file: " + file + more + "}\n";
}

}  // namespace

TEST_SUITE_BEGIN("MethodFile");

TEST_CASE("AMethodTakesThePlaceOfThePartsThatItHas") {
    const MethodFolder folder;
    const RunConfig run = loaded(with_file(folder.file(kScaffold), ", share: 0.5, server_lr: 0.1"));
    const StrategyParts& parts = run.strategy.parts;
    REQUIRE(parts.method != nullptr);
    CHECK_EQ(parts.local.name, kFormula);
    CHECK_EQ(parts.server.name, kFormula);
    CHECK_EQ(parts.aggregator.name, "mean");
    CHECK_EQ(parts.of_method.number("share"), 0.5);
    CHECK_EQ(parts.of_method.number("server_lr"), 0.1);
    CHECK(run.strategy.client_state());
    CHECK(run.strategy.trains_alone());
    CHECK_EQ(run.strategy.weighting, Weighting::Uniform);
    CHECK_EQ(run.strategy.title(), "m");
    // The resolved config is read to the same.
    const RunConfig again = loaded(to_yaml(run));
    CHECK_EQ(to_yaml(again), to_yaml(run));
    CHECK_EQ(again.strategy.file_sha256, parts.method->sha256);
}

TEST_CASE("AGradientWithoutMemoryLeavesTheRestToTheConfig") {
    const MethodFolder folder;
    const std::string file = folder.file("keys: [{name: mu, default: 0.1, least: 0}]\ngradient: g + mu * (w - w_t)\n");
    const RunConfig run = loaded(with_file(file, ", aggregator: median, server: adam"));
    CHECK_EQ(run.strategy.parts.local.name, kFormula);
    CHECK_EQ(run.strategy.parts.aggregator.name, "median");
    CHECK_EQ(run.strategy.parts.server.name, "adam");
    CHECK_FALSE(run.strategy.client_state());
    CHECK_FALSE(run.strategy.trains_alone());
}

TEST_CASE("AFormulaOfEachElementAloneIsOneThatKernelsCanRun") {
    const MethodFolder folder;
    const auto of_elements = [&](const std::string& text) {
        return loaded(with_file(folder.file(text))).strategy.formulas().changes_elements();
    };
    CHECK(of_elements("keys: [{name: mu, default: 0.1, least: 0}]\ngradient: g + mu * (w - w_t)\n"));
    CHECK(of_elements("gradient: g * 2\nserver: [w = w + 0.5 * u]\n"));
    for (const char* text : {"gradient: g / norm(g)\n", "gradient: g / (1 + step)\n", "gradient: g / steps\n",
                             "gradient: g * n\n", "gradient: g\nafter: [w = w * 0.5]\n", "gradient: g\nend: [let change = u]\n",
                             "server: [w = w + u]\n", "memories: [{name: c, owner: client}]\ngradient: g - c\nend: c = u\n"}) {
        CAPTURE(text);
        CHECK_FALSE(of_elements(text));
    }
    CHECK(loaded(kMinimal + "strategy: {name: fedprox}\n").strategy.formulas().changes_elements());
    CHECK_FALSE(loaded(kMinimal + "strategy: {name: scaffold}\n").strategy.formulas().changes_elements());
}

TEST_CASE("WeightsThatReadTheRootClientsUpdateNeedExamplesOfTheServer") {
    const MethodFolder folder;
    for (const char* weight : {"relu(k.cos_root)", "k.dot_root", "k.n / root_norm"}) {
        CAPTURE(weight);
        const std::string file = folder.file(fmt::format("cohort: weight = {}\n", weight), "root.yaml");
        const RunConfig run = loaded(with_file(file));
        CHECK_EQ(run.data.root_examples, 100);
        CHECK_EQ(run.strategy.parts.aggregator.name, kFormulaWithRoot);
        CHECK(to_yaml(run).find("aggregator") == std::string::npos);
    }
    CHECK_FALSE(loaded(with_file(folder.file("cohort: weight = k.n\n", "none.yaml"))).data.root_examples);
    const std::string file = folder.file("cohort: weight = relu(k.cos_root)\n", "root.yaml");
    const std::string given =
        "data: {format: glyphs, root_examples: 9, partition: {clients: 4}}\nmodel: {name: lr}\nstrategy: {file: " + file +
        "}\n";
    CHECK_EQ(error_of(given), "");
    for (const std::string mode : {"semi_async, quorum: 2", "split, cut: fc"})
        check_message("config", "root " + mode, error_of(given + "mode: {name: " + mode + "}\n"), "c.yaml:3: strategy.file");
    check_message("config", "root residual", error_of(with_file(file) + "upload: [{name: error_feedback}, {name: sign}]\n"),
                  "c.yaml:8: upload");
    check_message("config", "root by number",
                  error_of("data: {format: glyphs, partition: {scheme: from_file, file: /p.csv}}\nmodel: {name: lr}\nstrategy: "
                           "{file: " +
                           file + "}\n"),
                  "c.yaml:3: strategy.file");
    check_message("config", "root number alone",
                  error_of(with_file(folder.file("cohort: most = root_norm\nserver: w = w + u / most\n", "alone.yaml"))),
                  "c.yaml:7: strategy.file");
    check_message(
        "config", "root client memory",
        error_of(with_file(folder.file(
            "memories: [{name: c, owner: client}]\ngradient: g - c\nend: c = u\ncohort: weight = k.cos_root\n", "c.yaml"))),
        "c.yaml:7: strategy.file");
}

TEST_CASE("WhatDoesNotGoTogetherIsRefused") {
    const MethodFolder folder;
    const std::string file = folder.file(kScaffold);
    for (const std::string more : {", server: adam", ", local: prox", ", name: fedprox", ", share: 2", ", mu: 1",
                                   ", weighting: examples", ", aggregator: median", ", file_sha256: abc"}) {
        CAPTURE(more);
        const std::string key = more.substr(2, more.find(':') - 2);
        check_message("config", more, error_of(with_file(file, more)), "c.yaml:7: strategy." + key);
    }
    const std::string remembers = folder.file("memories: [{name: c, owner: client}]\ngradient: g - c\nend: c = u\n", "c.yaml");
    check_message("config", "dp_ftrl",
                  error_of(with_file(remembers, ", server: dp_ftrl, weighting: uniform") + "upload: [{name: clip, norm: 1}]\n"),
                  "c.yaml:7: strategy.file");
    check_message("config", "root",
                  error_of("data: {format: glyphs, root_examples: 9, partition: {clients: 4}}\nmodel: {name: lr}\n"
                           "strategy: {file: " +
                           remembers + ", aggregator: root_trust}\n"),
                  "c.yaml:3: strategy.aggregator");
    check_message("config", "mode", error_of(with_file(file) + "mode: {name: async}\n"), "c.yaml:7: strategy.file");
    const std::string of_cohort = folder.file("cohort: most = max_k(k.norm)\nserver: w = w + u / most\n", "cohort.yaml");
    check_message("config", "discount", error_of(with_file(of_cohort) + "mode: {name: semi_async, quorum: 2}\n"),
                  "c.yaml:7: strategy.file");
    const std::string split = "mode: {name: split, cut: fc}\n";
    check_message("config", "split", error_of(with_file(folder.file("gradient: g / norm(g)\n", "gradient.yaml")) + split),
                  "c.yaml:7: strategy.file");
    CHECK_EQ(error_of(with_file(folder.file("gradient: g + 0.1 * w\n", "elements.yaml")) + split), "");
    check_message("config", "sent loss",
                  error_of(with_file(folder.file("cohort: weight = softmax_k(k.sent_loss)\n", "loss.yaml")) + split),
                  "c.yaml:7: strategy.file");
    CHECK_EQ(
        error_of(with_file(folder.file("server: w = w + 0.5 * u\n", "server.yaml")) + "mode: {name: semi_async, quorum: 2}\n"),
        "");
    check_message("config", "shared", error_of(with_file(file) + "training: {clients_per_slot: 4}\n"),
                  "c.yaml:8: training.clients_per_slot");
    check_message("config", "missing", error_of(with_file("/nowhere/m.yaml")), "c.yaml:7: strategy.file");
    check_message("config", "ending", error_of(with_file(folder.file(kScaffold, "m.txt"))), "c.yaml:7: strategy.file");
    check_message("config", "file_sha256", error_of(kMinimal + "strategy: {file_sha256: abc}\n"),
                  "c.yaml:7: strategy.file_sha256");
}

TEST_CASE("AMistakeInAMethodNamesItsLine") {
    const MethodFolder folder;
    const auto check = [&](int line, const std::string& content) {
        const std::string text = folder.refused(content);
        CAPTURE(content);
        check_message("config", content, text, fmt::format("{}:{}", (folder.path() / "m.yaml").string(), line));
    };
    check(1, "gradient: g + muu\n");
    check(2, "keys: [{name: mu, default: 1}]\ngradient: g + mue * w\n");
    check(3, "end:\n- let a = w\n- b = a\n");
    check(1, "gradients: g\n");
    check(1, "doc: nothing\n");
    check(1, "keys: [{name: mu}]\ngradient: g\n");
    check(1, "keys: [{name: mu, default: -1, least: 0}]\ngradient: g\n");
    check(1, "keys: [{name: mu, default: 1, lowest: 0}]\ngradient: g\n");
    check(1, "keys: [{name: 'm u', default: 1}]\ngradient: g\n");
    check(2, "keys:\n- {name: mu, default: x}\ngradient: g\n");
    check(2, "memories:\n- {name: c, owner: everyone}\ngradient: g\n");
    check(2, "memories:\n- {name: c, owner: client, down: true}\ngradient: g\n");
    check(1, "memories:\n- {name: c, owner: visit}\ngradient: g\n");
    check(2, "memories:\n- {name: c, owner: client, first: w_0}\ngradient: g\n");
    check(1, "memories: [{name: c, owner: client}]\ngradient: g + c\n");
    check(1, "memories: [{name: c, owner: client}]\nend: c = w\n");
    check(2, "keys: [{name: c, default: 1}]\nmemories: [{name: c, owner: client}]\nend: c = w\n");
    check(1, "reports: [{name: a}]\ngradient: g\n");
    check(1, "weighting: examples\ngradient: g\n");
    check(1, "gradient: {g: 1}\n");
    check(1, "server: w = w + norm(w) * k.n\n");
    check(1, "cohort: weight = k.n * u\n");
    check(1, "loss: logits\n");
    check(1, "loss: crossentropy(logits, y)\n");
    check(1, "loss: cross_entropy(logit, y)\n");
    check(1, "loss: sum(logits * z)\n");
    check(2, "keys: [{name: mu, default: 1}]\nloss: cross_entropy(logits, mu)\n");
    check(1, "loss: pick(counts, y)\n");
    check(1, "loss: cross_entropy(logits - w, y)\n");
    check(1, "gradient: log_softmax(g)\n");
    check(1, "loss: cross_entropy(logits - sent.logits, y)\n");
    check(1, "also_at: {sent: w}\nloss: cross_entropy(logits - sent.logits, y)\n");
    check(1, "also_at: {sent: w_t}\nloss: cross_entropy(logits, y)\n");
    check(1, "also_at: {sent: w_t}\ngradient: g\n");
    check(1, "also_at: {a b: w_t}\nloss: cross_entropy(logits, y)\n");
    check(1, "also_at: [w_t]\nloss: cross_entropy(logits, y)\n");
    check(1, "keys: [{name: z, default: 1}]\nloss: z * cross_entropy(logits, y)\n");
    check(1, "loss: " + std::string(130, '(') + "1\n");
}

TEST_CASE("ABoxHasNoFunctionsThatPythonRuns") {
    const MethodFolder folder;
    const auto says = [&](const std::string& content, const std::string& place) {
        const std::string refused = folder.refused(content);
        CHECK_MESSAGE(refused.find(place) != std::string::npos, refused);
        CHECK_MESSAGE_IS("config", content, refused);
    };
    says("python: {server: {function: mine, arguments: [updates]}}\n", "m.yaml: python: ");
    says("python:\n  visit:\n    memories: {m: {shape: logits}}\n", "m.yaml:3: memory 'm': shape: ");
    says("keys:\n- {name: server, default: 1}\ngradient: server * g\n", "m.yaml:2: key 'server': ");
}

TEST_CASE("ALossWithOtherModelsIsRead") {
    const MethodFolder folder;
    const auto method =
        load_method(folder.file("memories: [{name: last, owner: client, first: w_t}]\n"
                                "also_at: {sent: w_t, before: last}\n"
                                "loss: cross_entropy(logits, y) + cos(z, sent.z) - cos(z, before.z)\n"
                                "end: last = w\n"));
    REQUIRE_EQ(method->formulas.also_at.size(), 2U);
    CHECK_EQ(method->formulas.also_at[1].name, "before");
    CHECK_EQ(method->formulas.also_at[1].at, "last");
    CHECK(method->formulas.changes_visits());
    const auto again = aggregation::formulas::MethodFormulas::of(method->formulas.text());
    CHECK_EQ(again.text(), method->formulas.text());
    CHECK_EQ(again.also_at.size(), 2U);
}

TEST_CASE("WhatALossDoesNotGoWithIsRefused") {
    const MethodFolder folder;
    const std::string file = folder.file("keys: [{name: mu, default: 0}]\nloss: cross_entropy(mu * logits, y)\n");
    CHECK_EQ(error_of(with_file(file)), "");
    check_message("config", "loss beside a loss", error_of(with_file(file) + "training: {loss: {name: focal}}\n"),
                  "c.yaml:8: training.loss");
    check_message("config", "loss beside smoothing",
                  error_of(with_file(file) + "training: {loss: {name: cross_entropy, label_smoothing: 0.1}}\n"),
                  "c.yaml:8: training.loss");
    check_message("config", "loss beside a graph", error_of(with_file(file) + "training: {graph: true}\n"),
                  "c.yaml:8: training.graph");
    check_message("config", "loss of numbers",
                  error_of("data: {format: synthetic_linear, partition: {clients: 4}}\nmodel: {name: lr}\ntask: regression\n"
                           "strategy: {file: " +
                           file + "}\n"),
                  "c.yaml:4: strategy.file");
    check_message("config", "loss of a cut model", error_of(with_file(file) + "mode: {name: split, cut: fc}\n"),
                  "c.yaml:7: strategy.file");
}

TEST_CASE("APlaceWithoutWhatItIsThereForIsRefused") {
    const MethodFolder folder;
    folder.refuses("second: w + g\ngradient: g\n", "m.yaml:1: second: ");
    folder.refuses("gradient: g + g_2\n", "gradient: 'g_2' ");
    folder.refuses("second: w + g\nsecond_batch: other\ngradient: g_2\n", "m.yaml:2: second_batch: ");
    folder.refuses("gradient: g\nsecond_batch: next\n", "m.yaml:2: second_batch: ");
    folder.refuses("memories: [{name: v, owner: client}]\ngradient: [v = v + g]\n", "m.yaml:2: gradient: ");
    folder.refuses("memories: [{name: v, owner: visit}]\ngradient: g\nend: v = w\n", "end: 'v' ");
    folder.refuses("memories: [{name: v, owner: visit}]\ngradient: g + v\n", "gradient: 'v' ");
    folder.refuses("memories: [{name: v, owner: client}]\ngradient: [g = g, v = v + g]\njudge: w = w + v\n", "'w' ");
    folder.refuses("memories: [{name: v, owner: server, first: w_t}]\nserver: [w = w + u, v = v + u]\n", "memory 'v': first: ");
    const std::string own = "memories: [{name: own, owner: client}]\nstart: own + w_t\n";
    folder.refuses(own + "peers: k.me\nend: own = w\n", "m.yaml:3: peers: ");
    folder.refuses(own + "mix: own = w_t + u\n", "m.yaml:3: mix: ");
    folder.refuses(own + "mix: own = w_t + u\npeers: k.me\nend: own = w\n", "m.yaml:3: memory 'own' ");
    folder.refuses(own + "mix: own = w_t + w\npeers: k.me\n", "'w' ");
    folder.refuses(own + "mix: own = w_t + u\npeers: [let d = k.me]\n", "'weight");
    folder.refuses("cohort: weight = k.me\n", "'k.me' ");
    folder.refuses("memories: [{name: own, owner: client}]\nmix: own = w_t + u\npeers: k.me\n", "memory 'own' is never read");
    folder.refuses("losses_at: {F: c}\nstart: F * w_t\n", "m.yaml:1: losses_at: F: 'c' ");
    folder.refuses("losses_at: {F: w_t}\ngradient: g\n", "m.yaml:1: losses_at: 'F'");
    folder.refuses("losses_at: {F: w_t}\njudge: F * w_t\n", "'F' ");
    CHECK(folder.refused("memories: [{name: v, owner: visit, first: w_t}]\ngradient: [g = g + v, v = v + g]\n").empty());
}

TEST_CASE("AGradientInTheConfigNamesItsMistakes") {
    const auto says = [](const std::string& strategy, const std::string& text) {
        CAPTURE(strategy);
        const std::string refused = error_of(kMinimal + "strategy: {" + strategy + "}\n");
        CHECK_MESSAGE(refused.find(text) != std::string::npos, refused);
        CHECK_MESSAGE_IS("config", strategy, refused);
    };
    says("gradient: g + wt", "strategy.gradient: 'wt' ");
    says("gradient: g + wt", "did you mean 'w_t'?");
    says("name: scaffold, gradient: g", "'scaffold'");
    says("local: prox, gradient: g", "strategy.local");
    const MethodFolder folder;
    CHECK_MESSAGE_IS("config", "gradient and file",
                     error_of(kMinimal + "strategy: {gradient: g, file: " + folder.file("gradient: g\n") + "}\n"));
    const RunConfig run = loaded(kMinimal + "strategy: {name: fedadam, gradient: \"g + 0.1 * (w - w_t)\"}\n");
    CHECK_EQ(run.strategy.parts.local.name, kFormula);
    CHECK_EQ(run.strategy.parts.server.name, "adam");
}

TEST_CASE("ANameOfAMethodStandsForItsFile") {
    REQUIRE(named_methods().size() >= 105);
    for (const NamedMethod& method : named_methods()) CHECK_MESSAGE(method.doc.size() > 10, method.name);
    const NamedMethod* ditto = named_method("ditto");
    REQUIRE(ditto != nullptr);
    const RunConfig run = loaded(kMinimal + "strategy: {name: ditto}\n");
    CHECK_EQ(run.strategy.file, ditto->file);
    CHECK_EQ(run.strategy.title(), "ditto");
    CHECK_EQ(run.strategy.name, "fedavg");
    CHECK(named_method("scaffold") == nullptr);  // which C++ has
    const MethodFolder folder;
    const std::string both = error_of(kMinimal + "strategy: {name: ditto, file: " + folder.file("gradient: g\n") + "}\n");
    CHECK_MESSAGE(both.find("'name' and 'file' are both given") != std::string::npos, both);
    const std::string near = error_of(kMinimal + "strategy: {name: dito}\n");
    CHECK_MESSAGE(near.find("did you mean 'ditto'?") != std::string::npos, near);
}

TEST_CASE("WhatReadsTheClientsOwnPartNeedsOne") {
    const MethodFolder folder;
    const std::string refused = error_of(with_file(folder.file("gradient: g * (1 - local)\n")));
    CHECK_MESSAGE(refused.find("model.local names none") != std::string::npos, refused);
}

TEST_CASE("AVisitDoesNotBeginAtAMemoryWithoutTheClientsOwnPart") {
    const MethodFolder folder;
    const std::string local = "model: {name: mlp, local: [\"fc2*\"]}\nevaluation: {clients: {every: 1}}\n";
    const auto refused = [&](const std::string& method) {
        std::string config = with_file(folder.file("memories: [{name: own, owner: client, first: w_t}]\n" + method));
        const std::string model = "model:\n  name: lr\n";
        config.erase(config.find(model), model.size());
        config.insert(config.find("clients: 4") + 10, ", holdout: 0.2");
        return error_of(config + local);
    };
    for (const char* method :
         {"start: own\nend: own = w\n", "end: own = w\njudge: w_t + own\n", "start: own\npeers: k.me\nmix: own = w_t + u\n"})
        check_message("config", method, refused(method), "c.yaml:6: model.local");
    for (const char* method : {"start: where(local, w_t, own)\nend: own = w\n",
                               "gradient: [g = g, own = own - g]\njudge: own\n", "gradient: g + own\nend: own = w\n"})
        CHECK_MESSAGE(refused(method).find("has no values") == std::string::npos, refused(method));
}

TEST_CASE("WhatDecidesResultsIsInTheHashAndNothingElse") {
    const MethodFolder folder;
    const auto hash = [&](const std::string& content) { return load_method(folder.file(content))->sha256; };
    const std::string plain = hash("gradient: g + 0.1 * w\n");
    CHECK_EQ(hash("# a comment\ndoc: weight decay\ngradient: g + 0.1 * w\n"), plain);
    CHECK_EQ(hash("gradient: [g = g + 0.1 * w]\n"), plain);
    CHECK_NE(hash("gradient: g + 0.2 * w\n"), plain);
}

TEST_CASE("PythonIsTracedOnceAndItsMistakesHaveItsLines") {
    const MethodFolder folder;
    const std::string head = "import fedhive as fh\nmu = fh.key('mu', 0.1, least=0)\n\n@fh.gradient\n";
    const auto method = load_method(folder.file(head + "def gradient(g, w, w_t):\n    return g + mu * (w - w_t)\n", "m.py"));
    CHECK_EQ(method->formulas.lines.at(aggregation::formulas::Place::Gradient),
             std::vector<std::string>{"g = g + mu * (w - w_t)"});
    CHECK_EQ(method->keys.front().name, "mu");
    // The output of a file's print() is not part of its method.
    CHECK_EQ(load_method(folder.file("print('w = 1')\n" + head + "def gradient(g):\n    return (1 + mu) * g\n", "m.py"))
                 ->formulas.lines.size(),
             1);
    const std::string where = (folder.path() / "m.py").string();
    check_message("config", "if", folder.refused(head + "def gradient(g, w):\n    return g if mu > 0 else w\n", "m.py"),
                  where + ":6");
    check_message("config", "argument", folder.refused(head + "def gradient(g, v):\n    return g\n", "m.py"), where + ":5");
    check_message("config", "syntax", folder.refused(head + "def gradient(g, w:\n    return g\n", "m.py"), where + ":5");
}
