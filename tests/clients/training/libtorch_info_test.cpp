// What is known of LibTorch without loading it is what it says of itself.
#include "clients/training/libtorch_info.h"

#include <ATen/Version.h>
#include <doctest/doctest.h>
#include <torch/version.h>

using namespace fedhive::clients;

TEST_SUITE("LibtorchInfo") {
    TEST_CASE("VersionAndCapabilityAreLibtorchsOwn") {
        CHECK(libtorch_info().version == TORCH_VERSION);
        CHECK(libtorch_info().cpu_capability == at::get_cpu_capability());
    }
}
