// Methods from files (strategy.file): the methods that fedhive also has in C++ agree, and every file of configs/methods gives the same
// bits for any number of workers and ranks, after a kill under retry, and after a resume.
#include "sim/run/run_files.h"
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::filesystem::path kMethods = source_folder() / "configs/methods";

std::vector<std::string> method_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kMethods))
        if (entry.path().extension() == ".py") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

const Options kOwnModels{"data.partition.holdout=0.25", "evaluation.clients={every: 1, personalized: true}"};

Options with_method(const std::string& name, const Options& more = {}) {
    const Options file{"strategy={file: " + (kMethods / (name + ".py")).string() + "}"};
    const bool has_head = name == "fedrep" || name == "fedbabu" || name == "fedrecon";
    return file + (has_head ? kOwnModels + Options{"model.local=[\"fc2*\"]"} : Options()) + more;
}

/// The rows of fairness.csv about one kind of model, without its name.
std::string judged(const std::filesystem::path& run, const std::string& model) {
    std::string rows;
    for (auto row : read_csv(run / "fairness.csv")) {
        if (std::exchange(row.at("model"), "") != model) continue;
        for (const auto& [column, value] : row) rows += column + "=" + value + ",";
    }
    return rows;
}

void ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

std::vector<float> final_model_of(const Options& options) {
    FedhiveRun run(small_config(), set(options));
    ended_well(run);
    const std::string bytes = read_text(run.out() / "model.safetensors");  // the length of a header, the header, the tensors
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<float> all((bytes.size() - sizeof header - header) / sizeof(float));
    std::memcpy(all.data(), bytes.data() + sizeof header + header, all.size() * sizeof(float));
    return all;
}

/// |a - b| / |a - first|: how far two runs are apart, beside how far one has come.
double apart(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& first) {
    double difference = 0.0, way = 0.0;
    REQUIRE_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2.0);
        way += std::pow(static_cast<double>(a[i]) - static_cast<double>(first[i]), 2.0);
    }
    return std::sqrt(difference / way);
}

}  // namespace

