"""Endpoints in the one form they are kept in: every port once, together with all others that the same addresses serve.

Users may write an address into several subsets; what is published of them is packed anew, in a fixed order, so that
the same endpoints are always the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from nagaya.apiserver.meta.status import JsonObject

Entry = tuple[JsonObject, bool, JsonObject | None]
"""An address, whether it is ready, and one port of it; None for an address without ports."""


def packed(entries: Iterable[Entry]) -> list[JsonObject]:
    """The same as subsets. An address that is both ready and not ready for a port is not ready."""
    served: dict[bytes, dict[bytes, bool]] = {}
    for address, is_ready, port in entries:
        addresses = served.setdefault(_text(port), {})
        text = _text(address)
        addresses[text] = addresses.get(text, True) and is_ready
    groups: dict[frozenset[tuple[bytes, bool]], list[bytes]] = {}
    for port_text, addresses in sorted(served.items()):
        groups.setdefault(frozenset(addresses.items()), []).append(port_text)
    return [_subset(ports, dict(addresses)) for addresses, ports in groups.items()]


def _subset(ports: list[bytes], addresses: dict[bytes, bool]) -> JsonObject:
    loaded = [port for port in map(orjson.loads, ports) if port is not None]
    parts = {
        "addresses": _by_ip(text for text, is_ready in addresses.items() if is_ready),
        "notReadyAddresses": _by_ip(text for text, is_ready in addresses.items() if not is_ready),
        "ports": sorted(loaded, key=lambda port: (port.get("name") or "", port["port"], port["protocol"])),
    }
    return {name: part for name, part in parts.items() if part}


def _by_ip(texts: Iterable[bytes]) -> list[JsonObject]:
    addresses: list[JsonObject] = [orjson.loads(text) for text in sorted(texts)]
    return sorted(addresses, key=lambda each: each["ip"])


def _text(value: JsonObject | None) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def entries(subsets: Iterable[JsonObject]) -> Iterator[Entry]:
    """What subsets say, one by one."""
    for subset in subsets:
        for member, is_ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(member) or ():
                for port in subset.get("ports") or [None]:
                    yield address, is_ready, port
