"""mbarriers: 64-bit words of shared memory on which threads and bulk copies arrive (PTX ISA, "mbarrier").

Addresses are 32-bit numbers of shared memory, multiples of 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.backend_ptx.instructions.record import Instruction

_Record = partial(Instruction, reads=True, writes=True, sm=90, ptx=80)

# try_wait gives up after a time that the hardware chooses, so it stands in a loop. The two branches are the form that
# ptxas turns into one instruction that sleeps and one branch.
_WAIT = """{
.reg .pred done;
AGAIN_${:uid}:
mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;
@done bra PASSED_${:uid};
bra AGAIN_${:uid};
PASSED_${:uid}:
}"""

_REMOTE = """{
.reg .b32 there;
mapa.shared::cluster.u32 there, $0, $1;
@$2 mbarrier.arrive.shared::cluster.b64 _, [there];
}"""


# For ptxas a predicated arrival may come any time later; a branch around it ends a block of instructions, and without
# the fence it would become a predicate.
_HELD = """{
@!$1 bra PASSED_${:uid};
mbarrier.arrive.shared::cta.b64 _, [$0];
fence.acq_rel.cta;
PASSED_${:uid}:
}"""


def records() -> Iterator[Instruction]:
    # Operands: address, arrivals that complete a phase.
    yield _Record("mbarrier.init", "mbarrier.init.shared::cta.b64 [$0], $1;", ("i32", "i32"), (), "mbarrier_init")
    # Operands: address, predicate.
    yield _Record("mbarrier.arrive", "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", ("i32", "i1"), (),
                  "mbarrier_arrive")
    yield _Record("mbarrier.arrive.held", _HELD, ("i32", "i1"), (), "mbarrier_arrive")
    # Arrives on the mbarrier at the same place in another block of the cluster. Operands: address in this block, rank
    # of the other, predicate. Named no scope, it releases at that of the block, as CUTLASS's does: for .release.cluster
    # ptxas puts a fence of the whole GPU (MEMBAR.ALL.GPU) before it, which takes a third of a product's speed.
    yield _Record("mbarrier.arrive.remote", _REMOTE, ("i32", "i32", "i1"), (), "mbarrier_arrive_remote")
    # Arrives, and announces bytes that copies will bring. Operands: address, bytes, predicate.
    yield _Record("mbarrier.expect_tx", "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
                  ("i32", "i32", "i1"), (), "mbarrier_expect")
    # Waits until the phase of that parity is complete. Operands: address, parity.
    yield _Record("mbarrier.wait", _WAIT, ("i32", "i32"), (), "mbarrier_wait", convergent=True)
    # What mbarrier.init wrote is visible to bulk copies and to other threads that synchronise with this one.
    yield _Record("fence.mbarrier_init", "fence.mbarrier_init.release.cluster;", (), (), "fence_mbarrier_init")
    # This thread's accesses to shared memory come before the later ones of bulk copies and wgmma.
    yield _Record("fence.proxy.async", "fence.proxy.async.shared::cta;", (), (), "fence_proxy")
