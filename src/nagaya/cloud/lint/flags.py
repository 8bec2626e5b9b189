"""The options of a program, from the command line of a container or from kubeadm's extra arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from nagaya.cloud.lint.plain import Object, labels, mappings, text, texts

_SHELLS = ("sh", "bash", "ash", "dash")
_VARIABLE = re.compile(r"\$\(([A-Za-z0-9_.-]+)\)")


def of_container(container: Object) -> dict[str, str]:
    """The options of a container's program; the last of the same name counts. Variables of the container are put in."""
    values = {text(each.get("name")): text(each.get("value")) for each in mappings(container.get("env"))}
    return of_words(_VARIABLE.sub(lambda found: values.get(found[1]) or found[0], word) for word in words_of(container))


def words_of(container: Object) -> list[str]:
    """The command line of a container, with the script of a shell taken apart."""
    words = [*texts(container.get("command")), *texts(container.get("args"))]
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return words
    found = words[:1]
    for word in words[1:]:
        try:
            found += shlex.split(word, comments=True) if " " in word or "\n" in word else [word]
        except ValueError:  # an open quote: not a script that could be read
            found.append(word)
    return found


def of_words(words: Iterable[str]) -> dict[str, str]:
    """Options from words: `--name=value`, `--name value`, and `--name` alone, which is "true"."""
    found: dict[str, str] = {}
    waiting = ""
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            if waiting:
                found[waiting] = word
            waiting = ""
            continue
        name, equals, value = word.lstrip("-").partition("=")
        found[name] = value if equals else "true"
        waiting = "" if equals else name
    return found


def of_extra_arguments(value: object) -> dict[str, str]:
    """kubeadm's extra arguments: a mapping until v1beta3, a list of names and values since v1beta4."""
    if isinstance(value, Mapping):
        return labels(value)
    return {text(each.get("name")): text(each.get("value")) for each in mappings(value)}
