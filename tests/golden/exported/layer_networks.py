"""Networks that become lists of layers by the layers of a few papers: make.py exports them."""
import torch
from torch import nn

SIDE, TOKENS, LENGTH, CLASSES = 12, 11, 6, 4


class LowRank(nn.Module):
    """A frozen layer and low-rank factors beside it, as most libraries write them."""

    def __init__(self, layer, rank, scale):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down, self.up = nn.Linear(layer.in_features, rank, bias=False), nn.Linear(rank, layer.out_features, bias=False)
        self.scale = scale

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x)) * self.scale


class Adapted(nn.Module):
    """Of a table, a layer at each position and a head, factors alone are trained."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TOKENS, 8).requires_grad_(False)
        self.widen, self.head = LowRank(nn.Linear(8, 20), 3, 0.5), LowRank(nn.Linear(20, CLASSES), 2, 1)

    def forward(self, tokens):
        return self.head(torch.relu(self.widen(self.table(tokens)))[:, -1])


class Shuffled(nn.Module):
    """Grouped convolutions with shuffled channels between them, written in three ways."""

    def __init__(self):
        super().__init__()
        self.stem, self.groups = nn.Conv2d(1, 6, 3, stride=2, bias=False), nn.Conv2d(6, 12, 1, groups=3)
        self.shuffle, self.depth, self.head = nn.ChannelShuffle(2), nn.Conv2d(12, 12, 3, groups=12), nn.Linear(12, CLASSES, bias=False)

    def forward(self, x):
        x = self.groups(self.shuffle(torch.relu(self.stem(x))))
        batch, channels, height, width = x.size()
        x = torch.transpose(x.view(batch, 3, channels // 3, height, width), 1, 2).contiguous().view(batch, -1, height, width)
        x = torch.relu(self.depth(x))
        x = x.reshape(x.shape[0], 4, 3, x.shape[2], x.shape[3]).permute(0, 2, 1, 3, 4).flatten(1, 2)
        return self.head(x.mean((2, 3)))
