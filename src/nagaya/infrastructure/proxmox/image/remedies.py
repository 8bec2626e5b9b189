"""What to do about an image that could not be made, in the words of whoever has to do it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from nagaya.infrastructure.proxmox.client.errors import (
    Forbidden,
    NotFound,
    ParameterError,
    ProxmoxError,
    TaskFailed,
)
from nagaya.infrastructure.proxmox.image.image import Image

Remedy = Callable[[Image, str], str]


def _another_build(image: Image, _: str) -> str:
    return (
        "What was downloaded is not what was expected: a newer build came out meanwhile, or somebody changed it on the "
        "way. Run this again without --checksum to take what the distribution publishes now, or compare the checksum "
        f"with its list. Expected: {image.checksum}."
    )


def _stranger(image: Image, host: str) -> str:
    return (
        f"A file {image.file} with another content lies there already. If nobody needs that, remove it "
        f"(`pvesm free <storage>:import/{image.file}` on {host}), and run this again."
    )


_RULES: Final[tuple[tuple[re.Pattern[str], Remedy], ...]] = (
    (re.compile(r"checksum mismatch: .*aborting"), _stranger),
    (re.compile(r"checksum mismatch: got"), _another_build),
    (
        re.compile(r"failed to verify file|Image is not in \w+ format"),
        lambda image, _: f"The file is no {image.format} image: give its format with --format, or check the address.",
    ),
    (
        re.compile(
            r"No space left|not enough (?:free )?space|free space|out of space|insufficient free|Cannot write to"
        ),
        lambda _, host: (
            f"A storage of {host} is full: make room, or choose others with --storage and --import-storage."
        ),
    ),
    (
        re.compile(r"unable to resolve host|Name or service not known|Connection refused|timed out|exit code 4\b"),
        lambda image, host: (
            f"{host} does not reach the server of {image.shown_url}: check its name servers and way to "
            "the web (http_proxy in the data center's options), or give the --url of a mirror that it reaches."
        ),
    ),
    (
        re.compile(r"exit code 8\b|ERROR 40[34]"),
        lambda image, _: f"The server does not give {image.shown_url} out: check the address.",
    ),
    (
        re.compile(r"exit code 5\b|certificate"),
        lambda image, _: (
            f"The certificate of the server of {image.shown_url} is not trusted by the host: have it "
            "trusted there, or give --no-verify-certificate (the checksum is checked all the same)."
        ),
    ),
)
_KILLED: Final = "unexpected status"
_TAG: Final = re.compile(r"Sys\.Modify for modifying tag '([^']+)'")


def remedy(error: ProxmoxError, image: Image, host: str) -> str:
    """What to do about an error; empty if nothing better is known than what the error says itself."""
    text = error.why if not isinstance(error, TaskFailed) else " ".join((error.exitstatus, *error.evidence.log))
    if (tag := _TAG.search(str(error))) is not None:
        return (
            f"The data center lets users set only some tags: add {tag[1]} to user-tag-access in its options, or have "
            "the credentials get Sys.Modify on /."
        )
    if isinstance(error, TaskFailed) and error.exitstatus == _KILLED:
        return (
            f"Its worker on {host} was killed. If it left a machine that is locked (`qm config <vmid>` shows `lock: "
            "create` and the name of the template), remove that there: `qm unlock <vmid>; qm destroy <vmid>`. Then run "
            "this again."
        )
    if isinstance(error, NotFound) and error.what == "pool":
        return "Make the pool (`pveum pool add <name>` on any host), or give another --pool."
    for pattern, say in _RULES:
        if pattern.search(text):
            return say(image, host)
    if isinstance(error, ParameterError) and "import" in text:
        return "This version of Proxmox VE may not take disk images for import yet: 8.4 does."
    return ""


def sentence(error: ProxmoxError, image: Image, host: str) -> str:
    """What happened on a host, with the evidence, and what to do."""
    said = str(error)
    more = remedy(error, image, host)
    if more and isinstance(error, TaskFailed | Forbidden) and error.remedy:
        said = said.removesuffix(f" {error.remedy}")
    return f"{said} {more}" if more else said
