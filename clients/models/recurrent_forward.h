// The forward passes of lstm and gru by LibTorch.
#pragma once

#include "clients/models/forward.h"

namespace fedhive::clients {

Forward lstm_forward(const Values& arguments, const Shape& in);
Forward gru_forward(const Values& arguments, const Shape& in);

}  // namespace fedhive::clients
