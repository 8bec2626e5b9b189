"""Which forms of review a webhook says it reads: the same rules for admission and for conversion.

This server speaks `v1` and `v1beta1`; a webhook that reads neither could never be called, so such a configuration is
refused, unless it was there before the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required

_SPOKEN: Final = ("v1", "v1beta1")
MUST_NAME_ONE: Final = f"must specify one of {', '.join(_SPOKEN)}"


def is_known(versions: Sequence[str]) -> bool:
    """Whether one of the versions is spoken by this server, or none is named at all."""
    return not versions or any(each in _SPOKEN for each in versions)


def review_version_errors(
    versions: Sequence[str], path: Path, *, known: bool, when_missing: str = ""
) -> Iterator[FieldError]:
    """Findings about a list of versions. One that this server speaks has to be among them if `known` is set."""
    if not versions:
        yield required(path, when_missing)
        return
    seen: set[str] = set()
    for position, version in enumerate(versions):
        if version in seen:
            yield invalid(path.index(position), version, "duplicate version")
            continue
        seen.add(version)
        for problem in names.dns1035_label(version):
            yield invalid(path.index(position), version, problem)
    if known and not is_known(versions):
        yield invalid(path, list(versions), f"must include at least one of {', '.join(_SPOKEN)}")
