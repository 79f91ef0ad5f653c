#include "aggregation/math/host_view.h"

#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;

TEST_SUITE("HostView") {
    TEST_CASE("HostSpanIsSeenItselfAndNotCopied") {
        testing::Floats values{1.0F, 2.0F, 3.0F};
        const HostView view{ConstParamSpan(values)};
        values[1] = 5.0F;
        CHECK(view.host().data() == values.data());
        CHECK(ConstParamSpan(view).size == 3);
        CHECK(view.host()[1] == 5.0F);
    }

    TEST_CASE("Gpu: DeviceSpanIsCopied") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const testing::Floats values{1.0F, 2.0F, 3.0F};
        const ParamBuffer buffer = testing::upload(values, MemorySpace::Cuda);
        const HostView view{buffer};
        CHECK(ConstParamSpan(view).space == MemorySpace::Host);
        CHECK(testing::same_bits(testing::download(view), values));
    }
}
