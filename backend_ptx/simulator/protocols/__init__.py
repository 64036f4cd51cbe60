"""Protocols of warp-specialised kernels, taken from machine IR and explored completely.

    function = kernel.lower(*args, target="sm_90a").machine_ir()
    explored = explore(protocol_of(function, Choices(trips=(7,))))
    explored.states

`extract.py` follows each role's function for given trip counts: `marks.py` says which values are chosen, `follower.py`
walks, `rules.py` says what each op does. `explore.py` visits every state that an interleaving of the roles can reach by
the moves of `interleavings.py`. It raises `ViolationError` with the shortest interleaving that ends in a deadlock, in a
slot read or filled too early, or in a phase that its waiters mistake for another.
"""

from tilewright.backend_ptx.simulator.protocols.explore import Explored, TooManyStatesError, ViolationError, explore
from tilewright.backend_ptx.simulator.protocols.extract import protocol_of
from tilewright.backend_ptx.simulator.protocols.follower import UnfollowedError
from tilewright.backend_ptx.simulator.protocols.marks import Choices, loops_of
from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Process, Protocol

__all__ = [
    "Action", "Choices", "Explored", "Act", "Process", "Protocol", "TooManyStatesError", "UnfollowedError",
    "ViolationError", "explore", "loops_of", "protocol_of",
]
