#!/usr/bin/env python3
"""FedAvg on MNIST in a few plain lines of PyTorch: the yardstick for configs/mnist.yaml.

The same schedule: 4 contiguous clients of 15,000 examples, one local epoch in batches of 64, SGD with rate 0.01 and momentum 0.5 that starts
fresh each round, updates weighted by examples, one thread. Prints CSV: seed,round,test_accuracy.

    tests/bench/plain_pytorch.py --data data/mnist --rounds 12 --seeds 1 2 3 4 5
"""
import argparse
import copy
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional


class MnistCnn(nn.Module):
    """The network of the classic PyTorch MNIST example."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = functional.relu(functional.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = functional.relu(self.fc1(x.view(-1, 320)))
        x = functional.dropout(x, training=self.training)
        return functional.log_softmax(self.fc2(x), dim=1)


def read_idx(path):
    data = path.read_bytes()
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">i4", dimensions, offset=4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load(folder, part):
    images = torch.from_numpy(read_idx(folder / f"{part}-images-idx3-ubyte").astype(numpy.float32))
    labels = torch.from_numpy(read_idx(folder / f"{part}-labels-idx1-ubyte").astype(numpy.int64))
    return ((images / 255 - 0.1307) / 0.3081).unsqueeze(1), labels


def train_client(model, images, labels, args):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    for batch in torch.randperm(len(labels)).split(args.batch_size):
        optimizer.zero_grad()
        functional.nll_loss(model(images[batch]), labels[batch]).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    correct = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(500), labels.split(500)))
    return correct / len(labels)


def run(seed, train, test, args):
    torch.manual_seed(seed)
    model = MnistCnn()
    clients = list(zip(train[0].chunk(args.clients), train[1].chunk(args.clients)))
    for round_number in range(1, args.rounds + 1):
        states = []
        for images, labels in clients:
            local = copy.deepcopy(model)
            train_client(local, images, labels, args)
            states.append(local.state_dict())
        weights = [len(labels) / len(train[1]) for _, labels in clients]
        model.load_state_dict({name: sum(w * state[name] for w, state in zip(weights, states)) for name in states[0]})
        print(f"{seed},{round_number},{accuracy(model, *test):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/mnist"), help="folder with the four IDX files (scripts/data mnist)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train, test = load(args.data, "train"), load(args.data, "t10k")
    print("seed,round,test_accuracy", flush=True)
    for seed in args.seeds:
        run(seed, train, test, args)


if __name__ == "__main__":
    main()
