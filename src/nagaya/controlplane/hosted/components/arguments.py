"""Command lines: fixed arguments, defaults, and the user's own, merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import MANAGED, refused


def merged(
    program: str, fixed: Mapping[str, str], defaults: Mapping[str, str], given: Sequence[Argument]
) -> tuple[str, ...]:
    """The arguments of a program, by name. One that the user gives replaces the default of that name; one that is not
    the user's to give is passed over, because admission may have been switched off when it was written."""
    strays = fixed.keys() - MANAGED[program].keys()
    if strays:
        raise AssertionError(f"{program}: {sorted(strays)} are fixed, but admission lets users give them")
    passed_over = {index for index, _ in refused(program, (each.name for each in given))}
    own = [_plain(each) for index, each in enumerate(given) if index not in passed_over]
    named = {name for name, _ in own}
    chosen = [
        *fixed.items(),
        *((name, value) for name, value in defaults.items() if name not in named and name not in fixed),
        *own,
    ]
    # By name, so that a change reads well where command lines are compared. Equal names keep the user's order.
    return tuple(f"--{name}={value}" for name, value in sorted(chosen, key=lambda each: each[0]))


def values(arguments: Sequence[str], name: str) -> Iterator[str]:
    """What an argument is set to, as often as it is given."""
    prefix = f"--{name}="
    return (each.removeprefix(prefix) for each in arguments if each.startswith(prefix))


def _plain(argument: Argument) -> tuple[str, str]:
    return argument.name.lstrip("-").replace("_", "-"), argument.value
