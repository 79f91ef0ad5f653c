"""A model's layers as modules of PyTorch, whose parameters and buffers are views of one flat vector and have fedhive's names. Needs PyTorch.

A layer is a dict: {"kind": …, "name": prefix of its tensors' names, "in": shape of its input, "arguments": {…}}; one of kind "residual" has
"residual", a list of layers, and perhaps "shortcut", another. docs/models.md describes the kinds.
"""
import torch
from torch import nn


class _Alike:
    """A batch with one value of each channel is normalised by the running statistics, which stay."""

    def forward(self, x):
        """Returns x normalised."""
        if self.training and x.numel() <= x.size(1):
            return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, self.momentum, self.eps)
        return super().forward(x)


class _BatchNorm1d(_Alike, nn.BatchNorm1d):
    pass


class _BatchNorm2d(_Alike, nn.BatchNorm2d):
    pass


class _Recurrent:
    """The states of all positions, or the last of each way."""

    def __init__(self, features, hidden, layers, all_positions, bidirectional=False, dropout=0.0):
        super().__init__(features, hidden, layers, batch_first=True, bidirectional=bidirectional, dropout=dropout)
        self.all_positions = all_positions

    def forward(self, x):
        """x: [B, T, features]. Returns [B, T, ways * hidden] or [B, ways * hidden]."""
        states, last = super().forward(x)
        if self.all_positions:
            return states
        last = last[0] if isinstance(last, tuple) else last
        return last[-2 if self.bidirectional else -1:].transpose(0, 1).flatten(1)


class _Lstm(_Recurrent, nn.LSTM):
    pass


class _Gru(_Recurrent, nn.GRU):
    pass


def _add_factors(module, features, out, lora):
    module.A, module.B = nn.Parameter(torch.zeros(lora, features)), nn.Parameter(torch.zeros(out, lora))


class _Linear(nn.Linear):
    """x W^T + b, with the low-rank factors alpha / lora * x A^T B^T beside it if there are any."""

    def __init__(self, features, out, bias=True, lora=None, alpha=None):
        super().__init__(features, out, bias=bias)
        self.strength = (alpha or lora) / lora if lora else 0.0
        if lora:
            _add_factors(self, features, out, lora)

    def forward(self, x):
        """x: [..., features]. Returns [..., out]."""
        y = super().forward(x)
        return y + self.strength * nn.functional.linear(nn.functional.linear(x, self.A), self.B) if self.strength else y


class _Attention(nn.MultiheadAttention):
    """Attention of a sequence to itself, with low-rank factors beside both projections if there are any."""

    def __init__(self, features, heads, causal, dropout, lora=None, alpha=None):
        super().__init__(features, heads, batch_first=True, dropout=dropout)
        self.causal, self.strength = causal, (alpha or lora) / lora if lora else 0.0
        if lora:
            self.in_proj = nn.Module()
            _add_factors(self.in_proj, features, 3 * features, lora)
            _add_factors(self.out_proj, features, features, lora)

    def _with_factors(self, x, later):
        weights = [weight + self.strength * factors.B @ factors.A
                   for weight, factors in ((self.in_proj_weight, self.in_proj), (self.out_proj.weight, self.out_proj))]
        by_position = x.transpose(0, 1)
        return nn.functional.multi_head_attention_forward(
            by_position, by_position, by_position, self.embed_dim, self.num_heads, weights[0], self.in_proj_bias, None, None, False, self.dropout,
            weights[1], self.out_proj.bias, training=self.training, need_weights=False, attn_mask=later)[0].transpose(0, 1)

    def forward(self, x):
        """x: [B, T, features]. Returns the same shape."""
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1) if self.causal else None
        return self._with_factors(x, later) if self.strength else super().forward(x, x, x, attn_mask=later, need_weights=False)[0]


class _Position(nn.Module):
    """Adds a row of a table to each position."""

    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        """x: [B, T, features]. Returns the same shape."""
        return x + self.weight


class _Scale(nn.Module):
    """Multiplies by a number."""

    def __init__(self, by):
        super().__init__()
        self.by = by

    def forward(self, x):
        """Returns the same shape."""
        return self.by * x


class _LastPosition(nn.Module):
    def forward(self, x):
        """x: [B, T, features]. Returns [B, features]."""
        return x[:, -1]


class _Mean(nn.Module):
    def forward(self, x):
        """x: [B, T, features]. Returns [B, features]."""
        return x.mean(1)


