// The real MNIST files, if they were fetched.
#include "clients/data/formats/idx.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/places.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

namespace fedhive::clients {

TEST_SUITE("Mnist") {
    TEST_CASE("FilesHoldTheKnownCounts") {
        const char* data = std::getenv("FEDHIVE_DATA");
        const auto root = (data != nullptr ? std::filesystem::path(data) : testing::source_folder() / "data") / "mnist";
        if (!std::filesystem::exists(root)) FEDHIVE_SKIP("no MNIST in " + root.string() + "; scripts/data mnist fetches it");
        const Dataset mnist = read_idx(root);
        conformance::check_dataset(mnist);
        CHECK(mnist.num_classes == 10);
        CHECK(mnist.train.shape == ExampleShape{1, 28, 28});
        CHECK(mnist.train.size() == 60000);
        CHECK(mnist.test.size() == 10000);
        std::array<int, 10> train{}, test{};
        for (const std::int32_t label : mnist.train.labels) ++train.at(static_cast<std::size_t>(label));
        for (const std::int32_t label : mnist.test.labels) ++test.at(static_cast<std::size_t>(label));
        CHECK(train == std::array{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
        CHECK(test == std::array{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
    }
}

}  // namespace fedhive::clients
