// Autocast on the CPU, as `with torch.autocast("cpu", …)` sets it, and its limits on some processors.
#pragma once

#include <ATen/Version.h>
#include <ATen/autocast_mode.h>

#include <optional>

namespace fedhive::clients::exported {

/// Whether the fused LSTM cannot run: oneDNN supports bf16 LSTMs on AVX-512 only, but LibTorch
/// calls it under autocast on any processor.
inline bool lacks_fused_lstm() {
    static const bool avx512 = at::get_cpu_capability() == "AVX512";
    return !avx512 && at::autocast::is_autocast_enabled(at::kCPU);
}

/// Sets autocast for the lifetime of this object, and restores it afterwards.
class AutocastIn {
public:
    AutocastIn(std::optional<at::ScalarType> type, bool on, bool cache)
        : on_(at::autocast::is_autocast_enabled(at::kCPU)),
          cache_(at::autocast::is_autocast_cache_enabled()),
          type_(at::autocast::get_autocast_dtype(at::kCPU)) {
        at::autocast::increment_nesting();
        if (type) at::autocast::set_autocast_dtype(at::kCPU, *type);
        at::autocast::set_autocast_enabled(at::kCPU, on);
        at::autocast::set_autocast_cache_enabled(cache);
    }
    ~AutocastIn() {
        if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(at::kCPU, on_);
        at::autocast::set_autocast_dtype(at::kCPU, type_);
        at::autocast::set_autocast_cache_enabled(cache_);
    }
    AutocastIn(const AutocastIn&) = delete;
    AutocastIn& operator=(const AutocastIn&) = delete;

private:
    bool on_, cache_;
    at::ScalarType type_;
};

}  // namespace fedhive::clients::exported
