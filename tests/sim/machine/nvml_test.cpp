#include "sim/machine/nvml.h"

#include "tests/support/eventually.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace fedhive;
using namespace fedhive::sim;
using testing::eventually;
using testing::shell;

namespace {

const std::string kFakeNvml = testing::beside_tests("libfake_nvml.so").string();

}  // namespace

TEST_SUITE("Nvml") {
    TEST_CASE("MissingNvmlKnowsNothing") {
        CHECK_FALSE(nvml_free_memory("libnvidia-ml-of-another-world.so.1")());
        CHECK_FALSE(nvml_free_memory("libm.so.6")());  // a library, but not NVML
    }

    TEST_CASE("FreeMemoryIsOfTheDeviceThatCudaCallsTheFirst") {
        const auto free_of = [](const std::string& uuid) { return nvml_free_memory(kFakeNvml, [=] { return uuid; })(); };
        unsetenv("CUDA_VISIBLE_DEVICES");
        CHECK(free_of("fake") == 177);  // by its name, not by its index
        CHECK_FALSE(free_of("other"));
        CHECK_FALSE(free_of(""));  // no device
        setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
        CHECK(free_of("fake") == 177);
        unsetenv("CUDA_VISIBLE_DEVICES");
    }

    TEST_CASE("FreeMemoryOfAMigInstanceIsNotThatOfItsCard") {
        const auto free_of = [](const std::string& uuid) { return nvml_free_memory(kFakeNvml, [=] { return uuid; })(); };
        unsetenv("CUDA_VISIBLE_DEVICES");
        CHECK(free_of("part") == 33);
        CHECK_FALSE(free_of("cut"));  // CUDA names the card; the instance in use is unknown
        setenv("CUDA_VISIBLE_DEVICES", "MIG-part", 1);
        CHECK(free_of("cut") == 33);
        setenv("CUDA_VISIBLE_DEVICES", "MIG-other", 1);
        CHECK_FALSE(free_of("cut"));
        unsetenv("CUDA_VISIBLE_DEVICES");
    }

    TEST_CASE("DevicesAreNamedUnlessOneIsCut") {
        const auto devices = [](const char* which) {
            setenv("FAKE_NVML_DEVICES", which, 1);
            return nvml_devices(kFakeNvml);
        };
        CHECK(devices("").empty());
        CHECK(devices("f") == std::vector<std::string>{"GPU-fake"});
        CHECK(devices("ff") == std::vector<std::string>{"GPU-fake", "GPU-fake"});
        CHECK(devices("fc").empty());
        unsetenv("FAKE_NVML_DEVICES");
        CHECK(nvml_devices("libnvidia-ml-of-another-world.so.1").empty());
        CHECK(nvml_devices("libm.so.6").empty());
    }

    TEST_CASE("WhoHoldsDeviceMemoryIsNamed") {
        const auto described = [] { return describe_holders(nvml_holders(kFakeNvml, [] { return "fake"; })); };
        unsetenv("FAKE_NVML_PID");
        CHECK(described().empty());
        const clients::ChildProcess other(shell("exec sleep 60"));
        setenv("FAKE_NVML_PID", std::to_string(other.pid()).c_str(), 1);
        const std::string expected = "; held by process " + std::to_string(other.pid()) + " (sleep): 3.0 GiB, process 4194305";
        CHECK(eventually(60.0, [&] { return described() == expected; }));  // before exec it has another name
        setenv("FAKE_NVML_PID", std::to_string(getpid()).c_str(), 1);
        CHECK(described() == "; held by process 4194305");
        unsetenv("FAKE_NVML_PID");
    }
}
