"""Several names in one option of the command line: `--only core,addons`."""

from __future__ import annotations

from collections.abc import Callable, Collection

import click


def chosen(available: Collection[str]) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...]]:
    """What reads names of parts, separated by commas; all that there are if nothing is given."""

    def read(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
        if value is None:
            return tuple(available)
        wanted = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
        unknown = [name for name in wanted if name not in available]
        if unknown or not wanted:
            names = ", ".join(available)
            raise click.BadParameter(f"there is no part {', '.join(unknown) or value!r}. There are: {names}.")
        return wanted

    return read


def listed(_: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Names that are given several times, separated by commas, or both. An empty one is a mistake, not "all"."""
    names = [name.strip() for each in value for name in each.split(",")]
    if not all(names):
        raise click.BadParameter(f"a name is missing in {','.join(value)!r}.")
    return tuple(dict.fromkeys(names))
