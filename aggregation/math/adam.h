// Settings of Adam and AdamW: adam_keys() declares their keys, adam_options() reads the keys' values.
#pragma once

#include "aggregation/math/client_optimizer.h"

namespace fedhive::aggregation {

AdamOptions adam_options(const Values& values);
/// default_decay, decay_doc: the default and the help text of the key weight_decay.
std::vector<KeySpec> adam_keys(double default_decay, const char* decay_doc);

}  // namespace fedhive::aggregation
