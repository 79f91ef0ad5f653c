"""Networks of tokens that become lists of layers, as written with torch.nn alone: make.py exports them."""
import math

import torch
import torch.nn.functional as F
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


class Separate(nn.Module):
    """Causal attention with a layer each for queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(width, width, bias=False), nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.heads, self.proj = heads, nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.size()
        q = self.query(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = self.key(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = self.value(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0, is_causal=True)
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))


class ByHand(nn.Module):
    """The same from products, a mask that is a buffer, and a softmax."""

    def __init__(self, width, heads):
        super().__init__()
        self.key, self.query, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.heads, self.drop, self.proj = heads, nn.Dropout(0.1), nn.Linear(width, width, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))

    def forward(self, x):
        b, t, c = x.size()
        k, q, v = (z(x).view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (self.key, self.query, self.value))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        shares = self.drop(F.softmax(scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1))
        return self.proj((shares @ v).transpose(1, 2).contiguous().view(b, t, c))


class OneHead(nn.Module):
    """A head without views, and a mask that is added."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q, k.transpose(1, 2)) / k.shape[-1] ** 0.5
        scores = scores + torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        return self.out(torch.bmm(torch.softmax(scores, 2), v))


class Joint(nn.Module):
    """Attention to all positions with one layer for queries, keys and values, as in vision transformers."""

    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.heads, self.scale = heads, (width // heads) ** -0.5

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        shares = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((shares @ v).transpose(1, 2).reshape(b, n, c))


class Split(nn.Module):
    """The same, split and causal, as in GPT-2."""

    def __init__(self, width, heads):
        super().__init__()
        self.c_attn, self.c_proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.c_attn(x).split(c, dim=2))
        mask = torch.tril(torch.ones(t, t)).bool()
        return self.c_proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))


class Part(nn.Module):
    """Norm, attention, norm, and a wider layer, each with its residual."""

    def __init__(self, attention, width):
        super().__init__()
        self.before, self.attention, self.behind = nn.LayerNorm(width), attention, nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.wide(self.behind(x))


class Gpt(nn.Module):
    """A small GPT, with attentions written in three ways."""

    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(TOKENS, 8), nn.Embedding(LENGTH, 8)
        self.blocks = nn.Sequential(Part(Separate(8, 2), 8), Part(ByHand(8, 4), 8), Part(Split(8, 2), 8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, CLASSES, bias=False)

    def forward(self, tokens):
        x = self.table(tokens) + self.place(torch.arange(0, tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x))[:, -1])


class Summed(nn.Module):
    """Attention as sums over named indices, its heads where the projections leave them, or in front."""

    def __init__(self, width, heads, in_front):
        super().__init__()
        self.q, self.k, self.v, self.proj = (nn.Linear(width, width) for _ in range(4))
        self.heads, self.in_front = heads, in_front

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z(x).view(b, t, self.heads, c // self.heads) for z in (self.q, self.k, self.v))
        if self.in_front:
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            shares = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1]), dim=-1)
            return self.proj(torch.einsum("b h i j, b h j d -> b h i d", shares, v).transpose(1, 2).reshape(b, t, c))
        shares = torch.einsum("bqhd,bkhd->bhqk", q * (c // self.heads) ** -0.5, k).softmax(-1)
        return self.proj(torch.einsum("bhqk,bkhd->bqhd", shares, v).flatten(2))


class Turned(nn.Module):
    """Attention that turns its keys by mT."""

    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(((q @ k.mT / math.sqrt(c // self.heads)).softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Text(nn.Module):
    """A classifier of the mean of all positions."""

    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(TOKENS, 8), nn.Embedding(LENGTH, 8)
        self.blocks = nn.Sequential(Part(Summed(8, 2, False), 8), Part(Summed(8, 4, True), 8), Part(Turned(8, 2), 8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, CLASSES)

    def forward(self, tokens):
        x = self.blocks(self.table(tokens) + self.place(torch.arange(tokens.shape[1])))
        return self.head(self.norm(x).mean(dim=1))


class Vit(nn.Module):
    """The sequence model of a vision transformer, with places in a parameter and an attention whose layers are the model's own."""

    def __init__(self):
        super().__init__()
        self.place, self.table = nn.Parameter(torch.randn(1, LENGTH, 8)), nn.Embedding(TOKENS, 8)
        self.block, self.one = Part(Joint(8, 2), 8), Part(OneHead(8), 8)
        self.q, self.k, self.v, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8 * LENGTH, CLASSES)

    def forward(self, tokens):
        x = self.one(self.block(self.table(tokens) + self.place))
        q, k, v = (z(x).unflatten(-1, (2, 4)).permute(0, 2, 1, 3) for z in (self.q, self.k, self.v))
        return self.head(self.out(F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).reshape(-1, LENGTH, 8)).flatten(1))
