// Errors for `device: cuda` without a usable GPU or CUDA IPC: every cause with its remedy.
#include "sim/machine/cuda_refusal.h"

#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

/// A machine without problems: CUDA 13.0 in build and driver, one GPU.
CudaFacts good() {
    CudaFacts facts;
    facts.cuda = {.built = true,
                  .runtime = 13000,
                  .driver = 13000,
                  .devices = 1,
                  .architecture = 90,
                  .device_name = "a GPU",
                  .device_uuid = ""};
    facts.torch.cuda_built = true;
    facts.torch_devices = 1;
    return facts;
}

bool says(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_SUITE("CudaRefusal") {
    TEST_CASE("EachFactNamesItsCauseFirst") {
        const auto first = [](const IpcFacts& facts) { return likely_ipc_causes(facts).front(); };
        IpcFacts facts;
        facts.kernel_release = "6.1.0-amd64";
        CHECK_MESSAGE_IS("machine", "driver", first(facts));
        facts.own_pid_namespace = true;
        CHECK_MESSAGE_IS("machine", "container", first(facts));
        facts.mps_other_user = true;
        CHECK_MESSAGE_IS("machine", "mps", first(facts));
        facts.mig_devices = true;
        CHECK_MESSAGE_IS("machine", "mig", first(facts));
        facts.kernel_release = "5.15.133.1-microsoft-standard-WSL2";
        CHECK_MESSAGE_IS("machine", "wsl2", first(facts));
        CHECK(likely_ipc_causes(facts).size() == 4);
    }

    TEST_CASE("NothingIsSaidWhereEverythingIsThere") {
        CHECK(why_no_cuda(good()).empty());
        CudaFacts newer = good();
        newer.cuda.runtime = 13010;  // a driver supports later minor versions
        CHECK(why_no_cuda(newer).empty());
        CudaFacts direct = good();  // the direct engine needs no LibTorch with CUDA
        direct.libtorch_trains = false;
        direct.torch = {};
        CHECK(why_no_cuda(direct).empty());
        direct.cuda.devices = 0;
        CHECK_FALSE(why_no_cuda(direct).empty());
    }

    TEST_CASE("WhatIsMissingIsNamedWithWhatToDo") {
        const auto check = [](const char* name, auto change) {
            CudaFacts facts = good();
            change(facts);
            const std::string text = why_no_cuda(facts);
            CHECK(text.find('\n') == std::string::npos);
            CHECK(says(text, "or use cpu"));
            CHECK_MESSAGE_IS("machine", name, text);
        };
        check("built without CUDA", [](CudaFacts& facts) { facts.cuda.built = false; });
        check("LibTorch without CUDA", [](CudaFacts& facts) { facts.torch.cuda_built = false; });
        const auto without_device = [&](const char* name, auto change) {
            check(name, [&](CudaFacts& facts) {
                facts.cuda.devices = facts.torch_devices = 0;
                change(facts);
            });
        };
        without_device("no driver", [](CudaFacts& facts) { facts.cuda.driver = 0; });
        without_device("old driver", [](CudaFacts& facts) { facts.cuda.driver = 12040; });
        without_device("CUDA_VISIBLE_DEVICES", [](CudaFacts& facts) { facts.visible = "7"; });
        without_device("no GPU", [](CudaFacts&) {});
        check("LibTorch sees no GPU", [](CudaFacts& facts) { facts.torch_devices = 0; });
    }

    TEST_CASE("RefusedIpcIsToldInOneLineWithItsCauseAndAWayOut") {
        CudaFacts facts = good();
        facts.ipc_problem = "cudaIpcOpenMemHandle:\ninvalid device context";
        facts.ipc.own_pid_namespace = true;
        const std::string text = why_no_cuda(facts);
        CHECK(says(text, "cudaIpcOpenMemHandle: invalid device context"));
        CHECK(text.find('\n') == std::string::npos);
        CHECK_MESSAGE_IS("machine", "", text);
    }
}
