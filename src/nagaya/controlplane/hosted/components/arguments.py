"""Command lines: fixed arguments, defaults, and the user's own, merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.argument_values import CIPHER_SUITES
from nagaya.api.controlplane.hosted_arguments import ALLOWED, refused

TLS: Final[Mapping[str, str]] = {"tls-cipher-suites": ",".join(CIPHER_SUITES), "tls-min-version": "VersionTLS12"}
"""Defaults of all servers."""


def merged(
    program: str, fixed: Mapping[str, str], defaults: Mapping[str, str], given: Sequence[Argument]
) -> tuple[str, ...]:
    """The arguments of a program, by name. One that the user gives replaces the default of that name.

    Only arguments that admission accepts reach the command line, whether or not admission has seen them.
    """
    exposed = fixed.keys() & ALLOWED[program].keys()
    if exposed:
        raise AssertionError(f"{program}: {sorted(exposed)} are fixed, but users may give them")
    left_out = {each.index for each in refused(program, [(each.name, each.value) for each in given])}
    own = {each.name: each.value for index, each in enumerate(given) if index not in left_out}
    # By name, so that a change reads well where command lines are compared.
    return tuple(f"--{name}={value}" for name, value in sorted({**defaults, **own, **fixed}.items()))


def values(arguments: Sequence[str], name: str) -> Iterator[str]:
    """What an argument is set to, as often as it is given."""
    prefix = f"--{name}="
    return (each.removeprefix(prefix) for each in arguments if each.startswith(prefix))
