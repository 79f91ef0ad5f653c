// The data about LibTorch that is known without loading it agrees with LibTorch.
#include "clients/trainers/libtorch_info.h"
#include "tests/support/skip.h"

#include <ATen/Version.h>
#include <doctest/doctest.h>
#include <torch/version.h>

#include <fstream>
#include <string>

using namespace fedhive::clients;

TEST_SUITE("LibtorchInfo") {
    TEST_CASE("VersionAndCapabilityAreLibtorchsOwn") {
        CHECK(libtorch_info().version == TORCH_VERSION);
        CHECK(libtorch_info().cpu_capability == at::get_cpu_capability());
    }

    TEST_CASE("MakerOfTheProcessorIsTheKernels") {
        std::ifstream file("/proc/cpuinfo");
        std::string line;
        while (std::getline(file, line) && !line.starts_with("vendor_id")) {
        }
        if (line.empty()) FEDHIVE_SKIP("the kernel names no maker");
        CHECK(libtorch_info().cpu_vendor == line.substr(line.find(':') + 2));
    }
}
