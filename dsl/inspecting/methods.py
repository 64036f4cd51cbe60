"""What a kernel becomes for given arguments, as methods of the kernel: text, machine code and objects of each stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.launching.specialise import Specialiser
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Compiled
    from tilewright.inspecting.stages import Stages


class Inspected:
    """What can be asked of a kernel that has a specialiser."""

    # For the modules of this package; `lower` shows a user what it makes.
    specialiser: Specialiser

    @public
    def ir(self, *args: Any, passes: bool = True, spans: bool = False, **named: Any) -> str:
        """The Tile IR for these arguments.

        Arguments: arrays, or specs in their place, scalars and constants, as in a launch, by position or name.
        Result: text. `tilewright run` executes it again.
        Options: `passes=False` shows it as the frontend makes it; `spans=True` ends each op with its place in the
            source, `@0:line:columns` in the function that a line `@0 = ...` at the top names.
        Errors: what a launch raises for the same arguments.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            print(double.ir(ct.spec("f32[1024]")).splitlines()[0].startswith("func"))  # True
            assert " @0:" in double.ir(ct.spec("f32[1024]"), spans=True)
        """
        return self.lower(*args, **named).text(passes=passes, spans=spans)

    @public
    def llvm(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> str:
        """The LLVM IR for these arguments; no GPU is needed.

        Arguments: as in `ir`; `target`, a name like "sm_90a", by default this machine's GPU's.
        Result: text.
        Options: `lineinfo=True` adds the places of the source, through calls of helpers.
        Errors: TileValueError for an unknown target, TileUnsupportedFeatureError for what the target cannot do.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            assert "nvptx64" in double.llvm(ct.spec("f32[1024]"), target="sm_80")
            double.llvm(ct.spec("f32[1024]"), target="sm_10")  # TileValueError
        """
        return self.compiled(*args, target=target, lineinfo=lineinfo, **named).llvm_text

    @public
    def ptx(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> str:
        """The PTX for these arguments; no GPU is needed.

        Arguments: as in `llvm`.
        Result: text.
        Options: `lineinfo=True` adds the lines of the source (`.loc`), and changes nothing else.
        Errors: as those of `llvm`.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            ptx = double.ptx(ct.spec("f32[1024]"), target="sm_90a")
            assert ".target sm_90a" in ptx and ".loc" not in ptx
            assert ".loc" in double.ptx(ct.spec("f32[1024]"), target="sm_90a", lineinfo=True)
        """
        return self.compiled(*args, target=target, lineinfo=lineinfo, **named).ptx

    @public
    def cubin(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> bytes:
        """The machine code for these arguments.

        Arguments: as in `llvm`.
        Result: bytes, an ELF file: made by the driver for this machine's GPU, by ptxas for another target.
        Options: `lineinfo=True` adds the table of source lines that profilers and debuggers read.
        Errors: as those of `llvm`; TileUnsupportedFeatureError where ptxas is needed and not installed.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            if ct.gpu_available():
                assert double.cubin(ct.spec("f32[1024]")).startswith(b"\\x7fELF")
        """
        return self.lower(*args, target=target, lineinfo=lineinfo, **named).cubin()

    @public
    def sass(self, *args: Any, target: str | None = None, lines: bool = False, **named: Any) -> str:
        """The machine code as text.

        Arguments: as in `llvm`.
        Result: text, by nvdisasm or cuobjdump (`tilewright doctor` says whether there is one).
        Options: `lines=True` ends each instruction with its line of the source, `// kernel.py:12`; it needs nvdisasm.
        Errors: as those of `cubin`, and TileUnsupportedFeatureError without a disassembler.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            if ct.gpu_available():
                print(double.sass(ct.spec("f32[1024]")))
        """
        from tilewright.inspecting.sass import disassemble, with_lines

        stages = self.lower(*args, target=target, lineinfo=lines, **named)
        return with_lines(stages.cubin(), stages.compiled.ptx) if lines else disassemble(stages.cubin())

    @public
    def arg_specs(self, *args: Any, **named: Any) -> tuple[Any, ...]:
        """What the compiler is told of these arguments: a type, a constant, or a tuple of those for each.

        Arguments: as in `ir`.
        Result: a tuple with one entry per parameter.
        Errors: what a launch raises for the same arguments.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            print(len(double.arg_specs(np.zeros(1024, np.float32))))  # 1
        """
        return self.lower(*args, **named).specs

    @public
    def lower(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> Stages:
        """The kernel at every stage of its compilation, as objects: for tools and tests that look at more than text.

        Arguments: as in `llvm`.
        Options: `lineinfo`, as in `llvm`, for all stages.
        Result: an object that makes a stage when it is asked for. `tile_ir()` is the typed Tile IR function with the
            hints of the target, `tile_ir(passes=False)` as the frontend makes it; `machine_ir(observer)` the function
            after the backend's passes, of which `observer(name, function)` sees each; `lowered` has the LLVM IR
            (`llvm_text`), the `abi`, `threads`, `shared_bytes` and `cluster`; `compiled` also the `ptx` and `timings`.
            `arguments`, `values` (those that exist at run time), `specs`, `hints` and `target` say what it is made for.
        Errors: what a launch raises for the same arguments; for `target`, those of `llvm`, when a stage needs it.

        Example:
            @ct.tile_kernel(occupancy=2)
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            stages = double.lower(ct.spec("f32[1024]"), target="sm_90a")
            print(stages.target.name, stages.hints.occupancy)                # sm_90a 2
            print([op.opcode for op in stages.tile_ir().walk()][-2:])        # ['store', 'return']
            passes = []
            stages.machine_ir(lambda name, function: passes.append(name))
            assert "assign_layouts" in passes and stages.lowered.threads % 32 == 0
            double.lower()  # TypeError
        """
        from tilewright.inspecting.stages import Stages

        return Stages(self.specialiser, self.specialiser.call.complete(args, named), target, lineinfo)

    @public
    def compiled(self, *args: Any, target: str | None = None, lineinfo: bool = False, **named: Any) -> Compiled:
        """Everything that the compiler says of the kernel.

        Arguments: as in `llvm`.
        Options: `lineinfo`, as in `llvm`.
        Result: an object with `llvm_text`, `ptx`, `abi` (the parameters of the machine code), `threads` (per block),
            `shared_bytes`, `cluster` (CTAs that run each block) and `timings` (seconds by stage).
        Errors: as those of `llvm`.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 128) * 2.0)

            made = double.compiled(ct.spec("f32[1024]"), target="sm_80")
            print(made.threads % 32, made.shared_bytes)  # 0 0
        """
        return self.lower(*args, target=target, lineinfo=lineinfo, **named).compiled
