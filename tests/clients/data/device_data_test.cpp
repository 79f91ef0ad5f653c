// Examples in device memory: uploaded once, opened by each worker, closed before they are freed.
#include "aggregation/base/error.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "tests/aggregation/cuda_driver_double.h"

#include <doctest/doctest.h>

#include <optional>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::testing::CudaDriverDouble;
using aggregation::testing::DeviceBooks;

namespace {

SharedDataset small_dataset() {
    return SharedDataset::create(draw_synthetic({30, 7, 3, 5, 1.0}, 1), partition_contiguous(30, 3));
}

/// The driver double's device memory is host memory, so the test can read it.
void same_examples(const ExamplesView& on_device, const ExamplesView& on_host) {
    CHECK(on_device.space == MemorySpace::Cuda);
    CHECK(on_device.shape == on_host.shape);
    CHECK(std::equal(on_device.values.begin(), on_device.values.end(), on_host.values.begin(), on_host.values.end()));
    CHECK(std::equal(on_device.labels.begin(), on_device.labels.end(), on_host.labels.begin(), on_host.labels.end()));
    CHECK(on_device.values.data() != on_host.values.data());
}

}  // namespace

TEST_SUITE("DeviceData") {
    TEST_CASE("ExamplesAreUploadedOnceAndOpenedByEachWorker") {
        DeviceBooks books;
        CudaDriverDouble coordinator(books, 1), worker(books, 2), other(books, 3);
        {
            SharedDataset dataset = small_dataset();
            const aggregation::IpcHandle handle = dataset.upload(coordinator);
            same_examples(dataset.train(MemorySpace::Cuda), dataset.train());
            same_examples(dataset.test(MemorySpace::Cuda), dataset.test());
            CHECK(books.allocations.size() == 1);
            CHECK(books.handles.size() == 1);
            for (CudaDriverDouble* driver : {&worker, &other, &worker}) {  // the first worker is restarted
                SharedDataset opened = SharedDataset::open(dataset.descriptor(), dataset.map());
                opened.open_on_device(*driver, handle);
                same_examples(opened.train(MemorySpace::Cuda), dataset.train());
                CHECK(books.allocations.begin()->second.openers.size() == 1);
            }
            CHECK(books.allocations.begin()->second.openers.empty());
        }
        CHECK(books.empty());
        CHECK(books.misuse.empty());
    }

    TEST_CASE("DataFreedBeforeAWorkerHasClosedIsNoticed") {
        DeviceBooks books;
        CudaDriverDouble coordinator(books, 1), worker(books, 2);
        std::optional<SharedDataset> dataset = small_dataset();
        const aggregation::IpcHandle handle = dataset->upload(coordinator);
        SharedDataset opened = SharedDataset::open(dataset->descriptor(), dataset->map());
        opened.open_on_device(worker, handle);
        dataset.reset();
        REQUIRE(books.misuse.size() == 1);
        CHECK(books.misuse.front() == "free before every opener has closed");
    }

    TEST_CASE("DeviceExamplesOfADataSetOnTheHostAreAFault") {
        CHECK_THROWS_WITH_AS(small_dataset().train(MemorySpace::Cuda), doctest::Contains("not in device memory"), Fault);
    }

    TEST_CASE("DataWithoutRoomOnTheDeviceLeavesNothing") {
        DeviceBooks books;
        books.limit_bytes = 1 << 20;
        CudaDriverDouble coordinator(books, 1);
        SharedDataset dataset = small_dataset();
        CHECK_THROWS_WITH_AS(dataset.upload(coordinator), doctest::Contains("2097152 bytes"), Fault);
        CHECK(books.empty());
    }
}
