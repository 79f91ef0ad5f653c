// Errors for `device: cuda` without a usable GPU or CUDA IPC: every cause with its remedy.
#include "sim/machine/cuda_refusal.h"

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
        CHECK(says(first(facts), "driver"));
        facts.own_pid_namespace = true;
        CHECK(says(first(facts), "--pid=host"));
        facts.mps_other_user = true;
        CHECK(says(first(facts), "CUDA_MPS_PIPE_DIRECTORY"));
        facts.mig_devices = true;
        CHECK(says(first(facts), "CUDA_VISIBLE_DEVICES=MIG-"));
        facts.kernel_release = "5.15.133.1-microsoft-standard-WSL2";
        CHECK(says(first(facts), "WSL2"));
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
        CHECK(says(why_no_cuda(direct), "nvidia-smi"));
    }

    TEST_CASE("WhatIsMissingIsNamedWithWhatToDo") {
        const auto why = [](auto change) {
            CudaFacts facts = good();
            change(facts);
            const std::string text = why_no_cuda(facts);
            CHECK(text.find('\n') == std::string::npos);
            CHECK(says(text, "or use cpu"));
            return text;
        };
        CHECK(says(why([](CudaFacts& facts) { facts.cuda.built = false; }), "install a CUDA toolkit"));
        CHECK(says(why([](CudaFacts& facts) { facts.torch.cuda_built = false; }), "run scripts/setup --cuda and build again"));
        const auto without_device = [&](auto change) {
            return why([&](CudaFacts& facts) {
                facts.cuda.devices = facts.torch_devices = 0;
                change(facts);
            });
        };
        CHECK(says(without_device([](CudaFacts& facts) { facts.cuda.driver = 0; }), "no NVIDIA driver"));
        CHECK(says(without_device([](CudaFacts& facts) { facts.cuda.driver = 12040; }),
                   "too old: it supports CUDA 12.4, but this build needs 13.0"));
        CHECK(says(without_device([](CudaFacts& facts) { facts.visible = "7"; }),
                   "CUDA_VISIBLE_DEVICES=7 names no existing GPU"));
        CHECK(says(without_device([](CudaFacts&) {}), "nvidia-smi"));
        CHECK(says(why([](CudaFacts& facts) { facts.torch_devices = 0; }), "LibTorch cannot use the GPU"));
    }

    TEST_CASE("RefusedIpcIsToldInOneLineWithItsCauseAndAWayOut") {
        CudaFacts facts = good();
        facts.ipc_problem = "cudaIpcOpenMemHandle:\ninvalid device context";
        facts.ipc.own_pid_namespace = true;
        CHECK(why_no_cuda(facts) ==
              "workers share GPU memory by CUDA IPC, which does not work here: cudaIpcOpenMemHandle: invalid device context; "
              "likely reason: a container: all processes must share one PID namespace (run everything in one container, or "
              "--pid=host); or use cpu, or workers: 0, which needs no IPC");
    }
}
