#!/usr/bin/env python3
"""The standard workloads in PyTorch: the other side of Headway's comparisons.

Every model is what a PyTorch user would write: plain modules, so that the names
in a safetensors file are the names that Headway reads and writes. One training
step is zero_grad, forward, loss, backward, clip, optimizer step, all on a fixed
batch; this script times it (eager and torch.compile), prints its losses, or
serves timed steps to a caller that alternates between two programs.

    torch_workloads.py mlp --mode both --threads 2 --steps 100
    torch_workloads.py gpt --save-init gpt.safetensors
    torch_workloads.py gpt --init gpt.safetensors --batches b.safetensors --losses 20
    torch_workloads.py gpt --mode compile --serve

To add a workload: write its module and a builder that returns a Workload, then
add one line to WORKLOADS and one to PARAMETERS.
"""

import argparse
import dataclasses
import functools
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


class UserError(Exception):
    """What the caller gave cannot be used; the message says what and why (exit 2)."""


# ---------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------

Batch = tuple[Tensor, Tensor]  # input, target


class Workload(NamedTuple):
    """A model, its synthetic data and its loss."""

    module: nn.Module
    make_batch: Callable[[torch.Generator], Batch]
    loss_fn: Callable[[Tensor, Tensor], Tensor]
    images: bool = False  # 4-D activations, which may be channels-last


class MlpLayer(nn.Module):
    """Linear, LayerNorm, GELU (erf)."""

    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.norm(self.linear(x)))


class Mlp(nn.Module):
    """[rows, features] -> [rows, 1]."""

    def __init__(self, features: int, width: int, layers: int):
        super().__init__()
        sizes = [features] + [width] * layers
        self.layers = nn.ModuleList(MlpLayer(n, m) for n, m in itertools.pairwise(sizes))
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def mlp(features: int = 130, width: int = 512, layers: int = 3, rows: int = 4096) -> Workload:
    """Tabular regression: mean squared error of one output a row."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(rows, features, generator=generator)
        return x, x[:, :1].sin() * 2 + x[:, 1:2] * x[:, 2:3]

    return Workload(Mlp(features, width, layers), make_batch, F.mse_loss)


class ConvNet(nn.Module):
    """[n, 1, image, image] -> [n, classes]; the flatten before fc1 is NCHW order."""

    def __init__(self, image: int, channels: tuple[int, int, int], hidden: int, classes: int):
        super().__init__()
        c1, c2, c3 = channels
        self.conv1 = nn.Conv2d(1, c1, 3, padding=1)
        self.conv2 = nn.Conv2d(c1, c2, 3, padding=1)
        self.conv3 = nn.Conv2d(c2, c3, 3, padding=1)
        self.fc1 = nn.Linear(c3 * (image // 4) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def convnet(image: int = 28, channels: tuple[int, int, int] = (32, 64, 64), hidden: int = 128,
            classes: int = 10, images: int = 128) -> Workload:
    """Image classification: cross-entropy; class k brightens rows 2k and 2k + 1 of noise."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(images, 1, image, image, generator=generator)
        target = torch.randint(classes, (images,), generator=generator)
        bright = torch.arange(image) // 2 == target[:, None]
        return x + bright[:, None, :, None], target

    return Workload(ConvNet(image, channels, hidden, classes), make_batch, F.cross_entropy,
                    images=True)


class Attention(nn.Module):
    """Self-attention; qkv holds q, then k, then v, each with its heads contiguous."""

    def __init__(self, hidden: int, heads: int, causal: bool = True):
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.proj = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        batch, sequence, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, sequence, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(batch, sequence, hidden))


class FeedForward(nn.Module):
    """Linear to 4 x hidden, GELU ("tanh", or "none" for erf), linear back."""

    def __init__(self, hidden: int, gelu: str = "tanh"):
        super().__init__()
        self.gelu = gelu
        self.fc1 = nn.Linear(hidden, 4 * hidden)
        self.fc2 = nn.Linear(4 * hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x), approximate=self.gelu))


