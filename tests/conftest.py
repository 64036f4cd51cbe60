"""Options of the whole test suite: --require-gpu, --update-golden; a private kernel cache."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from support.chromium import Chromium

# How long an example takes depends on what else the machine does: no example fails for it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Tests share helpers (the kernel catalogue) without being a package.
sys.path.insert(0, str(Path(__file__).parent))
# The IR is checked after every pass.
os.environ.setdefault("TILEWRIGHT_VERIFY", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-gpu", action="store_true", help="fail, not skip, GPU tests where there is no GPU")
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what the tests produce")


def pytest_configure() -> None:
    """Who runs from the tree of links, and has added a file, reads what to do and no ModuleNotFoundError."""
    import link_tree

    found = find_spec("tilewright")
    linked = found is not None and Path(found.origin or "/").is_relative_to(link_tree.TREE)
    if linked and (complaint := link_tree.complaint()):
        raise pytest.UsageError(complaint)


def pytest_sessionstart(session: pytest.Session) -> None:
    from support.llvm_floors import guard

    guard()


def gpu_missing() -> str:
    """Why no GPU can be used, "" if one can."""
    from tilewright.backend_ptx.runtime import driver
    from tilewright.tileir.diagnostics import TileError

    try:
        return "" if driver.device_count() > 0 and driver.get_device(0) else "the driver sees no GPU"
    except (TileError, RuntimeError) as error:
        return str(error)


@pytest.fixture(autouse=True)
def _quick_collections(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where a test's module collects garbage, what others have left in this process is not searched each time: after
    some thousand tests that takes a second or two."""
    if "gc" not in vars(request.module):
        yield
        return
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    reason = gpu_missing() if on_gpu else ""
    if not reason:
        return
    for item in on_gpu:
        if config.getoption("--require-gpu"):
            item.add_marker(pytest.mark.usefixtures("_gpu_is_required"))
        else:
            item.add_marker(pytest.mark.skip(reason="no GPU: " + reason.splitlines()[0]))


@pytest.fixture
def _gpu_is_required() -> None:
    pytest.fail(f"--require-gpu was given, but {gpu_missing()}", pytrace=False)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither read nor fill the user's kernel cache, and no dump folder of the user's."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("kernel-cache")))
    patch.delenv("TILEWRIGHT_DUMP_DIR", raising=False)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser for the tests that `make test-browser` runs."""
    from support.chromium import Chromium

    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()
