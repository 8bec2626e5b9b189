"""PVE's program `pveum`, as far as Nagaya prints commands of it: each line becomes the calls that the program makes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.calls import path_of
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError


async def run(root: Proxmox, text: str) -> list[object]:
    """Run a line as a shell would: `;` goes on whatever happened, `||` only after a failure. Returns the answers."""
    said: list[object] = []
    for part in text.split("; "):
        alternatives = part.split(" || ")
        for number, command in enumerate(alternatives, 1):
            try:
                said.append(await _command(root, shlex.split(command)))
                break
            except ProxmoxError:
                if number == len(alternatives):
                    raise
    return said


async def run_all(root: Proxmox, lines: Iterable[str]) -> list[object]:
    """Run lines one after the other; comments are left out."""
    return [said for line in lines if not line.startswith("#") for said in await run(root, line)]


async def _command(root: Proxmox, words: list[str]) -> object:
    program, *rest = words
    assert program == "pveum", words
    named: list[str] = []
    options: dict[str, str] = {}
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            options[word.removeprefix("--")] = rest.pop(0)
        else:
            named.append(word)
    match named:
        case ["role", "add", role]:
            return await root.calls.post("/access/roles", {"roleid": role, **options})
        case ["role", "modify", role]:
            return await root.calls.put(path_of("access", "roles", role), options)
        case ["acl", "modify", path]:
            return await root.calls.put("/access/acl", {"path": path, **options})
        case ["user", "add", user]:
            return await root.calls.post("/access/users", {"userid": user, **options})
        case ["user", "modify", user]:
            return await root.calls.put(path_of("access", "users", user), options)
        case ["user", "token", "add", user, token]:
            return await root.calls.post(path_of("access", "users", user, "token", token), options)
        case ["user", "token", "remove", user, token]:
            return await root.calls.delete(path_of("access", "users", user, "token", token))
        case ["pool", "add", pool]:
            return await root.calls.post("/pools", {"poolid": pool, **options})
    raise AssertionError(f"pveum has no such command: {words}")