TEST_SUITE("Method") {
    TEST_CASE("AMethodsFileAndItsStrategyInCppAgree") {
        const std::vector<float> first = final_model_of({"strategy={name: fedavg, server_lr: 1e-30}"});
        // The same operations in the same order: the same bits.
        CHECK(sha_with(with_method("fedprox", {"strategy.mu=0.1"})) ==
              sha_with({"strategy={name: fedprox, proximal_mu: 0.1}"}));
        // Numbers are rounded at other places.
        for (const auto& [file, own] : std::vector<std::pair<Options, std::string>>{
                 {with_method("fedavg"), "{name: fedavg}"},
                 {with_method("scaffold"), "{name: scaffold}"},
                 {with_method("feddyn", {"strategy.alpha=0.1"}), "{name: feddyn, alpha: 0.1}"},
                 {with_method("fedavgm", {"strategy.beta=0.9"}), "{name: fedavgm, server_momentum: 0.9}"},
                 {with_method("fedadam", {"strategy.server_lr=0.01"}), "{name: fedadam, server_lr: 0.01}"},
                 {with_method("fedyogi", {"strategy.server_lr=0.01"}), "{name: fedyogi, server_lr: 0.01}"},
                 {with_method("fednova"), "{name: fednova}"},
                 {with_method("rfa"), "{name: rfa}"},
                 {with_method("multi_krum"), "{name: krum, byzantine: 1, chosen: 3}"},
                 {with_method("fltrust"), "{name: fltrust}"},
                 {with_method("zeno", {"strategy.rho=0.25"}), "{name: zeno, penalty: 0.25}"},
                 {with_method("mimelite", {"strategy.beta=0"}), "{name: fedavg, weighting: uniform}"}}) {
            CAPTURE(own);
            Options sgd{"training.optimizer={name: sgd, lr: 0.05}"};  // what scaffold's own file assumes
            if (own.find("fltrust") != std::string::npos || own.find("zeno") != std::string::npos)
                sgd.emplace_back("data.root_examples=20");
            const std::vector<float> by_file = final_model_of(file + sgd),
                                     in_cpp = final_model_of(Options{"strategy=" + own} + sgd);
            CHECK(apart(by_file, in_cpp, first) < 1e-5);
            CHECK(apart(by_file, first, first) == doctest::Approx(1.0));
        }
    }

    TEST_CASE("EveryMethodGivesTheSameBitsForAnyWorkersAndAfterAKill") {
        REQUIRE(method_names().size() >= 30);
        for (const std::string& name : method_names()) {
            CAPTURE(name);
            const std::string alone = sha_with(with_method(name, {"workers=1"}));
            CHECK(sha_with(with_method(
                      name, {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"})) == alone);
        }
    }

    TEST_CASE("MethodsWithMemoryOrProductsGiveTheSameBitsOverRanksAndAfterAResume") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string name : {"scaffold", "feddyn", "fedacg", "fedams", "fedexp", "adaptive_clip", "fedtrip", "ditto",
                                       "mime", "mimelite", "pfedme", "rfa", "multi_krum"}) {
            CAPTURE(name);
            const bool own = name == "ditto" || name == "pfedme";
            const Options options = with_method(name, own ? kOwnModels : Options());
            FedhiveRun whole(small_config(), set(options + Options{"rounds=4"}));
            ended_well(whole);
            RankedRun ranked(2, small_config(), set(options + Options{"rounds=2"}));
            ended_well(ranked);
            ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
            ended_well(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
            if (own) CHECK(comparable(ranked.out() / "fairness.csv") == comparable(whole.out() / "fairness.csv"));
        }
    }

    TEST_CASE("AModelOfTheClientsOwnIsTrainedBesideTheOneThatIsSentAndJudged") {
        for (const std::string engine : {"direct", "libtorch"})
            for (const std::string name : {"ditto", "apfl"}) {
                CAPTURE(engine);
                CAPTURE(name);
                const Options in_engine{"training.engine=" + engine};
                FedhiveRun run(small_config(), set(with_method(name, kOwnModels + in_engine)));
                ended_well(run);
                const std::string without = sha_with(in_engine + kOwnModels);
                CHECK(run.manifest()["model_sha256"] == without);
                const std::string own = judged(run.out(), "personalized"), global = judged(run.out(), "global");
                CHECK(own.size() > 100);
                CHECK(own != global);
                FedhiveRun again(small_config(), set(with_method(name, kOwnModels + in_engine + Options{"workers=3"})));
                ended_well(again);
                CHECK(judged(again.out(), "personalized") == own);
            }
        // No share of the client's own: the model that was sent is judged twice.
        FedhiveRun none(small_config(), set(with_method("apfl", kOwnModels + Options{"strategy.alpha=0"})));
        ended_well(none);
        CHECK(judged(none.out(), "personalized") == judged(none.out(), "global"));
    }

    TEST_CASE("ASecondGradientAtTheSamePointIsTheFirst") {
        CHECK(sha_with(with_method("fedsam", {"strategy.rho=0"})) == sha_with({"strategy={name: fedavg}"}));
        CHECK(sha_with(with_method("fedsam")) != sha_with({"strategy={name: fedavg}"}));
    }

    TEST_CASE("KeysThatTakeATermOutLeaveTheMethodBehindItBitForBit") {
        const Options plain{"strategy={name: fedavg}"}, equal{"strategy={name: fedavg, weighting: uniform}"};
        const std::vector<std::tuple<std::string, Options, Options>> pairs{
            {"fedasam", {"strategy.rho=0"}, plain},
            {"fednag", {"strategy.gamma=0"}, plain},
            {"fedmom", {"strategy.beta=0"}, plain},
            {"fedprox_adaptive", {"strategy.mu=0", "strategy.by=0"}, plain},
            {"adabest", {"strategy.mu=0", "strategy.beta=0"}, equal},
            {"l2gd", {"strategy.mix=1"}, equal},
            {"fedmos", {"strategy.a=1", "strategy.mu=0"}, plain},
            {"dgc", {"strategy.kept=1", "strategy.beta=0"}, equal},
            {"fedht", {"strategy.kept=1"}, plain},
            {"delta_fl", {"strategy.tail=1"}, with_method("fedavg")},
            {"gifair", {"strategy.lambda=0"}, with_method("fedavg")},
            {"fedcostwavg", {"strategy.alpha=1"}, with_method("fedavg")},
            {"signum", {"strategy.beta=0"}, with_method("signsgd")},
            {"ef21_sgdm", {"strategy.eta=1"}, with_method("ef21")},
            {"ef21_hb", {"strategy.beta=0"}, with_method("ef21")},
            {"fedlesam_s", {"strategy.rho=0"}, with_method("scaffold")},
            {"fedlesam_d", {"strategy.rho=0", "strategy.alpha=0.25"}, with_method("feddyn", {"strategy.alpha=0.25"})}};
        for (const auto& [name, keys, other] : pairs) {
            CAPTURE(name);
            const std::string behind = sha_with(other);
            CHECK(sha_with(with_method(name, keys)) == behind);
            CHECK(sha_with(with_method(name)) != behind);
        }
        // A rate that neither grows nor is bounded.
        const Options sixteenth{"training.optimizer={name: sgd, lr: 0.0625}"};
        CHECK(sha_with(with_method("delta_sgd", sixteenth + Options{"strategy.eta0=0.0625", "strategy.delta=0",
                                                                    "strategy.gamma=1e9"})) == sha_with(plain + sixteenth));
    }

    TEST_CASE("TheCatalogIsPrintedByFamilyByNameAndAsPages") {
        FedhiveRun run;
        const auto printed = [&](const Options& arguments, const char* end) {
            std::filesystem::remove(run.folder() / "output");
            run.start(Options{"methods"} + arguments);
            const std::string ended = run.end();
            CHECK_MESSAGE(ended == end, run.output());
            return run.output();
        };
        const std::string list = printed({}, "exited with status 0"), one = printed({"FedASAM"}, "exited with status 0");
        for (const char* line : {"\npersonal (", "\n  fedasam ", "\n  oort ", "  [client memory, a second gradient]"})
            CHECK_MESSAGE(list.find(line) != std::string::npos, line);
        for (const char* line : {"config      strategy: {name: fedasam}", "key         rho: 0.7 (0 or more)", "second      "})
            CHECK_MESSAGE(one.find(line) != std::string::npos, one);
        CHECK(printed({"fedproxs"}, "exited with status 2").find("did you mean 'fedprox'?") != std::string::npos);
        CHECK(printed({"--page", "losses"}, "exited with status 0").find("| [`moon`](#moon) | `strategy: {name: moon}` |") !=
              std::string::npos);
        printed({"--page", "nothing"}, "exited with status 2");
    }

    TEST_CASE("AFormulaInTheConfigIsAMethodOfOneLine") {
        CHECK(sha_with({"strategy={name: fedadam, server_lr: 0.01, gradient: \"g + 0.5 * (w - w_t)\"}"}) ==
              sha_with({"strategy={name: fedadam, server_lr: 0.01, local: prox, proximal_mu: 0.5}"}));
    }

    TEST_CASE("ARunKeepsItsMethod") {
        FedhiveRun whole(small_config(), set(with_method("scaffold", {"rounds=4"})));
        ended_well(whole);
        FedhiveRun run;
        const std::filesystem::path file = run.folder() / "mine.py";
        std::filesystem::copy_file(kMethods / "scaffold.py", file);
        const auto goes_on = [&](const Options& more, const char* end) {
            run.start(Options{"run", "--quiet", "--resume", run.out().string(), "--set", "rounds=4"} + more);
            const std::string ended = run.end();
            CHECK_MESSAGE(ended == end, run.output());
        };
        std::ofstream(run.folder() / "test.yaml") << small_config();
        run.start(Options{"run", (run.folder() / "test.yaml").string(), "--quiet", "--out", run.out().string()} +
                  set({"strategy={file: " + file.string() + "}", "rounds=2"}));
        ended_well(run);
        CHECK(read_text(run.out() / "method.py") == read_text(file));
        // Another method in its place is refused; the one that was kept goes on.
        std::filesystem::copy_file(kMethods / "fedprox.py", file, std::filesystem::copy_options::overwrite_existing);
        goes_on({}, "exited with status 2");
        CHECK(run.output().find("strategy.file_sha256") != std::string::npos);
        std::filesystem::remove(file);
        goes_on({}, "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
    }

    TEST_CASE("AVisitIsReplayedBitForBit") {
        // Of the gradient alone; with memories; from another start; with a report; with a second gradient; with memories that steps change; with the mean gradient; with a mixture.
        for (const std::string name :
             {"fedprox", "scaffold", "fedacg", "adaptive_clip", "per_fedavg", "mime", "ditto", "mimelite", "fedamp"}) {
            CAPTURE(name);
            FedhiveRun run(small_config(), set(with_method(name)));
            ended_well(run);
            check_last_visit_replays(run);
        }
    }

    TEST_CASE("AGradientWithoutMemoryIsAsTheProximalTermInEveryModeAndForRowsAtOnce") {
        const std::string file = "strategy={file: " + (kMethods / "fedprox.py").string() + ", mu: 0.5}";
        const std::string in_cpp = "strategy={name: fedprox, proximal_mu: 0.5}";
        for (const Options& more : std::vector<Options>{{"mode={name: semi_async, quorum: 3}"},
                                                        {"mode={name: async}"},
                                                        {"training.clients_at_once=4", "training.clients_per_slot=4"},
                                                        {"training.engine=libtorch"}}) {
            CAPTURE(fmt::format("{}", fmt::join(more, " ")));
            CHECK(sha_with(more + Options{file}) == sha_with(more + Options{in_cpp}));
        }
    }

    TEST_CASE("FunctionsRunInPythonGiveWhatTheirFormulasGive") {
        if (!std::filesystem::exists(source_folder() / ".deps/python/numpy")) {
            MESSAGE("skipped: no NumPy in .deps/python (scripts/setup --tests)");
            return;
        }
        const std::vector<std::pair<std::string, std::string>> with_numpy{
            {"FEDHIVE_PYTHONPATH",
             (source_folder() / "scripts/lib").string() + ":" + (source_folder() / ".deps/python").string()}};
        for (const std::string name : {"fednova", "qfedavg", "fedadam", "mofedsam", "pfedme", "fedatt", "adaptive_clip",
                                       "fedproto", "fd", "ifca", "cfl", "fedem"}) {
            CAPTURE(name);
            FedhiveRun run;
            run.start({"method", (kMethods / (name + ".py")).string(), "--python"}, with_numpy);
            ended_well(run);
            CHECK(run.output().find("equal, largest difference") != std::string::npos);
            CHECK(run.output().find("DIFFERENT") == std::string::npos);
        }
        // A function that is another one each time that it runs.
        FedhiveRun run;
        const std::filesystem::path file = run.folder() / "drawn.py";
        std::ofstream(file)
            << "import random\nimport fedhive as fh\n@fh.gradient\ndef gradient(g):\n    return g * random.random()\n";
        run.start({"method", file.string(), "--python"}, with_numpy);
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(run.output().find("g: DIFFERENT") != std::string::npos, run.output());
    }

    TEST_CASE("TheMeanGradientIsTheMeasuredOneWhereverItIsRead") {
        const TemporaryFolder folder;
        const auto file = [&](const std::string& text) {
            std::ofstream(folder.path() / "mean.yaml") << text;
            return Options{"strategy={file: " + (folder.path() / "mean.yaml").string() + "}",
                           "training.measure=[gradient_norm]", "training.optimizer={name: sgd, lr: 0.0625}"};
        };
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            FedhiveRun run(small_config(), set(file("reports: [{name: size}]\nend: size = norm(g_t)\n") + Options{engine}));
            ended_well(run);
            for (const auto& row : read_csv(run.out() / "clients.csv"))
                CHECK(std::stod(row.at("size")) == doctest::Approx(std::stod(row.at("sent_gradient_norm"))).epsilon(1e-5));
        }
        // Steps along it alone: the update is -lr * g_t, as often as there are steps.
        FedhiveRun run(small_config(), set(file("gradient: g_t\n")));
        ended_well(run);
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            CHECK(std::stod(row.at("update_norm")) ==
                  doctest::Approx(0.0625 * std::stod(row.at("steps")) * std::stod(row.at("sent_gradient_norm"))).epsilon(1e-4));
    }

    TEST_CASE("AReportIsAColumn") {
        FedhiveRun run(small_config(), set(with_method("adaptive_clip")));
        ended_well(run);
        CHECK(read_text(run.out() / "clients.csv").substr(0, 2000).find(",whole") != std::string::npos);
        CHECK(run.manifest()["strategy"] == "adaptive_clip");
    }
}
