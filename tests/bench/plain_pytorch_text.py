#!/usr/bin/env python3
"""FedAvg on Shakespeare by speaker in a few plain lines of PyTorch: the yardstick for configs/shakespeare.yaml.

The same schedule: speakers with 10 windows and more, ten of them a round, one local epoch in batches of 10, SGD with rate 0.8, updates weighted by
examples, one thread. Prints CSV: seed,round,test_loss,test_accuracy.

    tests/bench/plain_pytorch_text.py --data data/tinyshakespeare/input.txt --rounds 40 --every 10 --seeds 1 2 3
"""
import argparse
import copy
import re
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional


class CharLstm(nn.Module):
    """stacked_lstm of LEAF, with PyTorch's biases and initial values."""

    def __init__(self, characters):
        super().__init__()
        self.embed = nn.Embedding(characters, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.linear = nn.Linear(256, characters)

    def forward(self, x):
        return self.linear(self.lstm(self.embed(x))[0][:, -1])


def windows(tokens, args):
    """What is given, and what follows."""
    if len(tokens) <= args.sequence:
        return torch.empty(0, args.sequence, dtype=torch.long), torch.empty(0, dtype=torch.long)
    return tokens[:-1].unfold(0, args.sequence, args.step), tokens[args.sequence::args.step]


def load(args):
    """The clients' windows, those to test on, and how many characters there are."""
    spoken = {}
    for block in re.split(r"\n\n+", args.data.read_text()):
        name, *lines = block.strip("\n").split("\n")
        assert name.endswith(":"), name
        spoken[name] = spoken.get(name, "") + "".join(line + "\n" for line in lines)
    parts = [(text, len(text) - int(0.2 * len(text))) for text in spoken.values()]
    parts = [(text, trained) for text, trained in parts if trained > args.sequence]
    characters = sorted(set("".join(text[:trained] for text, trained in parts)))
    number = {character: index for index, character in enumerate(characters)}
    clients, tests = [], []
    for text, trained in parts:
        tokens = torch.tensor([number[character] for character in text], dtype=torch.long)
        examples = windows(tokens[:trained], args)
        tests.append(windows(tokens[trained:], args))
        if len(examples[1]) >= args.min_examples:
            clients.append(examples)
    return clients, [torch.cat(part) for part in zip(*tests)], len(characters)


def train_client(model, inputs, labels, args):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for batch in torch.randperm(len(labels)).split(args.batch_size):
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


def run(seed, data, args):
    clients, test, characters = data
    torch.manual_seed(seed)
    model = CharLstm(characters)
    for round_number in range(1, args.rounds + 1):
        cohort = [clients[k] for k in torch.randperm(len(clients))[: args.cohort]]
        states = []
        for inputs, labels in cohort:
            local = copy.deepcopy(model)
            train_client(local, inputs, labels, args)
            states.append(local.state_dict())
        examples = sum(len(labels) for _, labels in cohort)
        weights = [len(labels) / examples for _, labels in cohort]
        model.load_state_dict({name: sum(w * state[name] for w, state in zip(weights, states)) for name in states[0]})
        if round_number % args.every == 0 or round_number == args.rounds:
            loss, accuracy = evaluate(model, *test)
            print(f"{seed},{round_number},{loss:.5f},{accuracy:.5f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/tinyshakespeare/input.txt"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--every", type=int, default=10, help="rounds from one evaluation to the next")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sequence", type=int, default=80)
    parser.add_argument("--step", type=int, default=40)
    parser.add_argument("--min-examples", type=int, default=10)
    parser.add_argument("--cohort", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.8)
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = load(args)
    print("seed,round,test_loss,test_accuracy", flush=True)
    for seed in args.seeds:
        run(seed, data, args)


if __name__ == "__main__":
    main()
