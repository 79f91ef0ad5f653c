#!/usr/bin/env python3
"""FedAvg in plain PyTorch: the reference for configs/mnist.yaml, configs/cifar10.yaml and configs/shakespeare.yaml.

The same schedules: one local epoch, SGD with a fresh state each round, updates weighted by examples; batches, rates, cohorts
and splits similar to these files. One thread. Prints CSV: seed,round,test_loss,test_accuracy.

    tests/bench/plain_pytorch.py mnist --data data/mnist --rounds 12 --seeds 1 2 3 4 5
    tests/bench/plain_pytorch.py cifar10 --data data/cifar-10-batches-bin --rounds 10 --every 5 --seeds 1 2 3
    tests/bench/plain_pytorch.py shakespeare --data data/tinyshakespeare/input.txt --rounds 40 --every 10 --seeds 1 2 3
"""
import argparse
import copy
import re
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
        return self.fc2(x)


class ColourCnn(nn.Module):
    """The network of the newer PyTorch MNIST example, on images of 3 x 32 x 32."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=3)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3)
        self.fc1 = nn.Linear(64 * 14 * 14, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = functional.relu(self.conv1(x))
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.dropout(x, 0.25, training=self.training)
        x = functional.relu(self.fc1(x.flatten(1)))
        return self.fc2(functional.dropout(x, 0.5, training=self.training))


class CharLstm(nn.Module):
    """stacked_lstm of LEAF, with PyTorch's biases and initial values."""

    def __init__(self, characters):
        super().__init__()
        self.embed = nn.Embedding(characters, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.linear = nn.Linear(256, characters)

    def forward(self, x):
        return self.linear(self.lstm(self.embed(x))[0][:, -1])


class Mnist:
    """Four clients with a quarter of the examples each, in file order; all of them in each round."""
    cohort, batch_size, lr, momentum = 4, 64, 0.01, 0.5

    def __init__(self, folder):
        self.train, self.test = self.load(folder, "train"), self.load(folder, "t10k")

    def load(self, folder, part):
        images = torch.from_numpy(self.read_idx(folder / f"{part}-images-idx3-ubyte").astype(numpy.float32))
        labels = torch.from_numpy(self.read_idx(folder / f"{part}-labels-idx1-ubyte").astype(numpy.int64))
        return ((images / 255 - 0.1307) / 0.3081).unsqueeze(1), labels

    def read_idx(self, path):
        data = path.read_bytes()
        dimensions = data[3]
        shape = numpy.frombuffer(data, ">i4", dimensions, offset=4)
        return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)

    def model(self):
        return MnistCnn()

    def clients(self, _seed):
        return list(zip(self.train[0].chunk(4), self.train[1].chunk(4)))


class Cifar10:
    """A hundred clients with skewed labels (Hsu et al. 2019, alpha = 0.5), at least ten examples each; ten per round."""
    cohort, batch_size, lr, momentum = 10, 32, 0.05, 0.5
    num_clients, alpha, min_examples = 100, 0.5, 10

    def __init__(self, folder):
        self.train, self.test = self.load(sorted(folder.glob("data_batch_*.bin"))), self.load([folder / "test_batch.bin"])

    def load(self, files):
        records = numpy.concatenate([numpy.fromfile(file, numpy.uint8).reshape(-1, 3073) for file in files])
        images = torch.from_numpy(records[:, 1:].astype(numpy.float32)).view(-1, 3, 32, 32)
        mean, std = (torch.tensor(three).view(3, 1, 1) for three in ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]))
        return images.div_(255).sub_(mean).div_(std), torch.from_numpy(records[:, 0].astype(numpy.int64))

    def model(self):
        return ColourCnn()

    def clients(self, seed):
        draw = numpy.random.default_rng(seed)
        shards = [[] for _ in range(self.num_clients)]
        for label in range(10):
            examples = draw.permutation(numpy.flatnonzero(self.train[1].numpy() == label))
            ends = numpy.rint(numpy.cumsum(draw.dirichlet([self.alpha] * self.num_clients)) * len(examples)).astype(int)
            for shard, part in zip(shards, numpy.split(examples, ends[:-1])):
                shard.extend(part)
        for shard in shards:
            while len(shard) < self.min_examples:
                largest = max(shards, key=len)
                shard.append(largest.pop(draw.integers(len(largest))))
        return [(self.train[0][shard], self.train[1][shard]) for shard in shards]


