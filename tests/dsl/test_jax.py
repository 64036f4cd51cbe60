"""The bridge to JAX is left out: its names exist, and say what to do instead."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as ct


@pytest.mark.parametrize("use", [
    lambda: ct.jax.cutile_call((1,), None, (1,)),
    lambda: ct.jax.OutputPlaceholder((4,), "float32"),
    lambda: ct.jax.InputOutput(None),
])
def test_refused_with_advice(use: Any) -> None:
    with pytest.raises(ct.TileUnsupportedFeatureError, match="cannot be called inside jax.jit") as caught:
        use()
    assert "jax.pure_callback" in str(caught.value) and "DLPack" in str(caught.value)


def test_every_name_of_the_module() -> None:
    assert set(ct.jax.__all__) == {"cutile_call", "OutputPlaceholder", "InputOutput"}
