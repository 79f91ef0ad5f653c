// The parts of LibTorch that fedhive uses: tensors and the operators of models and steps. A file that includes torch/torch.h
// takes ten times as long to compile.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