class Shakespeare:
    """Speakers with at least ten windows; ten per round."""
    cohort, batch_size, lr, momentum = 10, 10, 0.8, 0.0
    sequence, step, min_examples = 80, 40, 10

    def __init__(self, file):
        spoken = {}
        for block in re.split(r"\n\n+", file.read_text()):
            name, *lines = block.strip("\n").split("\n")
            assert name.endswith(":"), name
            spoken[name] = spoken.get(name, "") + "".join(line + "\n" for line in lines)
        parts = [(text, len(text) - int(0.2 * len(text))) for text in spoken.values()]
        parts = [(text, trained) for text, trained in parts if trained > self.sequence]
        self.characters = sorted(set("".join(text[:trained] for text, trained in parts)))
        number = {character: index for index, character in enumerate(self.characters)}
        self.speakers, tests = [], []
        for text, trained in parts:
            tokens = torch.tensor([number[character] for character in text], dtype=torch.long)
            examples = self.windows(tokens[:trained])
            tests.append(self.windows(tokens[trained:]))
            if len(examples[1]) >= self.min_examples:
                self.speakers.append(examples)
        self.test = [torch.cat(part) for part in zip(*tests)]

    def windows(self, tokens):
        """The arguments, and values derived from them."""
        if len(tokens) <= self.sequence:
            return torch.empty(0, self.sequence, dtype=torch.long), torch.empty(0, dtype=torch.long)
        return tokens[:-1].unfold(0, self.sequence, self.step), tokens[self.sequence::self.step]

    def model(self):
        return CharLstm(len(self.characters))

    def clients(self, _seed):
        return self.speakers


def train_client(model, inputs, labels, setting):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.lr, momentum=setting.momentum)
    for batch in torch.randperm(len(labels)).split(setting.batch_size):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, inputs, labels):
    """Loss and accuracy."""
    model.eval()
    loss, correct = 0.0, 0
    for x, y in zip(inputs.split(500), labels.split(500)):
        scores = model(x)
        loss += functional.cross_entropy(scores, y, reduction="sum").item()
        correct += int((scores.argmax(1) == y).sum())
    return loss / len(labels), correct / len(labels)


def run(seed, setting, args):
    torch.manual_seed(seed)
    model, clients = setting.model(), setting.clients(seed)
    for round_number in range(1, args.rounds + 1):
        everybody = len(clients) == setting.cohort
        cohort = clients if everybody else [clients[k] for k in torch.randperm(len(clients))[: setting.cohort]]
        states = []
        for inputs, labels in cohort:
            local = copy.deepcopy(model)
            train_client(local, inputs, labels, setting)
            states.append(local.state_dict())
        examples = sum(len(labels) for _, labels in cohort)
        weights = [len(labels) / examples for _, labels in cohort]
        model.load_state_dict({name: sum(w * state[name] for w, state in zip(weights, states)) for name in states[0]})
        if round_number % args.every == 0 or round_number == args.rounds:
            loss, accuracy = evaluate(model, *setting.test)
            print(f"{seed},{round_number},{loss:.5f},{accuracy:.5f}", flush=True)


def main():
    settings = {"mnist": Mnist, "cifar10": Cifar10, "shakespeare": Shakespeare}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", choices=settings)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the four IDX files or CIFAR's six, or the text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="rounds from one evaluation to the next")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    args = parser.parse_args()
    torch.set_num_threads(1)
    setting = settings[args.setting](args.data)
    print("seed,round,test_loss,test_accuracy", flush=True)
    for seed in args.seeds:
        run(seed, setting, args)


if __name__ == "__main__":
    main()
