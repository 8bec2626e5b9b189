"""An administrator logs in: with a password, and a second factor where there is one.

What comes back is a ticket, which PVE takes in place of the password for two hours: the password itself is needed once,
and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.client import Endpoint, Password, Trust
from nagaya.infrastructure.proxmox.client.calls import TIMEOUT
from nagaya.infrastructure.proxmox.client.decoding import decoded
from nagaya.infrastructure.proxmox.client.errors import (
    Evidence,
    HostUnreachable,
    Malformed,
    ProxmoxError,
    Unauthorized,
)
from nagaya.infrastructure.proxmox.client.transport import FORM, ROOT, NoAnswer, Request, Transport

PATH: Final = "/access/ticket"
_CHALLENGE: Final = "!tfa!"
_ANSWERABLE: Final = ("totp", "recovery")
"""The second factors that can be typed. The others need a browser and something to touch."""

_FOREIGN: Final = frozenset({403, 404, 405, 501})
"""What PVE never answers to somebody who logs in."""

Ask = Callable[[str], Awaitable[str]]
"""Asks for a code of the kind that is named: totp or recovery."""


class SecondFactor(Exception):
    """The second factor of a user cannot be given here. The text is a sentence with the remedy."""


async def login(
    transport: Transport, endpoint: Endpoint, trust: Trust, user: str, password: str, ask: Ask | None = None
) -> Password:
    """Credentials for what follows. Raises ProxmoxError, and SecondFactor if there is one that `ask` cannot get."""
    told = await _ticket(transport, endpoint, trust, {"username": user, "password": password})
    ticket = str(told.get("ticket") or "")
    if not _needs_more(told):
        return Password(user, ticket)
    kinds = _kinds(ticket)
    kind = next((each for each in _ANSWERABLE if each in kinds), "")
    if not kind:
        raise SecondFactor(
            f"{user} has a second factor that can only be given in a browser ({', '.join(kinds) or 'of a kind unknown'}"
            "): log in as another administrator, or run what --print-commands prints on a host, and give the token "
            "with --token."
        )
    if ask is None:
        raise SecondFactor(
            f"{user} has a second factor ({kind}), and there is no terminal to ask for it: run this in a terminal, or "
            "run what --print-commands prints on a host, and give the token with --token."
        )
    code = (await ask(kind)).strip()
    told = await _ticket(
        transport, endpoint, trust, {"username": user, "tfa-challenge": ticket, "password": f"{kind}:{code}"}
    )
    if _needs_more(told):
        raise SecondFactor(f"Proxmox VE asks {user} for a further factor: give a token with --token.")
    return Password(user, str(told["ticket"]))


async def _ticket(transport: Transport, endpoint: Endpoint, trust: Trust, given: Mapping[str, str]) -> dict[str, Any]:
    asked = Evidence("POST", PATH, endpoint.host)
    request = Request(
        "POST",
        ROOT + PATH,
        headers={"content-type": FORM},
        body=urlencode(given, quote_via=quote).encode(),
        timeout=TIMEOUT,
    )
    try:
        answer = (await transport.send(endpoint, trust, request)).without(request.secrets)
    except NoAnswer as failure:
        why = request.secrets.remove(str(failure))
        raise HostUnreachable(Evidence("POST", PATH, endpoint.host, message=why)) from None
    try:
        data = decoded(answer, asked).data
    except Unauthorized as error:
        second = "tfa-challenge" in given
        raise Unauthorized(
            error.evidence,
            "The code is wrong, used or too old: run the same again with the next one."
            if second
            else f"The password is wrong, or {given['username']} is unknown, disabled or expired: PVE does not say "
            "which. The user is written name@realm, such as root@pam.",
        ) from None
    except ProxmoxError as error:
        if error.evidence.status in _FOREIGN:
            raise Malformed(error.evidence) from None
        raise
    if not isinstance(data, dict) or not data.get("ticket"):
        raise Malformed(Evidence("POST", PATH, endpoint.host, answer.status, answer.reason, "there is no ticket in it"))
    return data


def _needs_more(told: Mapping[str, Any]) -> bool:
    return bool(told.get("NeedTFA")) or f":{_CHALLENGE}" in str(told.get("ticket") or "")


def _kinds(ticket: str) -> tuple[str, ...]:
    """What may answer a challenge: it is JSON, escaped, in the second part of the ticket."""
    part = ticket.partition(":")[2].partition(":")[0].removeprefix(_CHALLENGE)
    try:
        found = read_json(unquote(part))
    except ValueError:
        return ()
    return tuple(name for name, value in found.items() if value) if isinstance(found, dict) else ()
