"""Exports small networks as docs/models.md says, and writes beside each what PyTorch's Python computes with it: loss, gradients and buffers of a
training pass, the loss in evaluation. tests/clients/engine/exported_test.cpp compares; the files are of PyTorch 2.11.

usage: make.py FOLDER     (PyTorch; tests/docs/pytorch_page.py says where it is found otherwise)
"""
import copy
import json
import struct
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from layer_networks import Adapted, Shuffled
from rare_networks import Cells, EvalNorms, Projected
from token_networks import Encoder, Gpt, Text, TokenReader, Vit, token_decoder, token_encoder

SIDE, CLASSES, BATCH = 12, 4, 5
TOKENS, LENGTH = 11, 6  # of networks that take tokens


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 6, 3)
        self.head = nn.Linear(54, CLASSES)

    def forward(self, x):
        return self.head(F.relu(self.conv2(F.max_pool2d(F.relu(self.conv1(x)), 2)), inplace=True).flatten(1))


def bn_cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25),
                         nn.Linear(100, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, CLASSES))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.norm1, self.conv = nn.GroupNorm(2, 4), nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False)
        self.norm2, self.short = nn.GroupNorm(2, 6), nn.Conv2d(4, 6, 1, stride=2)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x):
        x = F.silu(self.norm1(self.stem(x)))
        h = self.norm2(self.conv(x))
        h += self.short(x)
        return self.head(F.silu(h).mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(SIDE, 6, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x):
        out, (h, _) = self.rnn(x.squeeze(1))
        return self.head(h[-1] + out[:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(SIDE, 8)
        self.place = nn.Parameter(torch.randn(1, SIDE, 8) * 0.1)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x.flatten(1, 2)) + self.place).mean(1))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(SIDE, SIDE), nn.Linear(SIDE, SIDE), nn.Linear(SIDE, CLASSES)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.head(torch.tanh(self.b(torch.tanh(self.a(x)))).mean((1, 2)))


class Kept(nn.Module):
    """Every kind of tensor: a frozen parameter, one without use, buffers in and out of state_dict, one that moves, one that counts."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(SIDE, 6), nn.Linear(6, CLASSES)
        self.unused = nn.Parameter(torch.ones(3))
        self.frozen = nn.Parameter(torch.full((6,), 0.5), requires_grad=False)
        self.register_buffer("scale", torch.arange(1, 7, dtype=torch.float64) / 6)
        self.register_buffer("shift", torch.ones(6), persistent=False)
        self.register_buffer("seen", torch.zeros(6))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        h = self.a(x.mean((1, 2))) * self.scale.float() + self.shift
        if self.training:
            self.steps += 1
            self.seen.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)
        return self.head((h - self.seen) * self.frozen + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(SIDE, 5, batch_first=True, bidirectional=True)
        self.head = nn.Linear(10, CLASSES)

    def forward(self, x):
        out, _ = self.rnn(x.squeeze(1))
        return self.head(out.mean(1))


class Mixed(nn.Module):
    """Recurrent layers and attention behind products: under autocast some of what they take is bf16, and some is not."""

    def __init__(self):
        super().__init__()
        self.before, self.lstm = nn.Linear(SIDE, 6), nn.LSTM(6, 5, batch_first=True)
        self.between, self.gru = nn.Linear(5, 6), nn.GRU(6, 4, batch_first=True)
        self.query, self.head = nn.Linear(4, 4), nn.Linear(4, CLASSES)

    def forward(self, x):
        x = x.squeeze(1)
        h, _ = self.lstm(torch.tanh(self.before(x)))
        h, _ = self.gru(torch.tanh(self.between(h).float()))
        return self.head(F.scaled_dot_product_attention(self.query(h), x[:, :, :4], h).mean(1))


class Gated(nn.Module):
    """Gated convolutions (Dauphin et al. 2017, arXiv:1612.08083), then a gate of its own on each channel."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(4, 12, 3, stride=2)
        self.gate, self.head = nn.Linear(6, 6), nn.Linear(6, CLASSES)

    def forward(self, x):
        x = F.glu(self.second(F.glu(self.first(x), 1)), 1)
        x = x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]
        return self.head(x.amax((2, 3)))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride > 1 or before != after else None

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        x = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        x += identity
        return self.relu(x)


class ResNet18(nn.Module):
    """torchvision's, layer by layer and by its names, with 4 to 8 channels in place of 64 to 512: its own file would have 45 MB."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 4, 2), Block(4, 4, 1))
        self.layer3 = nn.Sequential(Block(4, 8, 2), Block(8, 8, 1))
        self.layer4 = nn.Sequential(Block(8, 8, 2), Block(8, 8, 1))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, CLASSES)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class NormBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.GroupNorm(2, after)
        self.conv2, self.norm2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.GroupNorm(2, after)
        self.down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.GroupNorm(2, after)) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.down(x) + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class GroupResNet(nn.Module):
    """All that the direct engine has for residual networks: blocks with and without a shortcut of their own."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4)
        self.one, self.two = NormBlock(4, 4, 1), NormBlock(4, 6, 2)
        self.fc = nn.Linear(6, CLASSES)

    def forward(self, x):
        x = self.two(self.one(F.relu(self.norm(self.stem(x)))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).reshape(x.shape[0], -1))


class Written(nn.Module):
    """Layers as they are written by hand: products with turned matrices, views of a computed number of examples."""

    def __init__(self):
        super().__init__()
        self.conv, self.one, self.two = nn.Conv2d(1, 3, 3, stride=1, padding=1), nn.Linear(108, 9), nn.Linear(9, CLASSES)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv(x)), 2)
        x = torch.tanh(torch.addmm(self.one.bias, x.view(x.size(0), 3 * 6 * 6), self.one.weight.t()))
        return torch.addmm(self.two.bias, x.view(-1, 9), self.two.weight.permute(1, 0))


class TokenLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.rnn = nn.Embedding(TOKENS, 5), nn.LSTM(5, 6, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, tokens):
        out, (h, _) = self.rnn(self.table(tokens))
        return self.head(h[-1] + out[:, -1])


class Causal(nn.Module):
    """What a token is told from are those before it; places are turned by angles; the table is the head, too. A score at each position."""

    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(TOKENS, 8), nn.RMSNorm(8)
        self.qkv, self.out = nn.Linear(8, 24, bias=False), nn.Linear(8, 8)
        self.register_buffer("angles", torch.cos(torch.arange(float(LENGTH))[:, None] * torch.arange(2.0)), persistent=False)

    def forward(self, tokens):
        b, t = tokens.shape
        x = self.table(tokens)
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 4).unbind(2)

        def turned(z):
            return torch.cat((z[..., ::2] * self.angles[:t, None], -z[..., 1::2] * self.angles[:t, None]), -1).transpose(1, 2)

        h = F.scaled_dot_product_attention(turned(q), turned(k), v.transpose(1, 2), dropout_p=0.1 if self.training else 0.0, is_causal=True)
        return (x + self.out(h.transpose(1, 2).flatten(2))) @ self.table.weight.T


class TokenTied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.middle, self.head = nn.Embedding(TOKENS, 5), nn.Linear(5, 5), nn.Linear(5, TOKENS, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.middle(self.table(tokens).mean(1))))


class TokenMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.head = nn.Embedding(TOKENS, 5), nn.LayerNorm(5 * LENGTH), nn.Linear(5 * LENGTH, CLASSES)

    def forward(self, tokens):
        return self.head(self.norm(self.table(tokens).flatten(1)))


class Bag(nn.Module):
    """A mean over tokens but 0, which pads."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(TOKENS, 5, padding_idx=0), nn.Linear(5, CLASSES)

    def forward(self, tokens):
        there = (tokens != 0).unsqueeze(-1).float()
        return self.head((self.table(tokens) * there).sum(1) / there.sum(1).clamp(min=1))


NETWORKS = {"cnn": Cnn, "bn_cnn": bn_cnn, "residual": Residual, "lstm": Lstm, "transformer": Transformer, "tied": Tied, "kept": Kept,
            "gru": Gru, "gated": Gated, "resnet18": ResNet18, "group_resnet": GroupResNet, "written": Written, "mixed": Mixed,
            "projected": Projected, "cells": Cells, "eval_norms": EvalNorms, "shuffled": Shuffled}
OF_TOKENS = {"token_lstm": TokenLstm, "causal": Causal, "token_tied": TokenTied, "bag": Bag, "token_mlp": TokenMlp,
             "token_reader": TokenReader, "token_encoder": token_encoder, "token_decoder": token_decoder, "token_adapted": Adapted,
             "token_gpt": Gpt, "token_vit": Vit, "token_mean": Text}


def save_tensors(file, tensors, metadata):
    """A safetensors file, whose package is not needed."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.detach().contiguous().view(torch.uint8).flatten().tolist())
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def examples(network, batch):
    """Examples and what is to be told of them: for each a class, or a token at each position."""
    if type(network) not in (*OF_TOKENS.values(), Encoder):
        return torch.randn(batch, 1, SIDE, SIDE), torch.randint(0, CLASSES, (batch,))
    x = torch.randint(0, TOKENS, (batch, LENGTH))
    answer = network(x).shape[1:]
    return x, torch.randint(0, answer[-1], (batch, *answer[:-1]))


def figures(network):
    torch.manual_seed(5)
    x, y = examples(network, BATCH)
    tensors, losses = {"x": x, "y": y}, {}
    for mode in ("train", "eval"):
        module = copy.deepcopy(network).train(mode == "train")
        torch.manual_seed(9)
        loss = F.cross_entropy(module(x).flatten(0, -2), y.flatten())
        losses[mode] = loss.item().hex()
        if mode == "eval":
            continue
        loss.backward()
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                tensors[f"gradient.{name}"] = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, buffer in module.named_buffers():
            if buffer.dtype == torch.float32 and name in module.state_dict():
                tensors[f"buffer.{name}"] = buffer
    return tensors, {**losses, "torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability(), "vendor": vendor_of_processor()}


def vendor_of_processor():
    """Of two processors with the same instructions, MKL computes another way on one that Intel did not make."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("vendor_id")), "")


def write_script(file):
    """TorchScript, which is to be refused: some of its members are compressed. Without those that name this machine's folder of PyTorch."""
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        torch.jit.save(torch.jit.script(nn.Linear(2, 2)), f"{folder}/script.pt")
        with zipfile.ZipFile(f"{folder}/script.pt") as whole, zipfile.ZipFile(file, "w") as kept:
            for member in whole.infolist():
                if not member.filename.endswith(".debug_pkl"):
                    kept.writestr(member, whole.read(member))


def main(folder):
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    write_script(folder / "script.pt")
    for name, make in (NETWORKS | OF_TOKENS).items():
        torch.manual_seed(1)
        network = make().train()
        save_tensors(folder / f"{name}.safetensors", *figures(network))
        two = torch.zeros(2, LENGTH, dtype=torch.int64) if name in OF_TOKENS else torch.zeros(2, 1, SIDE, SIDE)
        program = torch.export.export(network, (two,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
        for node in program.graph.nodes:  # where in this file it stands, several times the size of all else
            for key in ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn"):
                node.meta.pop(key, None)
        torch.export.save(program, folder / f"{name}.pt2")
        print(name, (folder / f"{name}.pt2").stat().st_size, sorted({str(node.target) for node in program.graph.nodes if node.op == "call_function"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
