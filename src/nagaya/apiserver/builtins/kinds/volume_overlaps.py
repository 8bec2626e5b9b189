"""Files of one volume that hide each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import WARNINGS


class _File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        shown = gostring.quote(self.path)
        return f"{shown} ({self.source})" if self.source else shown


def overlaps(volumes: Sequence[JsonObject]) -> Iterator[str]:
    """A warning for each pair of files where one would hide the other."""
    for volume in volumes:
        name = gostring.quote(volume.get("name") or "")
        for kind, title, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            if (body := volume.get(kind)) is not None:
                shown = f"{title} {gostring.quote(body.get(key) or '')}"
                yield from _told(name, shown, [_File(each.get("path") or "", "") for each in body.get("items") or ()])
        if (body := volume.get("downwardAPI")) is not None:
            yield from _told(
                name, "DownwardAPI", [_File(each.get("path") or "", "") for each in body.get("items") or ()]
            )
        if (body := volume.get("projected")) is not None:
            files: list[_File] = []
            for source in body.get("sources") or ():
                if not source:
                    yield f"volume {name} (Projected) has no sources provided"
                files += _files(source)
            yield from _told(name, "Projected", files)


def _files(source: JsonObject) -> list[_File]:
    for kind, title in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        body = source.get(kind)
        if body is not None and body.get("items"):
            shown = title if kind == "downwardAPI" else f"{title} {gostring.quote(body.get('name') or '')}"
            return [_File(item.get("path") or "", shown) for item in body["items"]]
    if (token := source.get("serviceAccountToken")) is not None:
        return [_File(token.get("path") or "", "ServiceAccountToken")]
    return []


def _told(name: str, what: str, files: Sequence[_File]) -> Iterator[str]:
    files = [_File(file.path.rstrip("/"), file.source) for file in files]
    for later, earlier in sorted(islice(_pairs([file.path for file in files]), WARNINGS)):
        yield f"volume {name} ({what}): overlapping paths: {files[later]} with {files[earlier]}"


def _pairs(paths: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The positions of every two paths of which one is the other or leads to it; the later one comes first."""
    above: list[tuple[str, int]] = []
    for folder, position in sorted((f"{path}/", position) for position, path in enumerate(paths) if path):
        # What lies below a path follows it at once in this order.
        while above and not folder.startswith(above[-1][0]):
            above.pop()
        yield from ((max(position, other), min(position, other)) for _, other in above)
        above.append((folder, position))
