"""Volumes that show several sources in one directory, where no two may claim the same file.

Bundles of trusted certificates and pod certificates are sources too, but switched off by default in this version: they
are dropped before validation and have no rules here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.volume_files import validate_file, validate_key, validate_mode
from nagaya.apiserver.builtins.kinds.volume_paths import validate_unreserved
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.meta.status import JsonObject

_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
_TWICE: Final = "conflicting duplicate paths"


def validate_projected(volume: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """The volume and all its sources."""
    yield from validate_mode(volume.get("defaultMode"), path.child("defaultMode"))
    files: set[str] = set()
    for position, source in enumerate(volume.get("sources") or ()):
        where = path.child("sources").index(position)
        for kind in ("secret", "configMap"):
            if (body := source.get(kind)) is not None:
                yield from _validate_keys(body, where.child(kind), path, files)
        if (body := source.get("downwardAPI")) is not None:
            yield from _validate_files(body, where.child("downwardAPI"), path, files)
        if (body := source.get("serviceAccountToken")) is not None:
            yield from _validate_token(body, where.child("serviceAccountToken"), path, rules)
        if len(source) > 1:
            yield forbidden(where, "may not specify more than 1 volume type per source")


def _validate_keys(source: JsonObject, path: Path, volume: Path, files: set[str]) -> Iterator[FieldError]:
    name = source.get("name") or ""
    if not name:
        yield required(path.child("name"))
    for position, item in enumerate(source.get("items") or ()):
        yield from validate_key(item, path.child("items").index(position))
        yield from _claim(item.get("path") or "", name, volume, files)


def _validate_files(source: JsonObject, path: Path, volume: Path, files: set[str]) -> Iterator[FieldError]:
    for item in source.get("items") or ():
        yield from validate_file(item, path)
        yield from _claim(item.get("path") or "", item.get("path") or "", volume, files)


def _claim(file: str, told: str, volume: Path, files: set[str]) -> Iterator[FieldError]:
    if file in files:
        yield invalid(volume, told, _TWICE)
    elif file:
        files.add(file)


def _validate_token(token: JsonObject, path: Path, volume: Path, rules: Rules) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds") or 0
    if seconds < _SHORTEST_TOKEN:
        yield invalid(path.child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid(path.child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
    file = token.get("path") or ""
    if not file:
        yield required(volume.child("path"))
    elif not rules.any_token_path:
        yield from validate_unreserved(file, volume.child("path"))
