"""Choices that outlive a process: in the disk cache of kernels, or in a file that a fleet of machines shares."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.tune.space import Config

FILE = "TILEWRIGHT_TUNE_FILE"
FORMAT = 1


def load(key: str, configs: list[Config]) -> Config | None:
    """The stored choice: one of these configurations, or None where there is none that is whole."""
    path = _shared_file()
    found = _read(path).get(key) if path is not None else None
    if found is None:
        found = _brought.get(key)
    if found is None:
        found = _from_cache(key)
    index = found.get("index") if isinstance(found, dict) else None
    if found is None or type(index) is not int or not 0 <= index < len(configs):
        return None
    return configs[index] if str(configs[index]) == found.get("config") else None


def store(key: str, configs: list[Config], chosen: Config, about: dict[str, Any]) -> None:
    """Keep a choice. `about`: what a reader of the file wants to know of it."""
    entry = {**about, "config": str(chosen), "index": configs.index(chosen)}
    path = _shared_file()
    if path is not None:
        _write(path, key, entry)
        return
    from tilewright.tileir.cache import Entry, open_cache

    cache = open_cache()
    if cache is not None:
        cache.store(key, Entry({"tuning": entry}, ""))


_brought: dict[str, Any] = {}


def bring(choices: Mapping[str, Any]) -> None:
    """Choices of a bundle that is loaded: they count where a file has none, and before those of the cache."""
    _brought.update(choices)


def withdraw(choices: Mapping[str, Any]) -> None:
    """No longer."""
    for key in choices:
        _brought.pop(key, None)


def choices_of(path: Path) -> dict[str, Any]:
    """The choices of a file. ValueError where it is something else, FileNotFoundError where there is none."""
    path.stat()
    return _read(path)


def _from_cache(key: str) -> dict[str, Any] | None:
    from tilewright.tileir.cache import open_cache

    cache = open_cache()
    entry = cache.load(key) if cache is not None else None
    found = entry.meta.get("tuning") if entry is not None else None
    return found if isinstance(found, dict) else None


def _shared_file() -> Path | None:
    given = os.environ.get(FILE)
    return Path(given).expanduser() if given else None


def _read(path: Path) -> dict[str, Any]:
    """The choices of a file; none where it does not exist. ValueError where it is something else."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("choices"), dict):
        raise ValueError(f"{FILE}: {path} is no file of tuned choices; name another one, or remove it")
    choices: dict[str, Any] = content["choices"]
    return choices


def _write(path: Path, key: str, entry: dict[str, Any]) -> None:
    """Add to what the file has by now. A reader sees the old file or the new one, never a part."""
    content = {"format": FORMAT, "choices": {**_read(path), key: entry}}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(content, file, indent=1, sort_keys=True)
            file.write("\n")
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
