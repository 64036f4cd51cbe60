"""The table of docs/kernels.md, made from the record of `python -m benchmarks.library`.

`python tools/library_page.py [--commit C] LOG` makes what the benchmark printed the record, and the table anew.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from performance_page import COMMIT, OTHER, ROOT, ROW, provenance

PAGE, RECORD = ROOT / "docs" / "kernels.md", ROOT / "benchmarks" / "library-h200.txt"
START, END = "<!-- measured: made from the record by tools/library_page.py -->\n", "<!-- end of measured -->"
NAMES = {"compile": "torch.compile"}
MET = 0.995  # is 1.00 on the page


def current(page: str, record: str) -> str:
    """The page with the table of the record."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{table(record)}\n{END}{rest.partition(END)[2]}"


def table(record: str) -> str:
    """Machine and commit, and a row for each work: ours beside the fastest of the others."""
    rows = [(row, *_fastest(row)) for row in map(ROW.match, record.splitlines()) if row and row["us"]]
    met = sum(ratio >= MET for _, _, ratio in rows)
    lines = [*(f"- {part}" for part in provenance(record)), f"- {met} of {len(rows)} rows at least {MET}", "",
             "| work | here | best other | ratio |", "|---|---|---|---|"]
    lines += [f"| {row['name']} | {row['us']} us, {float(row['rate']):.0f} {row['unit']} | {NAMES.get(who, who)} | "
              f"{ratio:.2f} |" for row, who, ratio in rows]
    return "\n".join(lines) + "\n"


def _fastest(row: re.Match[str]) -> tuple[str, float]:
    return min(((who, float(ratio)) for who, ratio in OTHER.findall(row["others"])), key=lambda entry: entry[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", type=Path, help="none: only bring the page up to date")
    parser.add_argument("--commit", help="the commit that was measured")
    options = parser.parse_args()
    if options.log:
        RECORD.write_text((f"{COMMIT}{options.commit}\n" if options.commit else "") + options.log.read_text())
    PAGE.write_text(current(PAGE.read_text(), RECORD.read_text()))


if __name__ == "__main__":
    main()
