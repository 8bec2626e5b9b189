"""All that is to be done for a connection, settled before the first of it is: to be shown, confirmed, and then done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from nagaya.infrastructure.proxmox.client import BadEndpoint, Endpoint, Facts, Proxmox, Token, Trust, endpoint
from nagaya.infrastructure.proxmox.client.access import Account
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError, Unauthorized
from nagaya.infrastructure.proxmox.connection.establishing.accounts import read_accounts
from nagaya.infrastructure.proxmox.connection.establishing.changes import Change, GiveRole, changes, superfluous
from nagaya.infrastructure.proxmox.connection.establishing.chosen import Chosen, Unsuitable, chosen
from nagaya.infrastructure.proxmox.connection.establishing.management import Management, Stored
from nagaya.infrastructure.proxmox.connection.establishing.manifests import Wanted
from nagaya.infrastructure.proxmox.connection.establishing.remembered import Purpose
from nagaya.infrastructure.proxmox.connection.establishing.site import Site, read_site
from nagaya.infrastructure.proxmox.connection.establishing.token import Decision, Held, decide
from nagaya.infrastructure.proxmox.connection.findings import OLDEST, authority, datacenter
from nagaya.infrastructure.proxmox.connection.look import is_distrusted
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import USER, USUAL, Setup, setup

Connect = Callable[[Facts], Proxmox]
"""Makes a client."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants."""

    endpoints: tuple[Endpoint, ...]
    trust: Trust
    scope: Scope
    features: tuple[Feature, ...] = USUAL
    user: str = USER
    """To whom the token belongs. Made if there is none."""
    rotate: bool = False
    insecure_because: str = ""
    keeps_trust: bool = False
    """Whether `trust` is what the stored connection says already."""

    def wanted(self, trust: Trust, choice: Chosen) -> Wanted:
        """What is to be stored, now that it is settled."""
        purpose = Purpose(self.scope, self.features, self.user)
        return Wanted(self.endpoints, trust, choice, self.insecure_because, purpose, self.keeps_trust)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    setup: Setup
    wanted: Wanted
    token: Decision
    site: Site
    before: tuple[Change, ...]
    """What goes before the token."""
    after: tuple[Change, ...]
    """What the token gets when it is there."""
    notes: tuple[str, ...] = ()
    to_store: bool = True
    """Whether the management API lacks something."""

    @property
    def nothing(self) -> bool:
        """Whether all is as it should be."""
        return not (self.before or self.after or self.token.new or self.token.leaving or self.to_store)

    def sentences(self) -> list[str]:
        """What is done in Proxmox VE, in order."""
        user = self.setup.user
        return [
            *(each.sentence for each in self.before if not isinstance(each, GiveRole)),
            *([self.token.sentence] if self.token.new else []),
            *self._grants(),
            *(f"remove the token {user}!{name}, when the other works" for name in self.token.leaving),
        ]

    def _grants(self) -> list[str]:
        """Who gets which role where, each role once."""
        places: dict[tuple[str, bool], dict[str, set[str]]] = {}
        for change in (*self.before, *self.after):
            if isinstance(change, GiveRole):
                grant = change.grant
                places.setdefault((grant.role, grant.propagate), {}).setdefault(grant.path, set()).add(grant.subject)
        found = []
        for (role, propagate), holders in places.items():
            for who in dict.fromkeys(tuple(sorted(each)) for each in holders.values()):
                paths = ", ".join(path for path, each in holders.items() if tuple(sorted(each)) == who)
                below = "" if propagate else ", and nothing below"
                found.append(f"give {' and '.join(who)} the role {role} on {paths}{below}")
        return found


async def plan(asked: Asked, proxmox: Proxmox, connect: Connect, management: Management | None = None) -> Plan:
    """Look at everything, change nothing. Raises ProxmoxError and Unsuitable."""
    site = await read_site(proxmox)
    _check_version(site)
    stored = Stored() if management is None else management.stored
    asked, dropped = beside(asked, stored)
    await _check_datacenter(proxmox, site, stored)
    accounts = await read_accounts(proxmox, asked.user)
    _check_account(asked.user, accounts.account, proxmox)
    choice = chosen(asked.scope, site, asked.features)
    trust, noted = await recognised(asked, proxmox, connect, site)
    wanted = asked.wanted(trust, choice)
    works = await _works(stored, replace(asked, trust=trust), connect)
    held = Held(stored.token, works, stored.making, stored.leaving)
    token = decide(asked.user, held, accounts.tokens, proxmox.calls.world, rotate=asked.rotate)
    made = setup(site.version.release, choice.scope, user=asked.user, token_name=token.name, features=choice.features)
    before, after = changes(made, accounts, token_is_new=token.new)
    notes = [*choice.notes, *noted, *dropped, *token.notes]
    for role, more in superfluous(made, accounts).items():
        notes.append(f"The role {role} has more than this connection needs, which is left: {' '.join(more)}.")
    in_place = management is not None and management.has(wanted, stored.token, stored.token_secret)
    return Plan(made, wanted, token, site, before, after, tuple(notes), not in_place)


