// Where clients' memories will be stored, and what is refused before round 1.
#include "sim/plan/client_states_plan.h"
#include "aggregation/memory/unnamed_file.h"
#include "sim/config/load_config.h"
#include "sim/plan/model_setup.h"
#include "tests/support/golden_messages.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

LoadedConfig keeping(const testing::TemporaryFolder& folder, const std::vector<std::string>& overrides = {}) {
    const auto file = folder.path() / "kept.yaml";
    std::ofstream(file) << "data: {format: synthetic, num_train: 30, num_test: 6, num_features: 4, num_classes: 2, partition: "
                           "{clients: 3}}\nmodel: {name: lr}\nstrategy: {name: scaffold}\ndevice: cpu\n";
    return load_config(file, overrides);
}

aggregation::Layout layout_of(std::int64_t rows, std::int64_t columns) {
    aggregation::Layout layout;
    layout.add("weight", {rows, columns});
    return layout;
}

/// Four terabytes for each client.
aggregation::Layout enormous() { return layout_of(1'000'000, 1'000'000); }

std::string refusal(const LoadedConfig& loaded, const aggregation::Layout& layout, const std::filesystem::path& folder,
                    const Ranks& ranks = Ranks::alone()) {
    try {
        make_client_states(loaded, memories_of(loaded.run, dimensions_of(layout, {}, 2)), 3, ranks, folder);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_SUITE("ClientStatesPlan") {
    TEST_CASE("TheyLieInAFileWhereTheConfigWantsOneAndTheFolderIsKnown") {
        const testing::TemporaryFolder folder;
        if (aggregation::lies_in_memory(folder.path())) FEDHIVE_SKIP(folder.path().string() + " lies in memory");
        const aggregation::Layout layout = layout_of(2, 3);
        const auto in_file = [&](const std::vector<std::string>& overrides, const std::filesystem::path& run) {
            const LoadedConfig loaded = keeping(folder, overrides);
            const auto states =
                make_client_states(loaded, memories_of(loaded.run, dimensions_of(layout, {}, 2)), 3, Ranks::alone(), run);
            CHECK(states.clients() == 3);
            CHECK(states.floats() == layout.num_trainable());
            return states.lies_in_file();
        };
        CHECK_FALSE(in_file({}, folder.path() / "run"));
        CHECK(in_file({"client_state=file"}, folder.path() / "run"));
        CHECK_FALSE(in_file({"client_state=file"}, {}));
        const LoadedConfig plain = keeping(folder, {"strategy.name=fedavg", "client_state=file"});
        const auto none =
            make_client_states(plain, memories_of(plain.run, dimensions_of(layout, {}, 2)), 3, Ranks::alone(), folder.path());
        CHECK(none.clients() == 0);
    }

    TEST_CASE("WhatTravelsLiesInTheLayoutWhereTheMemoriesHaveIt") {
        using aggregation::MemoryOwner, aggregation::MemoryShape;
        aggregation::Layout layout = layout_of(2, 3);
        layout.add("bias", {3});
        layout.add("mean", {3}, aggregation::TensorKind::Buffer);
        const aggregation::Dimensions dimensions = dimensions_of(layout, {}, 2);
        CHECK(dimensions.trainable == 32);
        CHECK(dimensions.parameters == 9);
        CHECK(dimensions.features == 3);
        aggregation::Memories memories;
        for (const aggregation::MemorySpec& spec :
             {aggregation::MemorySpec{.name = "both ways", .owner = MemoryOwner::Server, .down = true, .up = true},
              {.name = "stays"},
              {.name = "means", .shape = MemoryShape::ClassesByFeatures, .up = true},
              {.name = "counts", .shape = MemoryShape::Classes, .up = true},
              {.name = "curvature", .up = true},
              {.name = "mask", .owner = MemoryOwner::Server, .down = true}})
            memories.add(spec, dimensions);
        const aggregation::Layout slot = slot_layout(memories, layout);
        const std::vector<float> values(slot.num_floats());
        std::size_t found = 0;
        for (const aggregation::LayoutEntry& entry : slot.entries()) {
            const std::string memory = entry.name.substr(0, entry.name.find('.'));
            if (!entry.name.ends_with(".weight") && memories.find(entry.name) == nullptr) continue;
            ++found;
            CHECK(memories.of(aggregation::ConstParamSpan(values), memory).data == values.data() + entry.offset);
            if (memory == "means") CHECK(entry.shape == std::vector<std::int64_t>{2, 3});
            if (memory == "counts") CHECK(entry.shape == std::vector<std::int64_t>{2});
        }
        CHECK(found == 4);
        CHECK(slot.entries().size() == 3 + 2 * 2 + 2);
        const aggregation::Layout region = region_layout(memories, layout);
        CHECK(slot.entries().back().name == "curvature.bias");
        CHECK(region.entries().back().name == "mask.bias");  // at the same offset
        CHECK(region.entries().back().offset == slot.entries().back().offset);
    }

    TEST_CASE("SeveralMemoriesAreOneRecordAndAllAreNamedWhereTheyDoNotFit") {
        const testing::TemporaryFolder folder;
        const LoadedConfig loaded = keeping(folder, {"upload=[{name: error_feedback}, {name: top_k}]"});
        const aggregation::Layout layout = layout_of(2, 3);
        const aggregation::Memories memories = memories_of(loaded.run, dimensions_of(layout, {}, 2));
        CHECK(memories.record_floats() == 32);
        CHECK(record_text(memories) == "c_k 16, residual 16");
        CHECK(client_state_bytes(loaded.run, memories, 3) == 3 * aggregation::ClientStates::bytes_each(32));
        CHECK(record_text(memories_of(keeping(folder).run, dimensions_of(layout, {}, 2))).empty());
        const std::string problem = refusal(loaded, enormous(), folder.path());
        CHECK_MESSAGE(problem.find("upload: ") != std::string::npos, problem);
        CHECK_MESSAGE(problem.find(" 8000000000000 bytes (") != std::string::npos, problem);
        CHECK_MESSAGE_IS("plan", "", problem);
    }

    TEST_CASE("TheFolderIsTheRunsOrTheNearestAboveIt") {
        const testing::TemporaryFolder folder;
        CHECK(existing_folder({}).empty());
        CHECK(existing_folder(folder.path()) == folder.path());
        CHECK(existing_folder(folder.path() / "not" / "yet") == folder.path());
        CHECK(existing_folder(folder.path() / "not" / ".." / "yet") == folder.path());
        CHECK(existing_folder("/nowhere/at/all") == "/");
        CHECK(existing_folder("nothing") == std::filesystem::current_path());
    }

    TEST_CASE("WhatDoesNotFitIsNamedWithWhatIsThereAndWhatToChange") {
        const testing::TemporaryFolder folder;
        const std::string in_memory = refusal(keeping(folder), enormous(), folder.path());
        CHECK_MESSAGE(in_memory.find("strategy.name: ") != std::string::npos, in_memory);
        CHECK_MESSAGE(in_memory.find(" 4000000000000 bytes (") != std::string::npos, in_memory);
        CHECK_MESSAGE(in_memory.find(" 12000000000000 bytes (") != std::string::npos, in_memory);
        CHECK_MESSAGE_IS("plan", "memory", in_memory);
        if (aggregation::lies_in_memory(folder.path())) FEDHIVE_SKIP(folder.path().string() + " lies in memory");
        const std::string on_disk = refusal(keeping(folder, {"client_state=file"}), enormous(), folder.path() / "not" / "yet");
        CHECK_MESSAGE(on_disk.find("client_state: ") != std::string::npos, on_disk);
        CHECK_MESSAGE(on_disk.find(" 4000000000000 bytes (") != std::string::npos, on_disk);
        CHECK_MESSAGE(on_disk.find(folder.path().string()) != std::string::npos, on_disk);
        CHECK_MESSAGE_IS("plan", "disk", on_disk);
    }

    TEST_CASE("FolderThatLiesInMemoryIsRefused") {
        if (!aggregation::lies_in_memory("/dev/shm")) FEDHIVE_SKIP("/dev/shm is no tmpfs here");
        const testing::TemporaryFolder folder;
        const std::string problem = refusal(keeping(folder, {"client_state=file"}), layout_of(2, 3), "/dev/shm/some/run");
        CHECK_MESSAGE(problem.find("client_state: /dev/shm ") != std::string::npos, problem);
        CHECK_MESSAGE_IS("plan", "", problem);
    }
}
