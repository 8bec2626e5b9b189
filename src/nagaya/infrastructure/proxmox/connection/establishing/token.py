"""Which token a connection uses from now on: the one that it has, or a new one.

PVE tells the secret of a token once. So whoever has lost it needs a new token, and which one it will be is written down
in the management API before it is made: a run that is interrupted in between finds the name there, knows that nobody
can be using it, and makes it anew. An old token goes when the new one is in its place, and only if it is one of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.client.access import KnownToken
from nagaya.infrastructure.proxmox.privileges.setup import COMMENT, TOKEN_NAME
from nagaya.world import World

_LETTERS: Final = "bcdfghjkmnpqrstvwxz23456789"
_LENGTH: Final = 5


@dataclass(frozen=True, slots=True)
class Held:
    """What the management API knows of the tokens of a connection. Ids are user@realm!name."""

    token: str = ""
    works: bool = False
    """Whether Proxmox VE takes it with the secret that is stored."""
    making: str = ""
    """One that was about to be made."""
    leaving: tuple[str, ...] = ()
    """Those that were about to be removed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about tokens. All names are of tokens of one user."""

    name: str
    """Of the token that is used."""
    new: bool
    sentence: str
    unusable: str = ""
    """One that is in the way: its secret is lost, and nobody can have it."""
    leaving: tuple[str, ...] = ()
    """Those that are removed at the end."""
    notes: tuple[str, ...] = ()


def decide(user: str, held: Held, known: Mapping[str, KnownToken], world: World, *, rotate: bool = False) -> Decision:
    """What to do, for tokens of `user`, of whom PVE knows these."""
    notes: list[str] = []
    name, made = _own(user, held.token), _own(user, held.making)
    old = tuple(filter(None, (_own(user, each) for each in held.leaving)))
    if held.token and not name:
        notes.append(f"The token {held.token}, which the Secret has now, stays: it is not of {user}.")
    usable = bool(name) and held.works and name in known and not made
    if usable and (not rotate or old):
        sentence = f"keep the token {user}!{name}: it works"
        if rotate:
            sentence = f"keep the token {user}!{name}, which a rotation that was interrupted has put in place already"
        leaving = _removable(user, (each for each in old if each != name), known, notes)
        return Decision(name, False, sentence, leaving=leaving, notes=tuple(notes))
    fresh = made or _fresh(known, world)
    sentence = f"make the token {user}!{fresh}, which has rights of its own only"
    if name:
        sentence += f", in place of {user}!{name}" + ("" if held.works else ", which Proxmox VE does not take any more")
    leaving = _removable(user, (each for each in dict.fromkeys((name, *old)) if each != fresh), known, notes)
    return Decision(fresh, True, sentence, made if made in known else "", leaving, tuple(notes))


def comment_for(connection: str) -> str:
    """What a token says of itself."""
    return f"{COMMENT} for {connection}" if connection else COMMENT


def _own(user: str, id: str) -> str:
    owner, _, name = id.partition("!")
    return name if owner == user else ""


def _removable(user: str, names: Iterable[str], known: Mapping[str, KnownToken], notes: list[str]) -> tuple[str, ...]:
    found = []
    for name in names:
        if name not in known:
            continue
        if known[name].comment.startswith(COMMENT):
            found.append(name)
        else:
            notes.append(f"The token {user}!{name} stays: it was not made by Nagaya.")
    return tuple(found)


def _fresh(known: Mapping[str, KnownToken], world: World) -> str:
    while True:
        name = f"{TOKEN_NAME}-{''.join(world.random.choice(_LETTERS) for _ in range(_LENGTH))}"
        if name not in known:
            return name
