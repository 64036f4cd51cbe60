"""Files that appear whole or not at all: written aside, then renamed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

OLD = ".old"


def write_file(path: Path, data: bytes) -> None:
    """Write or replace one file."""
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_folder(path: Path, files: Mapping[str, bytes], known: str) -> None:
    """Make a folder with these files, or put it in the place of one that has a file named `known`.

    Raises FileExistsError where there is something else: it may be the user's.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path / known).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(17, f"is there already and has no {known}: name another folder, or remove it", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".tmp-{path.name}-", dir=path.parent))
    try:
        for name, data in files.items():
            (aside / name).write_bytes(data)
        aside.chmod(0o755)
        old = aside.with_name(aside.name + OLD)
        if path.exists():
            path.rename(old)  # a folder that is not empty cannot be renamed over
        aside.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        if not path.exists() and aside.with_name(aside.name + OLD).exists():
            aside.with_name(aside.name + OLD).rename(path)
        shutil.rmtree(aside, ignore_errors=True)
        raise
