"""`grad`: the kernel that computes the gradients of a kernel."""

from __future__ import annotations

from tilewright.deriving.roles import Roles, roles_of
from tilewright.deriving.source import GradientSource
from tilewright.kernel import kernel_of, tile_kernel
from tilewright.tracebacks import public


class gradient_kernel(tile_kernel):
    """What `grad` gives: a kernel like any other, with `roles`, which says what its parameters are for."""

    roles: Roles


@public
def grad(
    kernel: tile_kernel, /, *, wrt: str | tuple[str, ...], outputs: str | tuple[str, ...],
    stored_once: str | tuple[str, ...] = (),
) -> gradient_kernel:
    """The kernel that carries cotangents from a kernel's outputs back to its inputs: reverse-mode differentiation.

    Arguments: `kernel`, which stores each element of its outputs once and reads none of them; `wrt`, the names of the
        arrays whose gradients are asked for; `outputs`, the names of those whose cotangents are given.
    Result: a kernel of the same grid and hints. It takes the kernel's arguments (of the outputs only the shapes count),
        then `out_grad` for each output `out`, then `x_grad` for each array `x` of `wrt`, to which it adds: give zeros
        for the gradient alone. These are float arrays of the same shapes, of any dtype. `roles` lists the names.
    Options: `stored_once`, the names of outputs each element of which the kernel stores once, where the indices do not
        show it (tiles in an order of the kernel's own): a promise.
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
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"grad: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    specialiser = kernel.specialiser
    names = tuple(p.name for p in specialiser.params)
    roles = roles_of(kernel.__name__, names, wrt, outputs, stored_once)
    made = kernel_of(GradientSource(specialiser.source, roles), kernel.hints, specialiser.rules, gradient_kernel)
    made.roles = roles
    return made
