"""Which form the client sends and which it wants back.

JSON and YAML are sent; protobuf is read but never sent, so an Accept header that allows nothing else is refused. The
transforms (`as=Table`, `as=PartialObjectMetadata`) ride on the media type, as in
`application/json;as=Table;v=v1;g=meta.k8s.io`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.web.request import Request

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

# What the real server lists in its refusals. It can send protobuf; the list is what it reads.
BUILTIN_TYPES: Final = (JSON, YAML, PROTOBUF)
CUSTOM_TYPES: Final = (JSON, YAML)
STREAM_TYPES: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

_TRANSFORMS: Final = {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}


_LONGEST: Final = 2048  # characters of an Accept header; clients send a tenth. What is read of it is remembered.
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form of the answer: media type, and the transform if the client asks for one."""

    media_type: str = JSON
    transform: str = ""  # Table, PartialObjectMetadata or PartialObjectMetadataList
    transform_version: str = "v1"
    pretty: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    main: str
    sub: str
    quality: float
    parameters: tuple[tuple[str, str], ...]


@lru_cache(maxsize=_REMEMBERED)
def _clauses(header: str) -> tuple[_Clause, ...]:
    """An Accept header's alternatives, best first; equal ones keep their order, wildcards come after exact types."""
    found = []
    for text in header.split(","):
        pieces = [piece.strip() for piece in text.split(";")]
        main, _, sub = pieces[0].partition("/")
        if pieces[0] == "*":
            main = sub = "*"
        elif not main or not sub:
            continue
        quality, parameters = 1.0, []
        for piece in pieces[1:]:
            name, _, value = piece.partition("=")
            if name == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
            else:
                parameters.append((name.strip(), value.strip()))
        found.append(_Clause(main, sub, quality, tuple(parameters)))
    order = sorted(range(len(found)), key=lambda i: (-found[i].quality, found[i].main == "*", found[i].sub == "*", i))
    return tuple(found[i] for i in order)


@lru_cache(maxsize=_REMEMBERED)
def _choose(header: str, transforms: bool, tables: bool) -> Wanted | None:
    """The best form for an Accept header, or None if there is none that can be served."""
    for clause in _clauses(header):
        for media_type in (JSON, YAML):
            main, _, sub = media_type.partition("/")
            if not (clause.main in (main, "*") and clause.sub in (sub, "*")):
                continue
            wanted = _accept(dict(clause.parameters), media_type, transforms, tables)
            if wanted is not None:
                return wanted
    return None


def _accept(parameters: dict[str, str], media_type: str, transforms: bool, tables: bool) -> Wanted | None:
    if parameters.get("sv"):
        return None
    if parameters.get("stream", "watch") not in ("", "watch"):
        return None
    pretty = parameters.get("pretty") == "1"
    if not any(name in parameters for name in ("as", "g", "v")):
        return Wanted(media_type, pretty=pretty)
    kind, group, version = (parameters.get(name, "") for name in ("as", "g", "v"))
    if not transforms or group != "meta.k8s.io" or kind not in _TRANSFORMS:
        return None
    if version not in ("v1", "v1beta1") or (kind == "Table" and not tables):
        return None
    return Wanted(media_type, kind, version, pretty)


def check_listed(request: Request, types: tuple[str, ...]) -> None:
    """Refuse a client that names none of the media types that a path has. Raises 406.

    The real server asks this first wherever a path is its own. It takes names literally: of all wildcards it only knows
    `*/*`.
    """
    accept = _accepted(request)
    if accept and not _names_one(accept, types):
        raise status.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}")


@lru_cache(maxsize=_REMEMBERED)
def _names_one(header: str, types: tuple[str, ...]) -> bool:
    named = {clause.partition(";")[0].strip() for clause in header.split(",")}
    return "*/*" in named or not named.isdisjoint(types)


def output(request: Request, *, transforms: bool = True, tables: bool = True) -> Wanted:
    """The form to answer in. Raises 406 when the client accepts nothing that can be sent."""
    accept, pretty, user_agent = _accepted(request), request.peek("pretty"), request.user_agent
    wanted = Wanted() if not accept else _choose(accept, transforms, tables)
    if wanted is None:
        message = f"only the following media types are accepted: {', '.join(BUILTIN_TYPES)}"
        raise status.ApiError(406, "NotAcceptable", message)
    if pretty:
        is_pretty = pretty.lower() in ("1", "t", "true")
    else:
        is_pretty = wanted.pretty or user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))
    if is_pretty != wanted.pretty:
        wanted = Wanted(wanted.media_type, wanted.transform, wanted.transform_version, is_pretty)
    return wanted


def _accepted(request: Request) -> str:
    accept = request.headers.get("accept", "")
    if len(accept) > _LONGEST:
        raise status.ApiError(406, "NotAcceptable", f"the Accept header is longer than {_LONGEST} characters")
    return accept


def media_type_of(content_type: str) -> str:
    """The media type in a Content-Type header, lower case, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def input_type(content_type: str, types: tuple[str, ...]) -> str:
    """The form of the body. Raises 415 for one that cannot be read; no header means JSON."""
    if not content_type:
        return JSON
    found = media_type_of(content_type)
    if found in types:
        return found
    raise unsupported(types)


def unsupported(types: tuple[str, ...]) -> status.ApiError:
    """The refusal of a Content-Type header."""
    return status.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
    )
