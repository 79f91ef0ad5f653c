#include "sim/selection/sampler.h"

namespace fedhive::sim {

// Each is in the file of its name.
SamplerSpec uniform_sampler();
SamplerSpec examples_sampler();
SamplerSpec fixed_sampler();
SamplerSpec round_robin_sampler();
SamplerSpec power_of_choice_sampler();
SamplerSpec oort_sampler();
SamplerSpec active_sampler();
SamplerSpec fedcs_sampler();
SamplerSpec with_replacement_sampler();
SamplerSpec clustered_sampler();
SamplerSpec gradient_norm_sampler();
SamplerSpec class_balanced_sampler();

const std::vector<SamplerSpec>& sampler_catalog() {
    static const std::vector<SamplerSpec> catalog = {
        uniform_sampler(),          examples_sampler(),  fixed_sampler(),         round_robin_sampler(),
        power_of_choice_sampler(),  oort_sampler(),      active_sampler(),        fedcs_sampler(),
        with_replacement_sampler(), clustered_sampler(), gradient_norm_sampler(), class_balanced_sampler(),
    };
    return catalog;
}

const SamplerSpec& sampler_spec(const std::string& name) { return entry_of(sampler_catalog(), name, "sampler"); }

}  // namespace fedhive::sim
