// A view of a span that this process's CPU can read: the span itself if it is in host memory, else a copy.
#pragma once

#include "aggregation/math/vector_ops.h"

#include <vector>

namespace fedhive::aggregation {

class HostView {
public:
    /// A span in host memory must outlive the view, and the view shows later writes to it. A span on a device is copied once, here.
    explicit HostView(ConstParamSpan span) : span_(span) {
        if (span.space == MemorySpace::Host) return;
        copy_.resize(span.size);
        copy(copy_, span);
        span_ = copy_;
    }
    HostView(const HostView&) = delete;
    HostView& operator=(const HostView&) = delete;

    operator ConstParamSpan() const { return span_; }
    std::span<const float> host() const { return span_.host(); }

private:
    std::vector<float> copy_;
    ConstParamSpan span_;
};

}  // namespace fedhive::aggregation
