"""Networks of tokens that become lists of layers, as written with torch.nn alone: make.py exports them."""
import torch
from torch import nn

TOKENS, LENGTH, CLASSES = 11, 6, 4


class TokenReader(nn.Module):
    """Recurrent layers as tutorials use them: all positions of both ways, then the last position of one."""

    def __init__(self):
        super().__init__()
        self.table, self.gru = nn.Embedding(TOKENS, 5), nn.GRU(5, 4, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
        self.lstm, self.head = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, CLASSES)

    def forward(self, tokens):
        out, _ = self.lstm(self.gru(self.table(tokens))[0])
        return self.head(out[:, -1])


class Encoder(nn.Module):
    """nn.TransformerEncoder with learned places, each norm behind its part or before it."""

    def __init__(self, norm_first):
        super().__init__()
        self.table, self.place = nn.Embedding(TOKENS, 8), nn.Embedding(LENGTH, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, activation="gelu" if norm_first else "relu", batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8) if norm_first else None, enable_nested_tensor=False)
        self.head = nn.Linear(8, CLASSES)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH) if norm_first else None, persistent=False)

    def forward(self, tokens):
        x = self.table(tokens) + self.place(torch.arange(tokens.shape[1]))
        return self.head(self.encoder(x, mask=self.mask, is_causal=self.mask is not None)[:, -1])


def token_encoder():
    return Encoder(norm_first=False)


def token_decoder():
    return Encoder(norm_first=True)
