// LibTorch as fedhive uses it: tensors and the operators that models and steps call. A file with torch/torch.h takes ten times as long to
// compile.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
