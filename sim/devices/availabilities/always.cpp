#include "sim/devices/availability.h"

namespace fedhive::sim {

namespace {

class Always final : public Availability {
public:
    bool always() const override { return true; }
    double next_s(std::uint32_t, double at_s) const override { return at_s; }
};

}  // namespace

AvailabilityScheme always() {
    return {.name = "always",
            .summary = "at any time",
            .keys = {},
            .build = [](const Values&, std::uint64_t, std::uint64_t) -> std::unique_ptr<Availability> {
                return std::make_unique<Always>();
            }};
}

}  // namespace fedhive::sim
