"""How single fields are translated, and how refusals name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.bootstrap.refusal import Refused

FIELD: Final = "spec.ignition.containerLinuxConfig.additionalConfig"
_MAXIMUM_MODE: Final = 0o7777
_INTEGER: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[1-9][0-9_]*|0)")
_OLD_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
_BOOLEANS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "y": True,
    "false": False,
    "no": False,
    "off": False,
    "n": False,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the config we are."""

    path: str
    strict: bool

    def at(self, name: str) -> Place:
        """A field of what is here."""
        return Place(f"{self.path}.{name}" if self.path else name, self.strict)

    def item(self, index: int) -> Place:
        """An item of the list that is here."""
        return Place(f"{self.path}[{index}]", self.strict)

    def refusal(self, why: str, remedy: str) -> Refused:
        """What to raise about it."""
        return Refused(f"{FIELD}: {self.path}" if self.path else FIELD, why, remedy)

    def warn(self, why: str, remedy: str) -> None:
        """Refuse it if warnings count."""
        if self.strict:
            raise self.refusal(why, remedy)


Translator = Callable[[Any, Place], Any]
Table = Mapping[str, Translator]


def translate(value: Any, place: Place, table: Table) -> dict[str, Any]:
    """A mapping with the translated names and values of a table. What is null is left out."""
    if not isinstance(value, Mapping):
        raise place.refusal("it is no mapping", "Write its fields below it, indented")
    found: dict[str, Any] = {}
    for name, each in value.items():
        translator = table.get(name)
        if translator is None:
            place.at(str(name)).warn("there is no such field", "Remove it, or unset strict to have it passed over")
        elif each is not None:
            found[_camel(name)] = translator(each, place.at(name))
    return found


def mapping(table: Table) -> Translator:
    """A field that is a mapping of its own."""
    return lambda value, place: translate(value, place, table)


def every(translator: Translator) -> Translator:
    """A field that is a list."""

    def translated(value: Any, place: Place) -> list[Any]:
        if not isinstance(value, list):
            raise place.refusal("it is no list", "Write its items below it, each behind a dash")
        return [translator(each, place.item(index)) for index, each in enumerate(value)]

    return translated


def text(value: Any, place: Place) -> str:
    """A text. The reader leaves all that stands in one place as text, so `off` and 5 are such, as in Go."""
    if not isinstance(value, str):
        raise place.refusal("it is no text", "Write it in one line, or as a block behind |")
    return value


def integer(value: Any, place: Place) -> int:
    """A whole number, in any of the ways that Go reads: 0644 and 0o644 are octal."""
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise place.refusal("it is no whole number", "Give one")
    digits = value.replace("_", "").lower()
    return int(digits, 8) if _OLD_OCTAL.fullmatch(digits) else int(digits, 0)


def boolean(value: Any, place: Place) -> bool:
    """True or false."""
    found = _BOOLEANS.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise place.refusal("it is neither true nor false", "Give one of them")
    return found


def mode(value: Any, place: Place) -> int:
    """Permissions of a file."""
    found = integer(value, place)
    if not 0 <= found <= _MAXIMUM_MODE:
        raise place.refusal("it is no mode of a file", "Give one such as 0644, with the leading zero")
    return found


def one_of(*words: str) -> Translator:
    """A text out of a few."""

    def translated(value: Any, place: Place) -> str:
        found = text(value, place)
        if found not in words:
            raise place.refusal("it is not known", f"Use one of {', '.join(words)}")
        return found

    return translated


def ending(*suffixes: str) -> Translator:
    """The name of a unit or drop-in, which says by its end what it is."""

    def translated(value: Any, place: Place) -> str:
        found = text(value, place)
        if not found.endswith(suffixes):
            raise place.refusal("its end does not say what it is", f"Let it end in one of {', '.join(suffixes)}")
        return found

    return translated


def absolute(value: Any, place: Place) -> str:
    """A path from the root."""
    found = text(value, place)
    if not found.startswith("/"):
        raise place.refusal("it is not absolute", "Give a path that starts with a slash")
    return found


def url(value: Any, place: Place) -> str:
    """Where Ignition fetches something."""
    found = text(value, place)
    if not found.startswith(("http://", "https://", "oem:", "tftp://", "s3://", "data:")):
        raise place.refusal("Ignition cannot fetch from there", "Use http, https, tftp, s3, oem or data")
    return found


def unsupported(why: str, remedy: str) -> Translator:
    """A field that is known and cannot be translated."""

    def refuse(value: Any, place: Place) -> Any:
        raise place.refusal(why, remedy)

    return refuse


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


texts: Final = every(text)
