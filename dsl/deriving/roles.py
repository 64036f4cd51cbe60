"""Which parameters a gradient kernel has beside those of the kernel that it is of, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Roles:
    """The parameters of a gradient kernel by what they are for, in the order of its call: first all of the kernel's
    own, then one for the cotangent of each output, then one for the gradient of each array of `wrt`.

    Attributes: `arguments`, the kernel's own parameters; `outputs` and `wrt`, those among them that were named;
        `stored_once`, the outputs of which that is promised; `cotangents`, `out_grad` for an output `out`: read;
        `gradients`, `x_grad` for an array `x`: added to. Parameters with a default, None, come last, the `optional`
        ones: a launch allocates what it is not given. `workspace`, whether there is one; `deterministic`, whether there
        is `x_grad_parts` for each gradient, to whose part of each block is added where blocks share elements.
        `residuals`, the kernel's parameters that are given as it has left them; `overwrite`, those of `wrt` whose
        gradients are stored, not added. `by_tiles`, whether `blocks`, the kernel's grid, follows the gradients; the
        workspace is then for what the kernel's blocks compute.
    """

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    stored_once: tuple[str, ...] = ()
    workspace: bool = False
    deterministic: bool = False
    residuals: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    by_tiles: bool = False

    @property
    def cotangents(self) -> tuple[str, ...]:
        return tuple(f"{name}_grad" for name in self.outputs)

    @property
    def gradients(self) -> tuple[str, ...]:
        return tuple(f"{name}_grad" for name in self.wrt)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names without a default, in the order of the call."""
        return (*self.arguments, *self.cotangents, *self.gradients, *(("blocks",) if self.by_tiles else ()))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(f"{name}_parts" for name in self.gradients) if self.deterministic and not self.by_tiles else ()

    @property
    def optional(self) -> tuple[str, ...]:
        """The names that follow these, with the default None."""
        return (*(("workspace",) if self.workspace else ()), *self.parts)

    def of(self, name: str) -> str:
        """The parameter of the kernel that a cotangent or gradient belongs to."""
        return name.removesuffix("_parts").removesuffix("_grad")


def roles_of(
    kernel: str, arguments: tuple[str, ...], wrt: object, outputs: object, stored_once: object,
    workspace: object = False, deterministic: bool = False, residuals: object = (), overwrite: object = (),
    by_tiles: object = False,
) -> Roles:
    """The roles for these names. TypeError for what is no name or tuple of names, ValueError for names that are no
    parameters, or stand twice."""
    once, kept, stored = (() if given == () else _names(what, given) for what, given in (
        ("stored_once", stored_once), ("residuals", residuals), ("overwrite", overwrite)))
    for what, given in (("workspace", workspace), ("by_tiles", by_tiles)):
        if not isinstance(given, bool):
            raise TypeError(f"grad: {what} must be True or False, not {given!r}")
    roles = Roles(arguments, _names("outputs", outputs), _names("wrt", wrt), once, bool(workspace), deterministic, kept,
                  stored, bool(by_tiles))
    _check_listed(kernel, roles)
    _check_apart(kernel, roles)
    return roles


def _check_listed(kernel: str, roles: Roles) -> None:
    """Names are those of parameters, and stand once."""
    for what, names in (("wrt", roles.wrt), ("outputs", roles.outputs), ("residuals", roles.residuals)):
        for k, name in enumerate(names):
            if name not in roles.arguments:
                raise ValueError(f"grad: {what} names {name!r}, which is no parameter of kernel {kernel}; it has "
                                 f"{', '.join(roles.arguments)}")
            if name in names[:k]:
                raise ValueError(f"grad: {what} names {name!r} twice")
    for what, names, where, all_ in (("stored_once", roles.stored_once, "outputs", roles.outputs),
                                     ("overwrite", roles.overwrite, "wrt", roles.wrt)):
        other = next((name for name in names if name not in all_), None)
        if other is not None:
            raise ValueError(f"grad: {what} names {other!r}, which is not named in {where}")


def _check_apart(kernel: str, roles: Roles) -> None:
    """No name stands for two things."""
    both = [name for name in roles.wrt if name in roles.outputs]
    if both:
        raise ValueError(f"grad: {both[0]!r} is named in wrt and in outputs; an array that is read and overwritten has "
                         "no gradient, so let the kernel store into another one")
    taken = [name for name in (*roles.cotangents, *roles.gradients, *roles.parts) if name in roles.arguments]
    if taken:
        raise ValueError(f"grad: kernel {kernel} has a parameter {taken[0]!r} already, which would be the name of the "
                         f"array that belongs to {roles.of(taken[0])!r}; call it otherwise")
    for name, used in (("workspace", roles.workspace), ("blocks", roles.by_tiles)):
        if used and name in roles.arguments:
            raise ValueError(f"grad: kernel {kernel} has a parameter {name!r} already; call it otherwise")


def _names(what: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"grad: {what} must be the name of a parameter, or a tuple of names, not {given!r}")
    return tuple(names)
