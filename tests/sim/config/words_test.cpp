// Choices that are enums: each word of a key gives the value that carries its name, and REFERENCE.md lists exactly these words.
#include "sim/config/fields.h"
#include "sim/config/run_keys.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

using clients::Engine;
using clients::Precision;

struct Checked {
    std::set<std::string> keys;

    /// `read`: the key's member; `pairs`: all words, in the order of REFERENCE.md, each with its value; `assignment`: of a word.
    template <class Value, class Read>
    void key(const std::string& path, const Read& read, const std::vector<std::pair<std::string, Value>>& pairs,
             const std::string& assignment) {
        CAPTURE(path);
        std::vector<std::string> words;
        for (const auto& [word, value] : pairs) {
            CAPTURE(word);
            const RunConfig run = loaded(kMinimal, {fmt::format(fmt::runtime(assignment), word)});
            CHECK((read(run) == value));
            CHECK((read(from_yaml(to_yaml(run), "again")) == value));
            words.push_back(word);
        }
        const std::string name = path.substr(path.rfind('.') + 1);
        CHECK(reference_markdown().find(fmt::format("| `{}` | `{}` |", name, fmt::join(words, "`, `"))) != std::string::npos);
        CHECK(run_choices().at(path) == words);
        keys.insert(path);
    }
    template <class Value, class Read>
    void key(const std::string& path, const Read& read, const std::vector<std::pair<std::string, Value>>& pairs) {
        key(path, read, pairs, path + "={}");
    }
};

/// Every key whose member is an enum.
class EnumKeys : public Visitor {
public:
    std::set<std::string> keys;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override {
        if (std::holds_alternative<WordRef>(field.target))
            keys.insert(fmt::format("{}{}{}", fmt::join(path_, "."), path_.empty() ? "" : ".", field.name));
    }
    void items(const ItemList& list) override {
        begin({.name = list.name, .doc = ""});
        list.example(*this);
        end();
    }
    bool wants_all() const override { return true; }

private:
    std::vector<std::string> path_;
};

}  // namespace

TEST_SUITE("ConfigWords") {
    TEST_CASE("EachWordGivesItsValue") {
        Checked checked;
        checked.key<Device>("device", [](const RunConfig& run) { return run.device; },
                            {{"auto", Device::Auto}, {"cpu", Device::Cpu}, {"cuda", Device::Cuda}});
        checked.key<Mps>("mps", [](const RunConfig& run) { return run.mps; },
                         {{"auto", Mps::Auto}, {"on", Mps::On}, {"off", Mps::Off}});
        checked.key<StateStore>("client_state", [](const RunConfig& run) { return run.client_state; },
                                {{"memory", StateStore::Memory}, {"file", StateStore::File}});
        checked.key<Clock>("clock", [](const RunConfig& run) { return run.clock; },
                           {{"virtual", Clock::Virtual}, {"wall", Clock::Wall}});
        checked.key<DataSharing>("data.shared", [](const RunConfig& run) { return run.data.shared; },
                                 {{"own", DataSharing::Own}, {"rank0", DataSharing::Rank0}});
        checked.key<Flip>("data.augment.flip", [](const RunConfig& run) { return run.data.augment.flip; },
                          {{"none", Flip::None}, {"horizontal", Flip::Horizontal}});
        checked.key<Rotation>(
            "data.skew.rotation", [](const RunConfig& run) { return run.data.skew.rotation; },
            {{"none", Rotation::None}, {"half_turns", Rotation::HalfTurns}, {"quarter_turns", Rotation::QuarterTurns}});
        checked.key<std::optional<Engine>>(
            "training.engine", [](const RunConfig& run) { return run.training.engine; },
            {{"auto", std::nullopt}, {"libtorch", Engine::Libtorch}, {"direct", Engine::Direct}});
        checked.key<Precision>("training.precision", [](const RunConfig& run) { return run.training.precision; },
                               {{"f32", Precision::F32}, {"tf32", Precision::TF32}, {"bf16", Precision::BF16}});
        checked.key<Weighting>("strategy.weighting", [](const RunConfig& run) { return run.strategy.weighting; },
                               {{"examples", Weighting::Examples}, {"uniform", Weighting::Uniform}});
        checked.key<OnFailure>("failures.policy", [](const RunConfig& run) { return run.failures.policy; },
                               {{"abort", OnFailure::Abort}, {"drop", OnFailure::Drop}, {"retry", OnFailure::Retry}});
        checked.key<GraphUse>(
            "model.graph", [](const RunConfig& run) { return run.model.graph; },
            {{"auto", GraphUse::Auto}, {"keep", GraphUse::Keep}}, "model={{file: /a.pt2, graph: {}}}");
        checked.key<FaultedAttempts>(
            "faults.attempts", [](const RunConfig& run) { return run.faults.at(0).attempts; },
            {{"first", FaultedAttempts::First}, {"all", FaultedAttempts::All}}, "faults=[{{kind: nan, attempts: {}}}]");
        EnumKeys all;
        RunConfig defaults;
        describe(all, defaults);
        CHECK(checked.keys == all.keys);
    }

    TEST_CASE("KeysOfCatalogsHaveTheWordsOfTheirEnums") {
        const std::map<std::string, std::vector<std::string>> expected = {
            {"attack.direction", {"unit", "std", "sign"}},
            {"data.channels", {"auto", "1", "3"}},
            {"data.labels", {"fine", "coarse"}},
            {"data.owners", {"speakers", "blocks"}},
            {"data.targets", {"last", "every"}},
            {"data.unseen", {"refuse", "class"}},
            {"data.values", {"numbers", "tokens"}},
            {"faults.at", {"training", "update"}},
            {"mode.all_reduce", {"star", "ring", "tree"}},
            {"mode.at_end", {"drop", "drain"}},
            {"mode.data", {"partitioned", "full"}},
            {"mode.staleness", {"constant", "hinge", "polynomial"}},
            {"model.norm", {"group", "batch"}},
        };
        for (const auto& [key, words] : expected) {
            CAPTURE(key);
            CHECK(run_choices().at(key) == words);
        }
    }

    TEST_CASE("NumberThatIsNoValueIsNotWritten") {
        RunConfig run = loaded(kMinimal);
        run.clock = static_cast<Clock>(2);
        CHECK_THROWS_AS(to_yaml(run), Fault);
    }
}
