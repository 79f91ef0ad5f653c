"""Networks of modules that few networks have: for make.py, whose sizes they take."""
import torch
import torch.nn.functional as F
from torch import nn

SIDE, CLASSES = 12, 4


class Projected(nn.Module):
    """An LSTM that gives less than it keeps."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(SIDE, 6, num_layers=2, batch_first=True, bidirectional=True, proj_size=3)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x):
        return self.head(self.rnn(x.squeeze(1))[0].mean(1))


class Cells(nn.Module):
    """Recurrent cells, called row by row; the first state is a row that expand() repeats."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.LSTMCell(SIDE, 6), nn.GRUCell(6, 5), nn.RNNCell(5, 5, nonlinearity="relu")
        self.head = nn.Linear(5, CLASSES)
        self.register_buffer("start", torch.linspace(-1, 1, 6).expand(3, 6))

    def forward(self, x):
        h = c = self.start[1:2].expand(x.shape[0], -1)
        g = r = None
        for row in range(3):
            h, c = self.first(x[:, 0, row], (h, c))
            g = self.second(h + self.start.sum(0), g)
            r = self.third(g, r)
        return self.head(r)


class EvalNorms(nn.Module):
    """Norms in eval() on purpose, in training, too: what is known of another data set stays."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.between, self.head = nn.InstanceNorm1d(4, affine=True, track_running_stats=True), nn.Linear(4, CLASSES)
        for norm in (self.norm, self.between):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        self.between.eval()
        return self

    def forward(self, x):
        return self.head(F.relu(self.between(F.relu(self.norm(self.conv(x))).flatten(2))).mean(2))
