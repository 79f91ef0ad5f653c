// How large a model will be, known before it is built: filling billions of parameters takes a while.
#pragma once

#include "clients/models/catalog.h"

namespace fedhive::clients {

/// Its parameters, as model_layout() would count them. A double: what is asked for may be more than can be counted. 0 for a name that is
/// not in kModelNames, which building it refuses.
double num_parameters(const ModelSpec& spec);

}  // namespace fedhive::clients
