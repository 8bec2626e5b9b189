"""The credentials that a recorded case speaks of."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.layouts.lab import SECRETS
from support.proxmox_lab import ProxmoxLab, token

HOUR = 3600
_TOKEN = re.compile(r"token (\S+?@\S+?!\w+)")
_RIGHTS = re.compile(r"ops@pve has: (.*)")
_FALSE_SECRET = "00000000-0000-0000-0000-000000000000"
ROLE = "Recorded"


def headers(lab: ProxmoxLab, who: str) -> dict[str, str]:
    """What such a client sends. Rights that the case names are given first."""
    _give_rights(lab, who)
    tickets = lab.emulator.tickets
    if who.startswith("no credentials"):
        return {}
    if who.startswith("root@pam"):
        return lab.ticket()
    if found := _TOKEN.match(who):
        return _token(found[1], who)
    if who.startswith("Authorization: "):
        return {"authorization": who.removeprefix("Authorization: ").replace("<uuid>", SECRETS["alice@pve!full"])}
    if who.startswith("Cookie "):
        return {"cookie": who.removeprefix("Cookie ")}
    both = lab.ticket("alice@pve")
    if "as Authorization" in who:
        return {"authorization": both["cookie"]}
    if "signed three hours ago" in who or "one hour ahead" in who:
        age = 3 * HOUR if "three hours" in who else -HOUR
        return {**both, "cookie": f"PVEAuthCookie={tickets.ticket('alice@pve', age=age)}"}
    if "no CSRF header" in who:
        return {"cookie": both["cookie"]}
    if "CSRFPreventionToken: garbage" in who:
        return {**both, "csrfpreventiontoken": "garbage"}
    if "root@pam's CSRF token" in who:
        return {**both, "csrfpreventiontoken": tickets.forgery_token("root@pam")}
    if "25 hours ago" in who:
        return {**both, "csrfpreventiontoken": tickets.forgery_token("alice@pve", age=25 * HOUR)}
    assert who.startswith("alice@pve"), who
    return both


def _token(id: str, who: str) -> dict[str, str]:
    if id in SECRETS and "wrong secret" not in who:
        return token(id)
    return {"authorization": f"PVEAPIToken={id}={_FALSE_SECRET}"}


def _give_rights(lab: ProxmoxLab, who: str) -> None:
    """Rights in the words of the cases, e.g. `/vms/200: VM.Audit; /storage/store: Datastore.Audit`."""
    access = lab.datacenter.access
    if "alice@pve has " in who:
        _forget(lab, "alice@pve")
        if found := re.search(r"alice@pve has (\w+) on (\S+)", who):
            access.acl[found[2], "user", "alice@pve", found[1]] = True
        return
    if (found := _RIGHTS.search(who)) is None:
        return
    _forget(lab, "ops@pve")
    if found[1] == "nothing":
        return
    for number, part in enumerate(found[1].split("; ")):
        path, _, privileges = part.partition(": ")
        role = f"{ROLE}{number}"
        access.roles[role] = frozenset(privileges.split())
        access.acl[path, "user", "ops@pve", role] = True


def _forget(lab: ProxmoxLab, user: str) -> None:
    acl = lab.datacenter.access.acl
    for key in [key for key in acl if key[2] == user]:
        del acl[key]
