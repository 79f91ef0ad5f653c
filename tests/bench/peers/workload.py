"""Shared by the peers: the workload file, fedhive's models in PyTorch, the data as tensors, and the output lines."""
import json
import math
import os
import time
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional


class Workload:
    """A workload in the form of tests/bench: {"model": "lr", "shape": [1, 28, 28], "examples": [12, 40, …], …}."""

    def __init__(self, path):
        for key, value in json.loads(Path(path).read_text()).items():
            setattr(self, key, value)

    def cohort_of(self, round_index):
        """The clients of a round, counted from 0."""
        return [(round_index * self.cohort + i) % self.clients for i in range(self.cohort)]

    def steps_of(self, num_examples):
        return self.local_epochs * math.ceil(num_examples / self.batch_size)

    def evaluates(self, round_index):
        return self.evaluate_every > 0 and (round_index + 1) % self.evaluate_every == 0

    def check_steps(self, num_steps):
        """Checks cohort and local steps, which are known: a side that omits some must not be called fast."""
        rounds = range(self.rounds)
        expected = sum(self.steps_of(self.examples[client]) for index in rounds for client in self.cohort_of(index))
        if num_steps != expected:
            raise SystemExit(f"{num_steps} local steps were made, the workload asks for {expected}")


class Lr(nn.Module):
    def __init__(self, workload):
        super().__init__()
        self.linear = nn.Linear(math.prod(workload.shape), workload.classes)

    def forward(self, x):
        return self.linear(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, workload):
        super().__init__()
        self.fc1 = nn.Linear(math.prod(workload.shape), 200)
        self.fc2 = nn.Linear(200, 200)
        self.fc3 = nn.Linear(200, workload.classes)

    def forward(self, x):
        x = functional.relu(self.fc1(x.flatten(1)))
        return self.fc3(functional.relu(self.fc2(x)))


class MnistCnn(nn.Module):
    def __init__(self, workload):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, workload.classes)
        self.dropout = workload.dropout

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = self.conv2(x)
        if self.dropout:
            x = functional.dropout2d(x, 0.5, self.training)
        x = functional.relu(functional.max_pool2d(x, 2)).flatten(1)
        x = functional.relu(self.fc1(x))
        if self.dropout:
            x = functional.dropout(x, 0.5, self.training)
        return self.fc2(x)


class CnnM(nn.Module):
    def __init__(self, workload):
        super().__init__()
        channels, height, width = workload.shape
        self.conv1 = nn.Conv2d(channels, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.fc1 = nn.Linear(64 * ((height - 4) // 2) * ((width - 4) // 2), 128)
        self.fc2 = nn.Linear(128, workload.classes)
        self.dropout = workload.dropout

    def forward(self, x):
        # Pool before ReLU, as fedhive and the ideal loop: the same values, with ReLU on a quarter of them.
        x = functional.relu(functional.max_pool2d(self.conv2(functional.relu(self.conv1(x))), 2))
        if self.dropout:
            x = functional.dropout(x, 0.25, self.training)
        x = functional.relu(self.fc1(x.flatten(1)))
        if self.dropout:
            x = functional.dropout(x, 0.5, self.training)
        return self.fc2(x)


MODELS = {"lr": Lr, "mlp": Mlp, "mnist_cnn": MnistCnn, "cnn_m": CnnM}


def build_model(workload):
    return MODELS[workload.model](workload)


def read_idx(path):
    data = path.read_bytes()
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">i4", dimensions, offset=4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def read_mnist(root, part, count):
    images = torch.from_numpy(read_idx(Path(root) / f"{part}-images-idx3-ubyte")[:count].astype(numpy.float32))
    labels = torch.from_numpy(read_idx(Path(root) / f"{part}-labels-idx1-ubyte")[:count].astype(numpy.int64))
    return images.div_(255).sub_(0.1307).div_(0.3081).unsqueeze(1), labels


def draw(workload, count, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn([count, *workload.shape], generator=generator),
            torch.randint(0, workload.classes, [count], generator=generator))


def train_data(workload):
    """All clients' examples, f32 and ready for slicing, shard after shard; and their labels."""
    count = sum(workload.examples)
    return read_mnist(workload.root, "train", count) if workload.data == "mnist" else draw(workload, count, 1)


def test_data(workload):
    if workload.data == "mnist":
        return read_mnist(workload.root, "t10k", workload.num_test)
    return draw(workload, workload.num_test, 2)


def shards(workload, images, labels):
    """Views: a pair of tensors per client."""
    return list(zip(images.split(workload.examples), labels.split(workload.examples)))


def sgd_step(parameters, velocities, workload):
    """By hand: torch.optim.SGD takes 60 us more per step, which is half a step of logistic regression."""
    with torch.no_grad():
        for parameter, velocity in zip(parameters, velocities):
            if workload.momentum > 0:
                velocity.mul_(workload.momentum).add_(parameter.grad)
                parameter.add_(velocity, alpha=-workload.lr)
            else:
                parameter.add_(parameter.grad, alpha=-workload.lr)


def train_client(model, images, labels, workload):
    """Local epochs of SGD on one client, with zero initial momentum; returns the number of steps."""
    model.train()
    parameters = list(model.parameters())
    velocities = [torch.zeros_like(parameter) if workload.momentum > 0 else None for parameter in parameters]
    num_steps = 0
    for _ in range(workload.local_epochs):
        for x, y in zip(images.split(workload.batch_size), labels.split(workload.batch_size)):
            for parameter in parameters:
                parameter.grad = None
            functional.cross_entropy(model(x), y).backward()
            sgd_step(parameters, velocities, workload)
            num_steps += 1
    return num_steps


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    correct = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(500), labels.split(500)))
    return correct / len(labels)


def say(**values):
    print(json.dumps(values), flush=True)


def started_at(process):
    """Start of a process, in seconds since the machine's start."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def say_ready(process):
    """Seconds since the start of the process that the user started, including imports."""
    say(ready_s=round(time.clock_gettime(time.CLOCK_BOOTTIME) - started_at(process), 3))
