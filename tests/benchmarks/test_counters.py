"""What the group `counters` makes of ncu's tables, and of estimates beside them."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import counters
from benchmarks.counter_kernels import works
from benchmarks.counters import (
    ASKED,
    MEMORY_READ,
    MEMORY_WRITTEN,
    METRICS,
    READ,
    READ_BY_SMS,
    WRITTEN,
    Compared,
    read_csv,
)

from tilewright.estimating import DEVICES

# As Nsight Compute writes: its own lines, names, units, then a line for each launch; n/a for what is not counted.
PRINTED = f'''==PROF== Connected to process 4711 (/usr/bin/python3.11)
==PROF== Profiling "vector_add" - 0: 0%....50%....100% - 4 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"{MEMORY_READ}","{MEMORY_WRITTEN}","gpu__time_duration.sum","{READ}","{WRITTEN}","{READ_BY_SMS}"
"","","","","","","","","","","","byte","Mbyte","nsecond","sector","sector","sector"
"0","4711","python3.11","127.0.0.1","vector_add","1","7","(128, 1, 1)","(524288, 1, 1)","0","9.0",\
"4,294,967,296","2,101.5","1,234,567","134217728","67108864","n/a"
"1","4711","python3.11","127.0.0.1","copy, twice","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0",\
"1024","0","1000","32","0","32"
'''
FOUND = Compared("vector add", 134217728, 67108864, (4294967296, 4294967296), (2095054848, 2147483648))


def test_a_table_of_ncu() -> None:
    add, copy = read_csv(PRINTED)
    assert add == {MEMORY_READ: 4294967296.0, MEMORY_WRITTEN: 2101.5e6, READ: 134217728.0, WRITTEN: 67108864.0}
    assert copy == {MEMORY_READ: 1024.0, MEMORY_WRITTEN: 0.0, READ: 32.0, WRITTEN: 0.0, READ_BY_SMS: 32.0}
    with pytest.raises(ValueError, match="no table of counters"):
        read_csv("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")


def test_estimates_beside_counters() -> None:
    exact = replace(FOUND, counted=read_csv(PRINTED)[0])
    assert exact.shares() == {READ: 1.0, WRITTEN: 1.0, MEMORY_READ: 1.0, MEMORY_WRITTEN: 1.0}
    assert not exact.misses() and exact.text().endswith("within bounds")
    more = replace(FOUND, counted={READ: 134217728 * 1.2, WRITTEN: 67108864 * 1.05, MEMORY_READ: 4294967296 * 1.06,
                                   MEMORY_WRITTEN: 2147483648 * 1.04})
    assert more.shares()[READ] == pytest.approx(1 / 1.2) and more.misses() == [READ, MEMORY_READ]
    assert f"OUTSIDE: {READ}, {MEMORY_READ}" in more.text()
    hopper = replace(FOUND, partitions=2, counted={READ: 201332999.0, READ_BY_SMS: 134217728.0, WRITTEN: 100679000.0})
    assert not hopper.misses(), "half of the sectors are in the other partition's memory"
    again = replace(hopper, memory_read=(32000, 64000))
    assert again.lookups()[READ] == (134217728 + 500, 134217728 + 1000) and again.misses() == [READ]
    merged = replace(hopper, shared=67108864, memory_read=(0, 0), counted={READ: 100000000.0, ASKED: 134217728.0})
    assert not merged.misses(), "SMs share requests"
    assert replace(merged, counted={READ: 60000000.0, ASKED: 120000000.0}).misses() == [READ, ASKED]
    nothing = replace(FOUND, counted={WRITTEN: 0.0})
    assert nothing.misses() == [WRITTEN] and "not counted" in nothing.text()


def test_all_are_estimated_as_they_run() -> None:
    found = {work.name: counters.compared(work, {}, DEVICES["h100"]) for work in works(small=True)}
    assert len(found) == 14
    assert found["vector add"] == Compared("vector add", 1024, 512, (32768, 32768), (0, 16384),
                                           partitions=2, shared=1024)
    for one in found.values():
        assert one.read and one.written and 0 < one.memory_read[0] <= one.memory_read[1]
        assert one.memory_written[0] == 0 < one.memory_written[1], "L2 may hold what is written last"


def fake(folder: Path, script: str) -> Path:
    """A program in the place of ncu."""
    path = folder / "ncu"
    path.write_text(f"#!{sys.executable}\nimport sys\nwords = sys.argv[1:]\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_ncu_is_started_and_its_failures_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.csv").write_text(PRINTED)
    copies = f"open(words[words.index('--log-file') + 1], 'w').write(open({str(tmp_path / 'table.csv')!r}).read())"
    checks = "assert words[-3:] == ['benchmarks.counters', '--drive', '--small'], words\n"
    checks += f"assert words[words.index('--metrics') + 1] == {','.join(METRICS)!r}\n"
    monkeypatch.setitem(os.environ, "TILEWRIGHT_NCU", str(fake(tmp_path, checks + copies)))
    assert counters.profiled(small=True) == PRINTED
    fake(tmp_path, "print('==ERROR== ERR_NVGPUCTRPERM'); raise SystemExit(1)")
    with pytest.raises(RuntimeError, match="ERR_NVGPUCTRPERM"):
        counters.profiled(small=True)
    monkeypatch.delitem(os.environ, "TILEWRIGHT_NCU")
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(counters, "PLACES", ())
    with pytest.raises(RuntimeError, match="ncu was not found"):
        counters.find_ncu()