MAKERS = {
    "linear": lambda shape, **arguments: _Linear(shape[-1], **arguments),
    "conv2d": lambda shape, out, kernel, stride, padding, groups, bias: nn.Conv2d(shape[0], out, kernel, stride, padding, groups=groups, bias=bias),
    "max_pool": lambda shape, size, stride=None, padding=None: nn.MaxPool2d(size, stride or size, padding or 0),
    "avg_pool": lambda shape, size, stride=None, padding=None: nn.AvgPool2d(size, stride or size, padding or 0) if size else nn.AdaptiveAvgPool2d(1),
    "relu": lambda shape: nn.ReLU(),
    "tanh": lambda shape: nn.Tanh(),
    "gelu": lambda shape: nn.GELU(),
    "dropout": lambda shape, p: nn.Dropout(p),
    "dropout2d": lambda shape, p: nn.Dropout2d(p),
    "flatten": lambda shape: nn.Flatten(),
    "batch_norm": lambda shape: (_BatchNorm2d if len(shape) == 3 else _BatchNorm1d)(shape[0]),
    "group_norm": lambda shape, groups: nn.GroupNorm(groups, shape[0]),
    "layer_norm": lambda shape, each_position: nn.LayerNorm(shape[-1:] if each_position else shape),
    "embedding": lambda shape, dim, tokens: nn.Embedding(tokens, dim),
    "lstm": lambda shape, **arguments: _Lstm(shape[1], **arguments),
    "gru": lambda shape, **arguments: _Gru(shape[1], **arguments),
    "position": lambda shape: _Position(shape),
    "attention": lambda shape, heads, causal, dropout=0.0, **lora: _Attention(shape[1], heads, causal, dropout, **lora),
    "scale": lambda shape, by: _Scale(by),
    "channel_shuffle": lambda shape, groups: nn.ChannelShuffle(groups),
    "last_position": lambda shape: _LastPosition(),
    "mean": lambda shape: _Mean(),
}  # by kind: of the input's shape and the layer's arguments


class _Residual:
    """A sum of two lists of layers; an empty one is the input. No module: its layers are modules of the model."""

    def __init__(self, around, layer):
        self.inner = [around.add(one) for one in layer["residual"]]
        self.shortcut = [around.add(one) for one in layer.get("shortcut", [])]

    def __call__(self, x):
        return _run(self.inner, x) + _run(self.shortcut, x)


def _run(steps, x):
    for step in steps:
        x = step(x)
    return x


class Model(nn.Module):
    """A list of layers. Each is a submodule under its name, so that names of parameters are fedhive's: "conv1.weight", "block1.0.bn1.bias"."""

    def __init__(self, layers):
        """Raises KeyError for a kind of layer that has no module."""
        super().__init__()
        self._steps = [self.add(layer) for layer in layers]

    def add(self, layer):
        """Adds a layer's modules; returns what computes it."""
        if layer["kind"] == "residual":
            return _Residual(self, layer)
        module = MAKERS[layer["kind"]](list(layer["in"]), **layer["arguments"])
        *folders, name = layer["name"].split(".")
        place = self
        for folder in folders:
            if folder not in place._modules:
                place.add_module(folder, nn.Module())
            place = place._modules[folder]
        place.add_module(name, module)
        return module

    def forward(self, x):
        """x: [B, …], then an example's shape. Returns the last layer's output."""
        return _run(self._steps, x)


def kinds_without_module(layers):
    """Returns the kinds of layers that have no module, in order."""
    found = []
    for layer in layers:
        if layer["kind"] == "residual":
            found += kinds_without_module(layer["residual"]) + kinds_without_module(layer.get("shortcut", []))
        elif layer["kind"] not in MAKERS:
            found.append(layer["kind"])
    return found


def over_vector(layers, tensors):
    """Returns the model with `tensors`, {name: tensor}, as its parameters and buffers; it has no others. Raises KeyError as Model."""
    with torch.device("meta"):  # no initial values are drawn
        model = Model(layers)
    for name, module in list(model.named_modules()):
        prefix = f"{name}." if name else ""
        for own in list(module._parameters):
            if module._parameters[own] is not None:
                setattr(module, own, nn.Parameter(tensors[prefix + own]))
        for own in list(module._buffers):
            # num_batches_tracked only counts
            setattr(module, own, torch.tensor(0) if own == "num_batches_tracked" else tensors[prefix + own])
    return model