class Experts(nn.Module):
    """A linear layer for each expert: [experts, rows, features] -> [experts, rows, outputs]."""

    def __init__(self, experts: int, features: int, outputs: int):
        super().__init__()
        bound = features**-0.5
        self.weight = nn.Parameter(torch.empty(experts, outputs, features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(experts, outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias[:, None], x, self.weight.transpose(1, 2))


class MixtureOfExperts(nn.Module):
    """Feed-forward experts: each token goes to the `choices` most probable, which take `capacity` tokens at most, in
    the order of tokens. Returns the outputs and the load-balancing loss; all shapes are static."""

    def __init__(self, hidden: int, experts: int, choices: int, capacity_factor: float):
        super().__init__()
        self.experts, self.choices, self.capacity_factor = experts, choices, capacity_factor
        self.router = nn.Linear(hidden, experts, bias=False)
        self.fc1 = Experts(experts, hidden, 4 * hidden)
        self.fc2 = Experts(experts, 4 * hidden, hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        tokens = x.flatten(0, 1)
        count, hidden = tokens.shape
        capacity = math.ceil(self.capacity_factor * count * self.choices / self.experts)
        probabilities = self.router(tokens).softmax(-1)
        top, chosen = probabilities.topk(self.choices)
        weights = top / top.sum(-1, keepdim=True)

        flat = chosen.flatten()
        one_hot = F.one_hot(flat, self.experts)
        place = (one_hot.cumsum(0) - one_hot).gather(1, flat[:, None]).squeeze(1)  # how many came before
        kept = place < capacity
        rest = self.experts * capacity  # the row of what is dropped
        row = torch.where(kept, flat * capacity + place, rest)
        rows = tokens.new_zeros(rest + 1, hidden).index_copy(0, row, tokens.repeat_interleave(self.choices, 0))
        y = self.fc2(F.gelu(self.fc1(rows[:rest].view(self.experts, capacity, hidden)), approximate="tanh"))
        y = torch.cat((y.flatten(0, 1), y.new_zeros(1, hidden)))[row].view(count, self.choices, hidden)
        out = (y * (weights * kept.view(count, self.choices))[..., None]).sum(1)

        load = one_hot.to(probabilities.dtype).mean(0)
        balance = self.experts * (load * probabilities.mean(0)).sum()
        return out.view_as(x), balance


class MoeBlock(nn.Module):
    """A pre-norm transformer layer with experts for its feed-forward part."""

    def __init__(self, hidden: int, heads: int, experts: int, choices: int, capacity_factor: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.attn = Attention(hidden, heads)
        self.norm2 = nn.LayerNorm(hidden)
        self.moe = MixtureOfExperts(hidden, experts, choices, capacity_factor)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x + self.attn(self.norm1(x))
        y, balance = self.moe(self.norm2(x))
        return x + y, balance


class Block(nn.Module):
    """A pre-norm transformer layer."""

    def __init__(self, hidden: int, heads: int, causal: bool = True, gelu: str = "tanh"):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.attn = Attention(hidden, heads, causal)
        self.norm2 = nn.LayerNorm(hidden)
        self.mlp = FeedForward(hidden, gelu)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Token ids [batch, sequence] -> logits [batch, sequence, vocab]; a tied head has no weight of its own."""

    def __init__(self, layers: int, hidden: int, heads: int, positions: int, vocab: int, tied: bool):
        super().__init__()
        self.tok_embedding = nn.Embedding(vocab, hidden)
        self.pos_embedding = nn.Embedding(positions, hidden)
        self.layers = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = None if tied else nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tok_embedding(tokens) + self.pos_embedding.weight[:tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return F.linear(x, self.tok_embedding.weight) if self.head is None else self.head(x)


def gpt(layers: int = 6, hidden: int = 384, heads: int = 6, sequence: int = 256, vocab: int = 256,
        batch: int = 8, positions: int | None = None, tied: bool = False) -> Workload:
    """Next-token prediction: cross-entropy over all tokens; the text counts up in steps of 1 to 3."""

    def make_batch(generator: torch.Generator) -> Batch:
        start = torch.randint(vocab, (batch, 1), generator=generator)
        stride = torch.randint(1, 4, (batch, 1), generator=generator)
        text = (start + stride * torch.arange(sequence + 1)) % vocab
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss_fn(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())

    module = Gpt(layers, hidden, heads, positions or sequence, vocab, tied)
    if tied:  # GPT-2's scale: PyTorch's embedding has logits of size 28 where it is the head too
        nn.init.normal_(module.tok_embedding.weight, std=0.02)
    return Workload(module, make_batch, loss_fn)


class MoeGpt(Gpt):
    """A GPT where every second layer has experts; returns the logits and the sum of the load-balancing losses."""

    def __init__(self, layers: int, hidden: int, heads: int, sequence: int, vocab: int, experts: int, choices: int,
                 capacity_factor: float):
        super().__init__(layers, hidden, heads, sequence, vocab, tied=False)
        for layer in range(1, layers, 2):
            self.layers[layer] = MoeBlock(hidden, heads, experts, choices, capacity_factor)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.tok_embedding(tokens) + self.pos_embedding.weight[:tokens.shape[1]]
        total = x.new_zeros(())
        for layer in self.layers:
            if isinstance(layer, MoeBlock):
                x, balance = layer(x)
                total = total + balance
            else:
                x = layer(x)
        return self.head(self.norm(x)), total


def moe(layers: int = 6, hidden: int = 384, heads: int = 6, sequence: int = 256, vocab: int = 256, batch: int = 8,
        experts: int = 8, choices: int = 2, capacity_factor: float = 1.25, balance: float = 0.01) -> Workload:
    """gpt with mixtures of experts in every second layer."""
    plain = gpt(1, hidden, heads, sequence, vocab, batch)

    def loss_fn(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
        return plain.loss_fn(output[0], target) + balance * output[1]

    module = MoeGpt(layers, hidden, heads, sequence, vocab, experts, choices, capacity_factor)
    return Workload(module, plain.make_batch, loss_fn)


class PostNormBlock(nn.Module):
    """A transformer layer that normalises after each sum, with full attention and GELU (erf)."""

    def __init__(self, hidden: int, heads: int):
        super().__init__()
        self.attn = Attention(hidden, heads, causal=False)
        self.norm1 = nn.LayerNorm(hidden)
        self.mlp = FeedForward(hidden, "none")
        self.norm2 = nn.LayerNorm(hidden)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attn(x))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    """Token ids [batch, sequence] -> logits [batch, sequence, vocab]; the head is tied to the embedding."""

    def __init__(self, layers: int, hidden: int, heads: int, positions: int, vocab: int):
        super().__init__()
        self.tok_embedding = nn.Embedding(vocab, hidden)
        self.pos_embedding = nn.Embedding(positions, hidden)
        self.embed_norm = nn.LayerNorm(hidden)
        self.layers = nn.ModuleList(PostNormBlock(hidden, heads) for _ in range(layers))
        self.transform = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocab)
        del self.head.weight  # the embedding's
        nn.init.normal_(self.tok_embedding.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_norm(self.tok_embedding(tokens) + self.pos_embedding.weight[:tokens.shape[1]])
        for layer in self.layers:
            x = layer(x)
        x = self.norm(F.gelu(self.transform(x)))
        return F.linear(x, self.tok_embedding.weight, self.head.bias)


def bert(layers: int = 12, hidden: int = 768, heads: int = 12, sequence: int = 128, vocab: int = 30522,
         batch: int = 8, positions: int = 512) -> Workload:
    """The encoder with cross-entropy over all tokens."""
    plain = gpt(1, hidden, heads, sequence, vocab, batch)
    return Workload(Bert(layers, hidden, heads, positions, vocab), plain.make_batch, plain.loss_fn)


class GroupedAttention(nn.Module):
    """Causal self-attention with rotary positions, fewer heads of keys and values than of queries, and no biases."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, positions: int, theta: float):
        super().__init__()
        self.size = hidden // heads
        self.heads = [heads, kv_heads, kv_heads]
        self.qkv = nn.Linear(hidden, sum(self.heads) * self.size, bias=False)
        self.proj = nn.Linear(hidden, hidden, bias=False)
        frequencies = theta ** (torch.arange(0, self.size, 2, dtype=torch.float64) / -self.size)
        angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x: Tensor) -> Tensor:
        """Turns the channels d and d + size / 2 of each head by the angles of the positions."""
        cos, sin = (t[:x.shape[2]].to(x.dtype) for t in (self.cos, self.sin))
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (-1, self.size)).transpose(1, 2).split(self.heads, 1)
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True, enable_gqa=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class SwiGlu(nn.Module):
    """The gated feed-forward layers of Llama."""

    def __init__(self, hidden: int, width: int):
        super().__init__()
        self.gate = nn.Linear(hidden, width, bias=False)
        self.up = nn.Linear(hidden, width, bias=False)
        self.down = nn.Linear(width, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    """A pre-norm transformer layer with RMSNorm."""

    def __init__(self, attention: GroupedAttention, hidden: int, width: int):
        super().__init__()
        self.norm1 = nn.RMSNorm(hidden, eps=1e-5)
        self.attn = attention
        self.norm2 = nn.RMSNorm(hidden, eps=1e-5)
        self.mlp = SwiGlu(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    """Token ids [batch, sequence] -> logits [batch, sequence, vocab]."""

    def __init__(self, vocab: int, hidden: int, layers: list[LlamaBlock]):
        super().__init__()
        self.tok_embedding = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.RMSNorm(hidden, eps=1e-5)
        self.head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tok_embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def llama(layers: int = 16, hidden: int = 2048, heads: int = 32, kv_heads: int = 8, feed_forward: int = 5632,
          sequence: int = 256, vocab: int = 32000, batch: int = 1, theta: float = 10000.0) -> Workload:
    """Next-token prediction as gpt, by a Llama."""
    plain = gpt(1, hidden, heads, sequence, vocab, batch)
    blocks = [LlamaBlock(GroupedAttention(hidden, heads, kv_heads, sequence, theta), hidden, feed_forward)
              for _ in range(layers)]
    return Workload(Llama(vocab, hidden, blocks), plain.make_batch, plain.loss_fn)


class XsTransformer(nn.Module):
    """[days, instruments, features] -> [days, instruments, 1]; every instrument attends to all."""

    def __init__(self, features: int, layers: int, hidden: int, heads: int):
        super().__init__()
        self.embed = nn.Linear(features, hidden)
        self.layers = nn.ModuleList(Block(hidden, heads, causal=False, gelu="none") for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def xs_transformer(instruments: int = 1000, features: int = 64, layers: int = 4, hidden: int = 256, heads: int = 4,
                   days: int = 1) -> Workload:
    """Regression over the instruments of a day, relative to the day's mean."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(days, instruments, features, generator=generator)
        return x, x[..., :1].sin() * 2 + x[..., 1:2] - x[..., 1:2].mean(dim=1, keepdim=True)

    return Workload(XsTransformer(features, layers, hidden, heads), make_batch, F.mse_loss)


class Recurrent(nn.Module):
    """[windows, steps, features] -> [windows, 1]: a recurrent stack, its last step to one value."""

    def __init__(self, features: int, hidden: int, layers: int, cell: str):
        super().__init__()
        self.cell = cell
        stack = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
        self.add_module(cell, stack(features, hidden, num_layers=layers, batch_first=True))
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = getattr(self, self.cell)(x)
        return self.head(y[:, -1])


def lstm(steps: int = 60, features: int = 20, hidden: int = 64, layers: int = 2, cell: str = "lstm",
         windows: int = 800) -> Workload:
    """Regression over windows: mean squared error; the target is a decaying mean of one feature."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(windows, steps, features, generator=generator)
        decay = 0.8 ** torch.arange(steps - 1, -1, -1)
        return x, (x[:, :, :1] * decay[:, None]).sum(1)

    return Workload(Recurrent(features, hidden, layers, cell), make_batch, F.mse_loss)


class TcnLayer(nn.Module):
    """Causal dilated convolution, ReLU; added to its input where the channels stay."""

    def __init__(self, features: int, width: int, kernel: int, dilation: int):
        super().__init__()
        self.conv = nn.Conv1d(features, width, kernel, dilation=dilation)
        self.before = dilation * (kernel - 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.conv(F.pad(x, (self.before, 0))))
        return x + y if x.shape == y.shape else y


class Tcn(nn.Module):
    """[batch, steps, features] -> [batch, steps, 1]; inside, channels before steps."""

    def __init__(self, features: int, width: int, layers: int, kernel: int):
        super().__init__()
        sizes = [features] + [width] * layers
        self.layers = nn.ModuleList(TcnLayer(n, m, kernel, 2 ** i)
                                    for i, (n, m) in enumerate(itertools.pairwise(sizes)))
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.transpose(1, 2))


def tcn(features: int = 40, sequence: int = 256, width: int = 64, layers: int = 6, kernel: int = 3,
        batch: int = 128) -> Workload:
    """Regression at every step: mean squared error; the target looks back four steps."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(batch, sequence, features, generator=generator)
        return x, x[:, :, :1].sin() + F.pad(x, (0, 0, 4, 0))[:, :-4, 1:2] * x[:, :, 2:3]

    return Workload(Tcn(features, width, layers, kernel), make_batch, F.mse_loss)


class ConvUnit(nn.Module):
    """Convolution, activation, BatchNorm."""

    def __init__(self, channels: int, out: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1),
                 padding: tuple[int, int] = (0, 0), activation: Callable[[Tensor], Tensor] = F.leaky_relu):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, stride=stride, padding=padding)
        self.norm = nn.BatchNorm2d(out)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.activation(self.conv(x)))


class DeepLob(nn.Module):
    """Zhang, Zohren, Roberts 2019, unpadded in time: [n, 1, steps, 40] -> [n, classes]."""

    def __init__(self, channels: int, inception: int, hidden: int, classes: int):
        super().__init__()
        c, m = channels, inception

        def block(first: int, kernel: tuple[int, int], stride: tuple[int, int],
                  activation: Callable[[Tensor], Tensor]) -> nn.Sequential:
            return nn.Sequential(ConvUnit(first, c, kernel, stride, activation=activation),
                                 ConvUnit(c, c, (4, 1), activation=activation),
                                 ConvUnit(c, c, (4, 1), activation=activation))

        self.block1 = block(1, (1, 2), (1, 2), F.leaky_relu)
        self.block2 = block(c, (1, 2), (1, 2), torch.tanh)
        self.block3 = block(c, (1, 10), (1, 1), F.leaky_relu)
        self.short = nn.Sequential(ConvUnit(c, m, (1, 1)), ConvUnit(m, m, (3, 1), padding=(1, 0)))
        self.long = nn.Sequential(ConvUnit(c, m, (1, 1)), ConvUnit(m, m, (5, 1), padding=(2, 0)))
        self.pooled = ConvUnit(c, m, (1, 1))
        self.lstm = nn.LSTM(3 * m, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.block3(self.block2(self.block1(x)))
        pooled = self.pooled(F.max_pool2d(x, (3, 1), stride=1, padding=(1, 0)))
        x = torch.cat([self.short(x), self.long(x), pooled], dim=1)
        y, _ = self.lstm(x.flatten(2).transpose(1, 2))
        return self.head(y[:, -1])


def deeplob(sequence: int = 100, channels: int = 32, inception: int = 64, hidden: int = 64, classes: int = 3,
            batch: int = 64) -> Workload:
    """Classification of order-book windows: cross-entropy; class k raises column k."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(batch, 1, sequence, 40, generator=generator)
        target = torch.randint(classes, (batch,), generator=generator)
        raised = torch.arange(40) == target[:, None]
        return x + raised[:, None, None, :], target

    return Workload(DeepLob(channels, inception, hidden, classes), make_batch, F.cross_entropy, images=True)


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 with the stride, 1 x 1 to four times the width, each with BatchNorm; plus the input."""

    def __init__(self, channels: int, width: int, stride: int):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride > 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride=stride, bias=False),
                                            nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """He, Zhang, Ren, Sun 2016: [n, channels, image, image] -> [n, classes]."""

    def __init__(self, channels: int, width: int, blocks: tuple[int, ...], classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.stages = len(blocks)
        last = width
        for stage, count in enumerate(blocks):
            layers = []
            for block in range(count):
                layers.append(Bottleneck(last, width << stage, 2 if stage > 0 and block == 0 else 1))
                last = 4 * (width << stage)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(last, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


def resnet(image: int = 224, channels: int = 3, width: int = 64, blocks1: int = 3, blocks2: int = 4,
           blocks3: int = 6, blocks4: int = 3, classes: int = 1000, batch: int = 16) -> Workload:
    """Image classification: cross-entropy; class k brightens row k modulo the image's rows."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(batch, channels, image, image, generator=generator)
        target = torch.randint(classes, (batch,), generator=generator)
        bright = torch.arange(image) == target[:, None] % image
        return x + bright[:, None, :, None], target

    return Workload(ResNet(channels, width, (blocks1, blocks2, blocks3, blocks4), classes), make_batch,
                    F.cross_entropy, images=True)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "mlp": mlp,
    "mlp_small": functools.partial(mlp, width=128, rows=256),
    "convnet": convnet,
    "gpt": gpt,
    "lstm": lstm,
    "gpt2": functools.partial(gpt, layers=12, hidden=768, heads=12, sequence=64, vocab=50257, batch=4,
                              positions=1024, tied=True),
    "xs_transformer": xs_transformer,
    "moe": moe,
    "tcn": tcn,
    "deeplob": deeplob,
}

PARAMETERS = {
    "mlp": 595_969,
    "mlp_small": 50_689,
    "convnet": 458_570,
    "gpt": 10_942_464,
    "lstm": 55_361,
    "gpt2": 124_439_808,
    "xs_transformer": 3_176_449,
    "moe": 35_764_608,
    "tcn": 69_569,
    "deeplob": 143_907,
}


def count_parameters(module: nn.Module) -> int:
    """The number of trained values."""
    return sum(p.numel() for p in module.parameters())


def build(name: str, seed: int) -> Workload:
    """The workload with PyTorch's own initialization, its parameters counted."""
    torch.manual_seed(seed)
    workload = WORKLOADS[name]()
    parameters = count_parameters(workload.module)
    assert parameters == PARAMETERS[name], f"{name}: {parameters} parameters, not {PARAMETERS[name]}"
    return workload


# ---------------------------------------------------------------------------
# Weights and batches as safetensors
# ---------------------------------------------------------------------------

def load_tensors(path: str) -> dict[str, Tensor]:
    """All tensors of a safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: cannot be read as safetensors: {error}") from error


def weights(module: nn.Module) -> dict[str, Tensor]:
    """What a weights file holds: all but BatchNorm's count of batches, which only a None momentum uses."""
    return {name: value for name, value in module.state_dict().items()
            if not name.endswith("num_batches_tracked")}


def load_weights(module: nn.Module, path: str) -> None:
    """Loads a file whose names, shapes and dtypes are exactly the module's."""
    have, want = load_tensors(path), weights(module)
    wrong = [f"  missing: {name} {list(want[name].shape)}" for name in want if name not in have]
    wrong += [f"  unknown: {name} {list(have[name].shape)}" for name in have if name not in want]
    for name in want:
        if name not in have:
            continue
        found, wanted = have[name], want[name]
        if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
            wrong.append(f"  {name}: is {found.dtype} {list(found.shape)}, "
                         f"must be {wanted.dtype} {list(wanted.shape)}")
    if wrong:
        raise UserError("\n".join([f"{path}: does not fit the model:", *wrong]))
    module.load_state_dict(have, strict=False)


def save_weights(module: nn.Module, path: str) -> None:
    """Saves the module's weights under its own names, in PyTorch's standard layout."""
    save_file({name: value.contiguous() for name, value in weights(module).items()}, path)


def load_batches(path: str) -> list[Batch]:
    """Reads input.0, target.0, input.1, target.1, ...; integers become int64."""
    tensors = load_tensors(path)
    count = len(tensors) // 2
    names = {f"{kind}.{k}" for k in range(count) for kind in ("input", "target")}
    if not count or set(tensors) != names:
        odd = sorted(set(tensors) ^ names) or ["nothing"]
        raise UserError(f"{path}: batches must be input.0, target.0, input.1, target.1, ... without "
                        f"gaps; found {', '.join(odd[:6])}")

    def standard(tensor: Tensor) -> Tensor:
        return tensor if tensor.is_floating_point() else tensor.long()

    return [(standard(tensors[f"input.{k}"]), standard(tensors[f"target.{k}"])) for k in range(count)]


def shaped(batches: list[Batch], synthetic: Batch) -> list[Batch]:
    """Gives samples of the right size the workload's own shape: an axis of one channel may stand anywhere."""
    def like(tensor: Tensor, wanted: Tensor) -> Tensor:
        sizes = [n for n in tensor.shape[1:] if n != 1], [n for n in wanted.shape[1:] if n != 1]
        return tensor.reshape(-1, *wanted.shape[1:]) if sizes[0] == sizes[1] else tensor

    return [tuple(like(found, wanted) for found, wanted in zip(batch, synthetic)) for batch in batches]


def check_batches(batches: list[Batch], synthetic: Batch, path: str) -> None:
    """The batches must look like the workload's own, but for the number of samples."""
    for k, batch in enumerate(batches):
        for kind, found, wanted in zip(("input", "target"), batch, synthetic):
            if (found.dtype, found.shape[1:]) != (wanted.dtype, wanted.shape[1:]):
                raise UserError(f"{path}: {kind}.{k} is {found.dtype} {list(found.shape)}, must be "
                                f"{wanted.dtype} [{', '.join(['n', *map(str, wanted.shape[1:])])}]")
        if len(batch[0]) != len(batch[1]):
            raise UserError(f"{path}: input.{k} has {len(batch[0])} samples, target.{k} {len(batch[1])}")


# ---------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Optimizer:
    """What updates the weights. It treats all parameters alike: biases and norms decay too."""

    name: str = "adamw"
    lr: float = 1e-3
    momentum: float = 0.9  # sgd
    betas: tuple[float, float] = (0.9, 0.95)  # adamw
    eps: float = 1e-8  # adamw
    weight_decay: float = 0.1
    clip: float = 1.0  # bound of the global gradient norm; 0: none
    fused: bool = True

    def make(self, module: nn.Module) -> torch.optim.Optimizer:
        """The PyTorch optimizer over the module's parameters."""
        common = {"lr": self.lr, "weight_decay": self.weight_decay, "fused": self.fused}
        if self.name == "sgd":
            return torch.optim.SGD(module.parameters(), momentum=self.momentum, **common)
        return torch.optim.AdamW(module.parameters(), betas=self.betas, eps=self.eps, **common)

    def record(self) -> dict:
        """The options that matter for this optimizer, for a result."""
        unused = ("betas", "eps") if self.name == "sgd" else ("momentum",)
        return {key: value for key, value in dataclasses.asdict(self).items() if key not in unused}


class Trainer:
    """Runs training steps over batches in a cycle; accumulation takes several batches a step."""

    def __init__(self, workload: Workload, batches: list[Batch], optimizer: Optimizer, *,
                 compiled: bool = False, channels_last: bool = False, accumulate: int = 1):
        self.module = workload.module
        self.options = optimizer
        self.accumulate = accumulate
        self.grad_norm = math.nan  # of the last step, before clipping; only where clip is on
        if channels_last:
            self.module.to(memory_format=torch.channels_last)
            batches = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in batches]
        self.batches: Iterator[Batch] = itertools.cycle(batches)
        self.optimizer = optimizer.make(self.module)

        def loss(x: Tensor, target: Tensor) -> Tensor:
            return workload.loss_fn(self.module(x), target)

        self.loss = torch.compile(loss, dynamic=False) if compiled else loss

    def step(self) -> Tensor:
        """One training step; returns the loss before the update (the mean over micro-batches)."""
        self.optimizer.zero_grad(set_to_none=True)
        total = None
        for _ in range(self.accumulate):
            loss = self.loss(*next(self.batches))
            (loss if self.accumulate == 1 else loss / self.accumulate).backward()
            total = loss.detach() if total is None else total + loss.detach()
        if self.options.clip:
            self.grad_norm = nn.utils.clip_grad_norm_(self.module.parameters(), self.options.clip)
        self.optimizer.step()
        return total / self.accumulate if self.accumulate > 1 else total

    def timed_steps(self, count: int) -> tuple[list[float], list[Tensor]]:
        """Milliseconds and losses of the next steps."""
        samples, losses = [], []
        for _ in range(count):
            start = time.perf_counter_ns()
            loss = self.step()
            samples.append((time.perf_counter_ns() - start) / 1e6)
            losses.append(loss)
        return samples, losses


def percentile(samples: list[float], percent: float) -> float:
    """Linear interpolation between the sorted samples."""
    return torch.tensor(samples, dtype=torch.float64).quantile(percent / 100).item()


# ---------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------

def make_trainer(options: argparse.Namespace, mode: str) -> Trainer:
    """A fresh model and optimizer, so that both modes start from the same weights."""
    workload = build(options.workload, options.seed)
    if options.init:
        load_weights(workload.module, options.init)
    if options.save_init:
        save_weights(workload.module, options.save_init)
    batches = [workload.make_batch(torch.Generator().manual_seed(options.seed))]
    if options.batches:
        synthetic, batches = batches[0], load_batches(options.batches)
        batches = shaped(batches, synthetic)
        check_batches(batches, synthetic, options.batches)
    if options.double:
        workload.module.double()
        batches = [tuple(t.double() if t.is_floating_point() else t for t in batch) for batch in batches]
    return Trainer(workload, batches, optimizer_of(options), compiled=mode == "compile",
                   channels_last=options.channels_last and workload.images,
                   accumulate=options.accumulate)


def optimizer_of(options: argparse.Namespace) -> Optimizer:
    """The optimizer options; lr and weight decay have defaults that depend on the optimizer."""
    sgd = options.optimizer == "sgd"
    lr = options.lr if options.lr is not None else (0.1 if sgd else 1e-3)
    decay = options.weight_decay if options.weight_decay is not None else (0.0 if sgd else 0.1)
    return Optimizer(options.optimizer, lr, options.momentum, tuple(options.betas), options.eps, decay,
                     options.clip, options.fused)


def header(options: argparse.Namespace, trainer: Trainer, mode: str) -> dict:
    """What every result begins with."""
    return {"workload": options.workload, "mode": mode, "threads": options.threads,
            "torch": torch.__version__, "parameters": count_parameters(trainer.module),
            "optimizer": trainer.options.record(), "accumulate": options.accumulate}


def print_losses(options: argparse.Namespace, mode: str) -> dict:
    """The losses of the first steps from the initial weights."""
    trainer = make_trainer(options, mode)
    losses = [trainer.step().item() for _ in range(options.losses)]
    return header(options, trainer, mode) | {"losses": losses}


def measure(options: argparse.Namespace, mode: str) -> dict:
    """Step times after the warm-up, and the first 20 losses, warm-up included."""
    trainer = make_trainer(options, mode)
    _, warmup_losses = trainer.timed_steps(options.warmup)
    samples, losses = trainer.timed_steps(options.steps)
    step_ms = {f"p{p}": percentile(samples, p) for p in (10, 50, 90)} | {"n": len(samples)}
    return header(options, trainer, mode) | {
        "step_ms": step_ms, "samples": samples,
        "losses": [loss.item() for loss in (warmup_losses + losses)[:20]]}


def serve(options: argparse.Namespace) -> None:
    """Answers `step N` with the milliseconds of N steps until `quit` or the end of the input."""
    trainer = make_trainer(options, options.mode)
    trainer.timed_steps(options.warmup)
    print(json.dumps({"ready": True} | header(options, trainer, options.mode)), flush=True)
    for line in iter(sys.stdin.readline, ""):
        match line.split():
            case ["quit"]:
                return
            case ["step", count] if count.isdecimal():
                samples, _ = trainer.timed_steps(int(count))
                print(json.dumps({"samples": samples}), flush=True)
            case []:
                pass
            case _:
                print(json.dumps({"error": f"`{line.strip()}` is neither `step N` nor `quit`"}), flush=True)


def parse_options() -> argparse.Namespace:
    """The command line."""
    on_off = argparse.BooleanOptionalAction
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--mode", choices=("eager", "compile", "both"), default="eager")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50, help="timed steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=10, help="untimed steps before (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and the synthetic batch")
    parser.add_argument("--channels-last", action=on_off, default=True,
                        help="memory format of image models (default: on)")

    group = parser.add_argument_group("optimizer")
    group.add_argument("--optimizer", choices=("sgd", "adamw"), default="adamw")
    group.add_argument("--lr", type=float, help="default: 1e-3 for adamw, 0.1 for sgd")
    group.add_argument("--momentum", type=float, default=0.9, help="of sgd (%(default)s)")
    group.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.95), help="of adamw (0.9 0.95)")
    group.add_argument("--eps", type=float, default=1e-8, help="of adamw (%(default)s)")
    group.add_argument("--weight-decay", type=float, help="default: 0.1 for adamw, 0 for sgd")
    group.add_argument("--clip", type=float, default=1.0,
                       help="bound of the global gradient norm; 0: no clipping (%(default)s)")
    group.add_argument("--accumulate", type=int, default=1, help="batches a step (%(default)s)")
    group.add_argument("--fused", action=on_off, default=True,
                       help="PyTorch's fused optimizer (default: on)")

    group = parser.add_argument_group("files (safetensors)")
    group.add_argument("--init", metavar="FILE", help="weights to start from")
    group.add_argument("--save-init", metavar="FILE", help="write the initial weights")
    group.add_argument("--batches", metavar="FILE", help="input.K and target.K; step s uses s mod count")

    group = parser.add_argument_group("instead of timing")
    group.add_argument("--losses", type=int, metavar="N", help="print the losses of the first N steps")
    group.add_argument("--double", action="store_true", help="those losses in float64: what rounding does not touch")
    group.add_argument("--serve", action="store_true",
                       help="time `step N` for each such line of the input, until `quit`")

    options = parser.parse_args()
    if options.serve and (options.mode == "both" or options.losses is not None):
        parser.error("--serve takes one mode and no --losses")
    if options.double and options.losses is None:
        parser.error("--double needs --losses")
    for name, least in (("threads", 1), ("steps", 1), ("warmup", 0), ("accumulate", 1), ("losses", 1)):
        if (value := getattr(options, name)) is not None and value < least:
            parser.error(f"--{name} must be at least {least}")
    return options


def main() -> None:
    """Runs what the command line asks for."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    if options.serve:
        serve(options)
        return
    run = print_losses if options.losses is not None else measure
    modes = ("eager", "compile") if options.mode == "both" else (options.mode,)
    results = [run(options, mode) for mode in modes]
    print(json.dumps(results if options.mode == "both" else results[0]))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
