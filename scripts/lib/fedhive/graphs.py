"""A network of torch.export as a module of PyTorch whose parameters and buffers are views of one flat vector and have fedhive's names. Needs PyTorch.

It is the exported module in train(): dropout and batch norm's batch statistics are active in each call.
"""
import io
import mmap
import warnings

import torch
from torch import nn


class Graph(nn.Module):
    """An exported network. Tensors that are not in the vector, such as constants, have the file's values."""

    def __init__(self, program, tensors):
        """program: of torch.export; tensors: {name: tensor}, all of the vector."""
        super().__init__()
        graph = program.module()
        object.__setattr__(self, "_graph", graph)  # no submodule: its names would begin with its own
        self._parameters, self._buffers, self._modules = graph._parameters, graph._buffers, graph._modules
        self._tensors = tensors
        node = next(node for node in program.graph.nodes if node.op == "placeholder" and node.name in program.graph_signature.user_inputs)
        self._example, self._dtype = node.meta["val"].shape[1:], node.meta["val"].dtype
        self.bind()

    def bind(self):
        """Makes parameters and buffers the vector's tensors again, without gradients."""
        for name, tensor in self._tensors.items():
            place, _, own = name.rpartition(".")
            module = self._graph.get_submodule(place)
            if own in module._parameters:
                module._parameters[own] = nn.Parameter(tensor)
            else:
                module._buffers[own] = tensor

    def forward(self, x):
        """x: [B, …], with the network's number of values for an example. Returns the network's output."""
        return self._graph(x.reshape(len(x), *self._example).to(self._dtype))

    def train(self, mode=True):
        """Raises RuntimeError for eval(): the network is as it was exported."""
        if not mode:
            raise RuntimeError("a network of torch.export is as it was exported, in train(); it has no eval()")
        return self


def of_segment(descriptor, size, tensors):
    """Returns the network of a .pt2 file in a shared segment. Raises KeyError for a tensor of the network that the vector lacks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of buffers that cannot be written
        program = torch.export.load(io.BytesIO(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)[:]))
    model = Graph(program, tensors)
    for name, _ in model.named_parameters():
        if name not in tensors:
            raise KeyError(name)
    return model
