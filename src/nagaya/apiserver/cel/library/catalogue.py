"""All functions by name, as Kubernetes 1.36 enables them for new expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from nagaya.apiserver.cel.declarations import Function
from nagaya.apiserver.cel.library import (
    authorization,
    format_string,
    lists,
    named_formats,
    network,
    optionals,
    quantities,
    regex,
    semver,
    standard,
    strings,
    urls,
)


def merged(functions: Iterable[Function]) -> Mapping[str, Function]:
    """Functions by name; those of the same name become one with all their signatures."""
    found: dict[str, Function] = {}
    for each in functions:
        known = found.get(each.name)
        if known is None:
            found[each.name] = each
            continue
        assert (known.lenient, known.charged) == (each.lenient, each.charged), each.name
        found[each.name] = Function(each.name, known.overloads + each.overloads, each.lenient, each.charged)
    return found


FUNCTIONS: Final = merged(
    (
        *standard.FUNCTIONS,
        *optionals.FUNCTIONS,
        *urls.FUNCTIONS,
        *regex.FUNCTIONS,
        *lists.FUNCTIONS,
        *strings.FUNCTIONS,
        *format_string.FUNCTIONS,
        *quantities.FUNCTIONS,
        *network.FUNCTIONS,
        *named_formats.FUNCTIONS,
        *semver.FUNCTIONS,
        *authorization.FUNCTIONS,
    )
)
