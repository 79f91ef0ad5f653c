// Scopes that set a local step's precision; outside them everything is f32. Only for files that compile against LibTorch.
#pragma once

#include "clients/engine/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace fedhive::clients {

/// For forward and backward pass: allows TF32 in the GPU's libraries if `precision` is TF32.
class Tf32Scope {
public:
    explicit Tf32Scope(Precision precision) : active_(precision == Precision::TF32) {
        if (active_) allow(true);
    }
    Tf32Scope(const Tf32Scope&) = delete;
    Tf32Scope& operator=(const Tf32Scope&) = delete;
    ~Tf32Scope() {
        if (active_) allow(false);
    }

private:
    static void allow(bool yes) {
        at::globalContext().setAllowTF32CuBLAS(yes);
        at::globalContext().setAllowTF32CuDNN(yes);
    }
    bool active_;
};

/// For the forward pass: switches autocast on if `precision` is BF16. Without its cache, which
/// would keep parameters from before a step.
class AutocastScope {
public:
    AutocastScope(Precision precision, at::Device device) : active_(precision == Precision::BF16), type_(device.type()) {
        if (!active_) return;
        at::autocast::set_autocast_dtype(type_, at::kBFloat16);
        at::autocast::set_autocast_cache_enabled(false);
        at::autocast::set_autocast_enabled(type_, true);
    }
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;
    ~AutocastScope() {
        if (active_) at::autocast::set_autocast_enabled(type_, false);
    }

private:
    bool active_;
    at::DeviceType type_;
};

}  // namespace fedhive::clients
