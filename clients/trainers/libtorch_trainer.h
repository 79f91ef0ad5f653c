// The LibTorch engine, the only exported symbol of libfedhive_libtorch.so.
#pragma once

#include "clients/trainers/engine.h"

extern "C" const fedhive::clients::LibtorchEngine& fedhive_libtorch_engine();
