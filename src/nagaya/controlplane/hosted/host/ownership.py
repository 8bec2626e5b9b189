"""Whose a folder is: a record in it, which is compared before anything of the folder is touched.

Folders of tenants and of stores are named by an identity that outlives the object: after a move the object at the other
management API has a uid of its own and says in its specification which identity it goes on with. Anybody can write
anything there. So what always holds:

- only an object whose own uid is the identity begins something new; who goes on with something finds the record of it;
- the record has the namespace and the name of its owner, which a move does not change: who is called otherwise gets
  nothing, whatever is written in its specification;
- it has the uid, too: the object that something was moved away from does not get it back by being there again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

import msgspec

from nagaya.api.meta import ObjectMeta
from nagaya.pki.files import write_atomically

RECORD: Final = "owner.json"


class Owner(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who has a folder."""

    name: str
    uid: str
    namespace: str = ""
    """Empty if its kind has none."""
    paused: bool = False
    """Whether it was paused when it was last looked at: if it is gone since then, it was moved."""

    @classmethod
    def of(cls, metadata: ObjectMeta, *, paused: bool = False) -> Owner:
        """The record of an object."""
        return cls(metadata.name, metadata.uid, metadata.namespace, paused)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Standing(Enum):
    """How an object stands to a folder."""

    OWN = auto()
    """It is its own."""
    NEW = auto()
    """There is none yet, and it may begin one."""
    HANDED_OVER = auto()
    """It came by a move, and the record still has the uid from before."""
    ELSEWHERE = auto()
    """It came by a move, and what it goes on with is not here."""
    FOREIGN = auto()
    """It belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class Claim:
    """How an object stands to the folder of its identity, and what is to be said of that."""

    standing: Standing
    recorded: bool = False
    """Whether the record says exactly this."""
    why: str = ""
    """Why it gets nothing, if it does not."""

    @property
    def refused(self) -> bool:
        """Whether nothing of the folder may be touched."""
        return self.standing in (Standing.ELSEWHERE, Standing.FOREIGN)


def claim(metadata: ObjectMeta, identity: str, record: Owner | None) -> Claim:
    """How an object stands to what is known by an identity. Pure."""
    wanted = Owner.of(metadata)
    began_here = identity == metadata.uid
    if record is None:
        if began_here:
            return Claim(Standing.NEW)
        return Claim(Standing.ELSEWHERE)
    if record.uid == wanted.uid:
        return Claim(Standing.OWN, recorded=record == wanted)
    if (record.namespace, record.name) != (wanted.namespace, wanted.name):
        return Claim(Standing.FOREIGN, why=f"{identity} belongs to {record}.")
    if began_here:
        return Claim(Standing.FOREIGN, why=f"{identity} was moved to another management API, which has taken it over.")
    return Claim(Standing.HANDED_OVER)


def read(folder: Path) -> Owner | None:
    """The record of a folder; None if there is none. Raises ValueError, which names the file, if it makes no sense."""
    path = folder / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=Owner)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise ValueError(
            f"{path} cannot be read ({error}): nobody can say whose the folder is. Put it right from a backup."
        ) from error


def write(folder: Path, owner: Owner) -> None:
    """Have a record. Makes the folder, closed to others, if there is none."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / RECORD, msgspec.json.encode(owner))
