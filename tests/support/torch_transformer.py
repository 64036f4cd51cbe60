"""The small transformer as a module of torch, by library functions or by torch's own."""

from __future__ import annotations

from typing import Any

import torch
from support.small_transformer import Sizes, angles
from torch import Tensor
from torch.nn import functional as F

import tilewright.kernels as tk


class Library:
    """The operations that the model is made of, by tilewright.kernels."""

    @staticmethod
    def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
        return tk.rms_norm(x, weight)

    @staticmethod
    def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        return tk.add_rms_norm(x, residual, weight)

    @staticmethod
    def linear(x: Tensor, weight: Tensor) -> Tensor:
        return tk.linear(x, weight)

    @staticmethod
    def gated(gate: Tensor, up: Tensor) -> Tensor:
        return tk.gated(gate, up)

    @staticmethod
    def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return tk.rotary(x, cos, sin)

    @staticmethod
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return tk.attention(q, k, v, True)[0]

    @staticmethod
    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        return tk.cross_entropy(logits, labels).mean()

    @staticmethod
    def embedding(table: Tensor, tokens: Tensor) -> Tensor:
        return tk.embedding(table, tokens)


class Torch(Library):
    """The same by torch's own functions."""

    @staticmethod
    def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, 1e-6)

    @staticmethod
    def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return F.rms_norm(total, weight.shape, weight, 1e-6), total

    @staticmethod
    def linear(x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(x, weight)

    @staticmethod
    def gated(gate: Tensor, up: Tensor) -> Tensor:
        return F.silu(gate) * up

    @staticmethod
    def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    @staticmethod
    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    @staticmethod
    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), labels)

    @staticmethod
    def embedding(table: Tensor, tokens: Tensor) -> Tensor:
        return F.embedding(tokens, table)


class Transformer(torch.nn.Module):
    """The loss of a batch of tokens. `params`: as support.small_transformer.start makes them."""

    def __init__(self, sizes: Sizes, params: dict[str, Any], by: type[Library], tokens: int, device: str, dtype: Any):
        super().__init__()
        self.sizes, self.by = sizes, by
        for name, value in params.items():
            made = torch.as_tensor(value).to(device=device, dtype=dtype, copy=True)
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(made))
        for name, value in zip(("cos", "sin"), angles(tokens, sizes.d), strict=True):
            self.register_buffer(name, torch.from_numpy(value).to(device=device, dtype=dtype))

    def of(self, layer: int, name: str) -> Tensor:
        found = getattr(self, f"{layer}_{name}")
        assert isinstance(found, Tensor)
        return found

    def forward(self, tokens: Tensor, labels: Tensor) -> Tensor:
        by, total = self.by, self.by.embedding(self.table, tokens)
        normal = by.rms_norm(total, self.of(0, "norm1"))
        for layer in range(self.sizes.layers):
            mixed = by.linear(self.mix(layer, normal), self.of(layer, "o"))
            normal, total = by.add_rms_norm(mixed, total, self.of(layer, "norm2"))
            hidden = by.gated(by.linear(normal, self.of(layer, "gate")), by.linear(normal, self.of(layer, "up")))
            after = self.norm if layer + 1 == self.sizes.layers else self.of(layer + 1, "norm1")
            normal, total = by.add_rms_norm(by.linear(hidden, self.of(layer, "down")), total, after)
        return by.loss(by.linear(normal.flatten(0, 1), self.head), labels.flatten())

    def mix(self, layer: int, normal: Tensor) -> Tensor:
        q, k, v = (self.by.linear(normal, self.of(layer, name)).unflatten(2, (-1, self.sizes.d)).transpose(1, 2)
                   for name in "qkv")
        q, k = self.by.rotary(q, self.cos, self.sin), self.by.rotary(k, self.cos, self.sin)
        return self.by.attention(q, k, v).transpose(1, 2).flatten(2)
