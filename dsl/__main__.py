"""`python -m tilewright`: the command line, also where the script `tilewright` is not installed."""

from __future__ import annotations

from tilewright.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
