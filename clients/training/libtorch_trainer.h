// The engine that is LibTorch: the only thing that libfedhive_libtorch.so shows.
#pragma once

#include "clients/training/engine.h"

extern "C" const fedhive::clients::LibtorchEngine& fedhive_libtorch_engine();
