// Options and keys that Adam and AdamW share.
#pragma once

#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

AdamOptions adam_options(const Values& values);
std::vector<KeySpec> adam_keys(double weight_decay, const char* decay_doc);

}  // namespace fedhive::aggregation
