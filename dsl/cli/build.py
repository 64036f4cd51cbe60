"""`tilewright build`: a bundle from a spec, or a spec from a run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tilewright.bundles.recording import record
from tilewright.bundles.spec import BundleSpec
from tilewright.cli.answers import Answer, UsageError
from tilewright.cli.checked import as_data, run_script, told
from tilewright.cli.reading import load_module


def built(file: Path, out: Path, targets: Sequence[str] | None) -> Answer:
    """Build the bundle of a spec's file."""
    specs = [value for value in vars(load_module(str(file))).values() if isinstance(value, BundleSpec)]
    if len(specs) != 1:
        raise UsageError(f"{file} has {len(specs) or 'no'} BundleSpecs; write one at its top level: "
                         "spec = tw.bundles.BundleSpec(targets=[...])")
    [spec] = specs
    spec.folder = file.resolve().parent
    if targets:
        spec.targets = list(targets)
    manifest = spec.build(out)
    sizes = [code.size for code in manifest.code]
    binaries = [{"kernel": manifest.kernels[b.kernel].name, "symbol": b.symbol,
                 "target": manifest.code[b.code].target, "code": manifest.code[b.code].format,
                 "bytes": manifest.code[b.code].size} for b in manifest.binaries]
    data = {"bundle": str(out), "kernels": [kernel.name for kernel in manifest.kernels], "bytes": sum(sizes),
            "binaries": binaries}

    def show() -> None:
        for binary in binaries:
            print(f"{binary['symbol']:<48} {binary['target']:<8} {binary['code']:<5} {binary['bytes']:>8} bytes")
        print(f"{out}: {len(manifest.kernels)} kernels, {len(manifest.binaries)} binaries, {sum(sizes)} bytes of code")

    return Answer(data, show)


def recorded(script: Path, words: str, out: Path, targets: Sequence[str] | None) -> Answer:
    """Run a script, and write what it launches as a spec; the status is 1 where it ends with an error."""
    with record() as recording:
        stopped = run_script(script, shlex.split(words))
    recording.write(out, *([list(targets)] if targets else []))
    data = {"spec": str(out), "launches": len(recording), "stopped": as_data(stopped, str(script))}

    def show() -> None:
        print(f"{out}: {len(recording)} kinds of launches of {script}")
        if stopped is not None:
            print(f"{script} stopped early:\n{told(stopped, str(script))}", file=sys.stderr)

    return Answer(data, show, status=int(stopped is not None), command="build --record")