async def recognised(asked: Asked, proxmox: Proxmox, connect: Connect, site: Site) -> tuple[Trust, list[str]]:
    """By what hosts are recognised from now on: where one host is known by its certificate, all of them are by the
    authority that this host tells of. Certificates of hosts are renewed; the authority stays."""
    if not asked.trust.fingerprints or asked.keeps_trust:
        return asked.trust, []
    pem = str((await authority(proxmox, site.snapshot)).get("pem") or "")
    better = Trust(authority=pem)
    problems = {each: await _problem(better, each, proxmox, connect) for each in asked.endpoints} if pem else {}
    strangers = [each for each, problem in problems.items() if problem is not None and not _is_away(problem)]
    if pem and not strangers:
        said = ["Hosts are recognised by the authority of their cluster from now on, whichever of them is asked."]
        said += [
            f"{each} does not answer now: it is recognised by that when it does."
            for each, problem in problems.items()
            if problem is not None
        ]
        return better, said
    if len(asked.endpoints) > 1:
        which = f" ({strangers[0]} is not known by the authority of its cluster)" if strangers else ""
        raise Unsuitable(
            f"One fingerprint is for one host{which}: give --ca-file (/etc/pve/pve-root-ca.pem of any host) for "
            "several, or only one address."
        )
    return asked.trust, []


async def _problem(trust: Trust, endpoint: Endpoint, proxmox: Proxmox, connect: Connect) -> ProxmoxError | None:
    """Why a host is not recognised; None if it is."""
    client = connect(replace(proxmox.facts, endpoints=(endpoint,), trust=trust))
    try:
        await client.cluster.version()
    except ProxmoxError as error:
        return error
    finally:
        await client.close()
    return None


def _is_away(problem: ProxmoxError) -> bool:
    """Whether nobody answered, so that nothing is known of who would."""
    return isinstance(problem, HostUnreachable) and not is_distrusted(problem)


async def _works(stored: Stored, asked: Asked, connect: Connect) -> bool:
    if not stored.token or not stored.token_secret:
        return False
    client = connect(Facts(asked.endpoints, Token(stored.token, stored.token_secret), asked.trust))
    try:
        with suppress(Unauthorized):
            await client.access.permissions()
            return True
        return False
    finally:
        await client.close()


def beside(asked: Asked, stored: Stored) -> tuple[Asked, list[str]]:
    """What is asked, given the addresses that the connection has, and what is said of those that go. Who names some of
    them means all; who names another means just what is named."""
    written = () if stored.connection is None else stored.connection.spec.endpoints
    try:
        before = tuple(dict.fromkeys(map(endpoint, written)))
    except BadEndpoint:
        return asked, []  # they lead nowhere
    if set(asked.endpoints) <= set(before):
        return replace(asked, endpoints=before), []
    gone = ", ".join(str(each) for each in before if each not in asked.endpoints)
    named = ", ".join(map(str, asked.endpoints))
    return asked, [f"Endpoints: {named} in place of {gone}. Name those, too, to keep them."] if gone else []


def _check_version(site: Site) -> None:
    if site.version.release < OLDEST:
        raise Unsuitable(
            f"Proxmox VE {site.version.text} is too old: {OLDEST[0]}.{OLDEST[1]} is the first that is supported."
        )
    if site.snapshot.quorate is False:
        raise Unsuitable(
            "The cluster has no quorum, so nothing can be made in it: more than half of its hosts must be on and "
            "connected (`pvecm status`)."
        )


async def _check_datacenter(proxmox: Proxmox, site: Site, stored: Stored) -> None:
    before = "" if stored.connection is None else stored.connection.status.datacenter
    found = await datacenter(proxmox, site.snapshot) if before else ""
    if before and found and before != found:
        raise Unsuitable(
            f"The connection belongs to the Proxmox VE {before}, where its machines are, and this address leads to "
            f"{found}: give another name with --name."
        )


def _check_account(user: str, account: Account | None, proxmox: Proxmox) -> None:
    if account is None:
        return
    expired = 0 < account.expires <= proxmox.calls.world.clock.now().timestamp()
    if not account.enabled or expired:
        what, fix = ("has expired", "--expire 0") if expired else ("is disabled", "--enable 1")
        raise Unsuitable(
            f"The user {user} {what}: `pveum user modify {user} {fix}` changes that, or name another with "
            "--service-user."
        )
