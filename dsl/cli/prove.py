"""`tilewright check --prove`: bounds and races of a kernel, for all launches."""

from __future__ import annotations

from tilewright.cli.answers import Answer
from tilewright.cli.reading import load_kernel, parse_args, parse_grid
from tilewright.inspecting.proof import prove_kernel
from tilewright.interp.proving import Proof


def proved(where: str, args: str, grid: str | None) -> Answer:
    """Prove; what the command says. Its status is 1 where there is a counterexample."""
    kernel = load_kernel(where)
    proof = prove_kernel(kernel, parse_args(args), None if grid is None else parse_grid(grid))
    open_ = [v for v in proof.verdicts if v.status != "proved"]
    data = {"kernel": kernel.__name__, "assumptions": list(proof.assumptions), "race_free": proof.race_free,
            "verdicts": [v.as_json() for v in proof.verdicts]}

    def show() -> None:
        for verdict in open_:
            print(f"{verdict}\n")
        print(_summary(kernel.__name__, proof))

    return Answer(data, show, status=int(bool(proof.refuted)), command="check --prove")


def _summary(name: str, proof: Proof) -> str:
    done, of = proof.in_bounds
    races = "no two blocks race" if proof.race_free else "races are not excluded"
    lines = [f"{name}: {done} of {of} accesses proved in bounds, {races}, for all arguments of these types"]
    return "\n  if ".join([*lines, *proof.assumptions])
