"""`grad`: the kernel that computes the gradients of a kernel."""

from __future__ import annotations

from typing import Any, Self

from tilewright.deriving.custom import backward_of
from tilewright.deriving.from_ir import kernel_from_ir
from tilewright.deriving.launching import GradientLauncher
from tilewright.deriving.roles import Roles, roles_of
from tilewright.deriving.source import GradientSource
from tilewright.inspecting.stages import DERIVING, Stages
from tilewright.kernel import kernel_of, tile_kernel
from tilewright.options import LaunchRules
from tilewright.tracebacks import public


class gradient_kernel(tile_kernel):
    """What `grad` gives: a kernel like any other, with `roles`, which says what its parameters are for."""

    roles: Roles

    def replace_hints(self, **options: Any) -> Self:
        hinted = super().replace_hints(**options)
        hinted.launcher = GradientLauncher(hinted.specialiser)
        return hinted


@public
def grad(
    kernel: tile_kernel | Stages, /, *, wrt: str | tuple[str, ...], outputs: str | tuple[str, ...],
    stored_once: str | tuple[str, ...] = (), workspace: bool = False, residuals: str | tuple[str, ...] = (),
    overwrite: str | tuple[str, ...] = (), by_tiles: bool = False,
) -> gradient_kernel:
    """The kernel that carries cotangents from a kernel's outputs back to its inputs: reverse-mode differentiation.

    Arguments: `kernel`, which stores each element of its outputs once and reads none of them, or a specialisation of
        one, `kernel.lower(...)`, whose constants are gone from the parameters; `wrt`, the names of the arrays whose
        gradients are asked for; `outputs`, the names of those whose cotangents are given.
    Result: a kernel of the same grid and hints. It takes the kernel's arguments (of the outputs only the shapes count),
        then `out_grad` for each output `out`, then `x_grad` for each array `x` of `wrt`, to which it adds: give zeros
        for the gradient alone. These are float arrays of the same shapes, of any dtype. `roles` lists the names. The
        kernel of a deterministic one adds in an order of its own: partial gradients, which a launch allocates. Where
        `kernel.defvjp` has named a backward for these names, the result is that kernel.
    Options: `stored_once`, the names of outputs each element of which the kernel stores once, where the indices do not
        show it (tiles in an order of the kernel's own): a promise. `workspace=True` keeps what loops carry in memory
        where it is cheaper than to compute it again: the last parameter, `workspace=None`, is an array of int32 or
        int64 with the axes (block, slot, word), which a launch allocates if it is not given. `residuals`, names of
        arrays that the kernel stores and that are given to the gradient as it has left them: what is dear to compute
        again is read there, and a loop with a running maximum begins with that or with the logarithm of the sum.
        `overwrite`, names of `wrt` whose gradients are stored and not added, each element at most once.
        `by_tiles=True` computes one tile of each gradient of `wrt` in a block: the grid is that of the gradients'
        tiles, axis by axis where the kernel's loads vary, and the parameter after the gradients, `blocks`, is the grid
        of the kernel. With `workspace=True` what each block of the kernel computes by loops, products and reductions
        before it comes to these tiles is kept there, in one slot, by a kernel that launches run first.
    Errors: TypeError and ValueError for names that do not fit; when the kernel is specialised,
        TileUnsupportedFeatureError at the line of what has no derivative.

    Example:
        @ct.tile_kernel
        def square(x, out):
            i = ct.bid(0)
            t = ct.load(x, i, 4)
            ct.store(out, i, t * t)

        x, out = np.arange(8.0), np.zeros(8)
        x_grad = np.zeros(8)
        backward = ct.grad(square, wrt="x", outputs="out")
        backward[(2,)](x, out, np.ones(8), x_grad)
        print(x_grad)  # [ 0.  2.  4.  6.  8. 10. 12. 14.]
        print(backward.roles.parameters)  # ('x', 'out', 'out_grad', 'x_grad')
        ct.grad(square, wrt="y", outputs="out")  # ValueError
    """
    if isinstance(kernel, Stages):
        kernel = kernel_from_ir(kernel.tile_ir(), deterministic=kernel.deterministic)
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"grad: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    specialiser = kernel.specialiser
    names = tuple(p.name for p in specialiser.params)
    roles = roles_of(kernel.__name__, names, wrt, outputs, stored_once, workspace, specialiser.rules.deterministic,
                     residuals, overwrite, by_tiles)
    own = backward_of(kernel, roles)
    if own is not None:
        rules = own.specialiser.rules
        made = kernel_of(own.specialiser.source, own.hints, rules, gradient_kernel)
        made.roles = Roles(roles.arguments, roles.outputs, roles.wrt)
        return made
    rules = LaunchRules(deterministic=specialiser.rules.deterministic) if by_tiles else specialiser.rules
    made = kernel_of(GradientSource(specialiser.source, roles), kernel.hints, rules, gradient_kernel)
    made.roles = roles
    made.launcher = GradientLauncher(made.specialiser)
    return made


DERIVING.append(grad)
