"""Connections made from an administrator's password, on an emulated data center and an embedded management API."""

from __future__ import annotations

import base64

import pytest

from nagaya.api.kind import Kind
from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.untyped import Untyped
from nagaya.cli.in_process import InProcessTransport
from nagaya.infrastructure.proxmox.client import Endpoint, Facts, Proxmox, Token, Trust
from nagaya.infrastructure.proxmox.client.errors import Unauthorized
from nagaya.infrastructure.proxmox.connection.establishing.chosen import Unsuitable
from nagaya.infrastructure.proxmox.connection.establishing.establish import adopt
from nagaya.infrastructure.proxmox.connection.establishing.management import (
    TOKEN_IN_THE_MAKING,
    TOKENS_TO_REMOVE,
    Management,
    NotManaged,
)
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked, Plan, plan
from nagaya.infrastructure.proxmox.connection.reference import connection_reference
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.infrastructure.proxmox.connection.source import facts_of, source_by
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import USUAL
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from nagaya.pki.certificates import to_pem
from nagaya.simulators.proxmox.state.access import Token as KnownToken
from nagaya.simulators.proxmox.state.access import User
from nagaya.simulators.proxmox.web.certificates import authority, host_certificate
from support.establishing import HOSTS, NAME, NAMESPACE, SCOPE, Died, Life, Office, play, without
from support.pveum import run_all

FEW = without(SCOPE, templates=(9001,))
"""Less to be granted, where it is done many times."""


def client_of(office: Office, token: str, secret: str) -> Proxmox:
    return office.connect(Facts(HOSTS, Token(token, secret), Trust(insecure=True)))


async def whole(office: Office, scope: Scope = SCOPE) -> str:
    """All is as it should be: one token, which works, is stored, and has just its own grants. Returns its id."""
    (token,) = office.tokens()
    management = await office.stored()
    stored = management.stored
    assert stored.secret is not None
    assert stored.connection is not None
    assert (stored.token, stored.making, stored.leaving) == (token, "", ())
    assert not {TOKEN_IN_THE_MAKING, TOKENS_TO_REMOVE} & {*stored.secret.metadata.annotations}
    assert [each.kind for each in stored.secret.metadata.owner_references] == ["ProxmoxConnection"]
    assert {id for _, kind, id, _ in office.access.acl if kind == "token"} == {token}
    client = client_of(office, token, stored.token_secret)
    assert await client.access.permissions()
    await client.close()
    assert (await office.planned(scope)).nothing
    return token


def test_all_is_made_stored_and_verified_and_the_second_time_nothing_is_to_do() -> None:
    async def scenario(office: Office) -> None:
        planned, done = await office.make()
        assert not planned.nothing
        assert done.preflight.delivery == "iso"
        assert office.access.users["nagaya@pve"].password is None
        assert office.access.users["nagaya@pve"].tokens[planned.token.name].privilege_separation
        token = await whole(office)
        before = dict(office.access.acl)
        again, _ = await office.make()
        assert again.nothing
        assert again.sentences() == []
        assert await whole(office) == token
        assert office.access.acl == before

    play(scenario)


def test_a_secret_of_another_namespace_gets_the_grant_and_says_all_of_it_itself() -> None:
    async def scenario(office: Office) -> None:
        namespaces: Kind[Untyped] = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
        await office.client.create(namespaces, {"metadata": {"name": "vault"}})
        named = {"name": "pve", "namespace": "vault"}
        made = {"metadata": {"namespace": NAMESPACE, "name": NAME}, "spec": {"credentialsRef": named}}
        await office.client.create(PROXMOX_CONNECTIONS, made)
        await office.make()
        stored = (await office.stored()).stored
        assert stored.secret is not None
        assert stored.secret.metadata.annotations[ALLOWED_NAMESPACES] == NAMESPACE
        assert stored.secret.metadata.owner_references == ()
        assert stored.secret.values["url"].decode().split(",") == [each.url for each in HOSTS]
        assert stored.connection is not None
        reference = connection_reference(stored.connection)
        found = await facts_of(office.client, reference, source_by(stored.connection))
        assert (found.endpoints, found.trust) == (HOSTS, Trust(insecure=True))
        again, _ = await office.make()
        assert again.nothing
        # One that is there, and does not allow it, is another's.
        await office.client.patch(
            CREDENTIALS, "vault", "pve", Merge({"metadata": {"annotations": {ALLOWED_NAMESPACES: "elsewhere"}}})
        )
        with pytest.raises(NotManaged, match="kubectl annotate secret pve -n vault"):
            await office.make()

    play(scenario)


@pytest.mark.parametrize("version", ["9.2.11", "8.4.14"])
def test_nobody_gets_more_than_what_was_asked_for(version: str) -> None:
    async def scenario(office: Office) -> None:
        await office.make(without(SCOPE, hosts=("pve1",), templates=(9001,)))
        paths = {path for path, _, _, _ in office.access.acl}
        assert paths == {
            "/",
            "/nodes/pve1",
            "/pool/nagaya",
            "/vms/9001",
            "/storage/local-lvm",
            "/storage/local",
            "/sdn/zones/localnetwork/vmbr0",
        }
        assert not [entry for entry, below in office.access.acl.items() if entry[0] == "/" and below]
        held = frozenset().union(*office.access.roles.values())
        monitor = {"VM.Monitor"} if version.startswith("8") else {"VM.GuestAgent.Audit", "VM.GuestAgent.FileRead"}
        assert {each for each in held if "Agent" in each or "Monitor" in each} == monitor
        assert not held & {"Sys.Modify", "Permissions.Modify", "User.Modify", "Sys.Console", "Datastore.Modify"}

    play(scenario, version)


def test_a_pool_that_is_missing_is_made() -> None:
    async def scenario(office: Office) -> None:
        planned, _ = await office.make(without(SCOPE, pool="team-a"))
        assert planned.sentences()[0] == "make the pool team-a"
        assert "team-a" in office.emulator.datacenter.pools

    play(scenario)


def test_a_role_that_lacks_something_gets_it_and_keeps_what_it_has() -> None:
    async def scenario(office: Office) -> None:
        office.access.roles["NagayaHosts"] = frozenset({"Sys.Syslog"})
        planned, _ = await office.make()
        assert "add to the role NagayaHosts: Sys.Audit" in planned.sentences()
        assert any("NagayaHosts has more than this connection needs" in each for each in planned.notes)
        assert office.access.roles["NagayaHosts"] == {"Sys.Syslog", "Sys.Audit"}

    play(scenario)


def test_a_secret_that_is_lost_means_a_new_token_and_the_old_one_stays_as_nobody_knows_whose_it_is() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        (old,) = office.tokens()
        await office.client.delete(CREDENTIALS, NAMESPACE, NAME)
        planned, done = await office.make()
        assert planned.token.new
        assert office.tokens() == [old, done.token]

    play(scenario)


def test_a_token_that_was_removed_or_changed_in_proxmox_is_replaced() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        first = await whole(office)
        office.access.users["nagaya@pve"].tokens[first.partition("!")[2]].secret = "another"
        planned, done = await office.make()
        assert "which Proxmox VE does not take any more" in planned.token.sentence
        assert await whole(office) == done.token != first
        del office.access.users["nagaya@pve"].tokens[done.token.partition("!")[2]]
        office.access.forget(done.token)
        await office.make()
        assert await whole(office) not in (first, done.token)

    play(scenario)


def test_a_rotation_replaces_the_token_and_then_removes_the_old_one() -> None:
    async def scenario(office: Office) -> None:
        _, before = await office.make()
        planned, after = await office.make(rotate=True)
        assert planned.sentences()[-1] == f"remove the token {before.token}, when the other works"
        assert before.token != after.token
        assert await whole(office) == after.token
        old = client_of(office, before.token, before.secret)
        with pytest.raises(Unauthorized):
            await old.access.permissions()
        await old.close()

    play(scenario)


@pytest.mark.parametrize("rotate", [False, True], ids=["made", "rotated"])
@pytest.mark.parametrize("answered", [False, True], ids=["call", "answer"])
@pytest.mark.long("runs the command once for each of its calls")
def test_interrupted_at_any_call_it_completes_when_run_again(rotate: bool, answered: bool) -> None:
    async def scenario(office: Office) -> None:
        died = 0
        for moment in range(200):
            await office.forget()
            if rotate:
                await office.make(FEW)
            life = Life(moment, answered)
            try:
                await office.make(FEW, rotate=rotate, life=life)
            except Died:
                died += 1
                await office.make(FEW, rotate=rotate)
                await whole(office, FEW)
            else:
                break
        assert died == life.calls
        assert died > 25

    play(scenario)


def test_what_somebody_else_made_is_never_removed() -> None:
    async def scenario(office: Office) -> None:
        office.access.users["nagaya@pve"] = User(tokens={"mine": KnownToken("a-secret", comment="by hand")})
        data = {"token": "nagaya@pve!mine", "secret": "a-secret"}
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        await office.client.create(CREDENTIALS, {"metadata": {"namespace": NAMESPACE, "name": NAME}, "data": encoded})
        planned, _ = await office.make(rotate=True)
        assert any("nagaya@pve!mine stays: it was not made by Nagaya" in each for each in planned.notes)
        assert "nagaya@pve!mine" in office.tokens()

    play(scenario)


def test_a_token_of_another_user_in_the_secret_is_replaced_and_stays() -> None:
    async def scenario(office: Office) -> None:
        secret = office.access.users["root@pam"].tokens["demo"].secret
        data = {"token": "root@pam!demo", "secret": secret}
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        await office.client.create(CREDENTIALS, {"metadata": {"namespace": NAMESPACE, "name": NAME}, "data": encoded})
        planned, _ = await office.make()
        assert any("root@pam!demo, which the Secret has now, stays" in each for each in planned.notes)
        assert "demo" in office.access.users["root@pam"].tokens
        await whole(office)

    play(scenario)


def test_no_secret_is_said() -> None:
    async def scenario(office: Office) -> None:
        _, one = await office.make()
        _, two = await office.make(rotate=True)
        text = "\n".join([*office.said, repr(one), repr(two), str(await office.planned())])
        assert one.secret not in text
        assert two.secret not in text

    play(scenario)


def test_two_who_work_on_one_connection_at_once_are_told() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        one = await office.stored()
        await office.client.patch(
            CREDENTIALS, NAMESPACE, NAME, Merge({"metadata": {"annotations": {"touched": "yes"}}})
        )
        with pytest.raises(NotManaged, match="was changed by somebody else meanwhile"):
            await one.reserve("nagaya@pve!nagaya-other")

    play(scenario)


def test_controllers_may_hold_on_to_the_secret_meanwhile() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        one = await office.stored()
        held = Merge({"metadata": {"finalizers": ["nagaya.dev/held"]}})
        await office.client.patch(CREDENTIALS, NAMESPACE, NAME, held)
        await one.reserve("nagaya@pve!nagaya-other")
        secret = await office.client.get(CREDENTIALS, NAMESPACE, NAME)
        assert one.stored.making == "nagaya@pve!nagaya-other"
        assert secret.metadata.finalizers == ("nagaya.dev/held",)

    play(scenario)


def test_what_the_management_api_would_refuse_later_is_said_now() -> None:
    async def scenario(office: Office) -> None:
        assert office.server is not None
        with pytest.raises(NotManaged, match=r"kubectl create namespace nowhere`. Nothing was made in Proxmox VE"):
            await Management(office.client, "nowhere", NAME).read()
        nobody = Client(InProcessTransport(office.server, "bob", ()), world=office.world)
        with pytest.raises(NotManaged, match=r"does not take the connection default/proxmox: .*[Ff]orbidden"):
            await Management(nobody, NAMESPACE, NAME).read()
        with pytest.raises(NotManaged, match=r"is invalid|Invalid"):
            await Management(office.client, NAMESPACE, "No_Name").read()
        await office.server.stop()
        with pytest.raises(NotManaged, match="does not answer, and nothing was made in Proxmox VE"):
            await Management(office.client, NAMESPACE, NAME).read()

    play(scenario)


def test_a_connection_that_is_being_deleted_is_left_to_go() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        held = Merge({"metadata": {"finalizers": ["example.com/held"]}})
        await office.client.patch(PROXMOX_CONNECTIONS, NAMESPACE, NAME, held)
        await office.client.delete(PROXMOX_CONNECTIONS, NAMESPACE, NAME)
        with pytest.raises(NotManaged, match="is being deleted"):
            await office.make(rotate=True)

    play(scenario)


def test_a_connection_of_another_data_center_is_left_alone() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        status = {"datacenter": "elsewhere-0123456789"}
        patch = Merge({"status": status})
        await office.client.patch(PROXMOX_CONNECTIONS, NAMESPACE, NAME, patch, subresource="status")
        with pytest.raises(Unsuitable, match="belongs to the Proxmox VE elsewhere-0123456789"):
            await office.make()

    play(scenario)


async def _planned_by_a_fingerprint(office: Office, hosts: tuple[Endpoint, ...] = HOSTS) -> Plan:
    management, root, datacenter = await office.stored(), office.root(), office.emulator.datacenter
    signer = authority(office.world.clock)
    datacenter.authority = to_pem(signer.certificate).decode()
    for node in datacenter.nodes.values():
        node.certificate = host_certificate(signer, node.name, [], office.world.clock).pair.certificate.decode()
    try:
        asked = Asked(hosts, Trust(fingerprints=("ab" * 32,)), SCOPE)
        return await plan(asked, root, office.connect, management)
    finally:
        await root.close()


def test_a_host_that_is_off_keeps_no_other_from_being_recognised() -> None:
    async def scenario(office: Office) -> None:
        office.emulator.datacenter.nodes["pve2"].online = False
        planned = await _planned_by_a_fingerprint(office)
        assert planned.wanted.trust.authority
        assert any(note.startswith("https://pve2:8006 does not answer now") for note in planned.notes)

    play(scenario)


def test_a_host_that_the_authority_of_the_cluster_does_not_know_is_named() -> None:
    async def scenario(office: Office) -> None:
        office.strangers = frozenset({"pve3"})
        with pytest.raises(Unsuitable, match=r"\(https://pve3:8006 is not known by the authority.*--ca-file"):
            await _planned_by_a_fingerprint(office)

    play(scenario)


def test_endpoints_that_go_are_told_and_naming_some_changes_none() -> None:
    async def scenario(office: Office) -> None:
        await office.make()
        fewer = await _planned_by_a_fingerprint(office, HOSTS[1:2])
        assert not [note for note in fewer.notes if "Endpoints" in note]
        assert fewer.wanted.endpoints == HOSTS
        await office.client.patch(
            PROXMOX_CONNECTIONS, NAMESPACE, NAME, Merge({"spec": {"endpoints": ["https://old:8006"]}})
        )
        other = await _planned_by_a_fingerprint(office, HOSTS[:1])
        assert (
            "Endpoints: https://pve1:8006 in place of https://old:8006. Name those, too, to keep them." in other.notes
        )

    play(scenario)


def test_a_user_who_is_disabled_or_expired_is_not_enabled_behind_anybodys_back() -> None:
    async def scenario(office: Office) -> None:
        office.access.users["nagaya@pve"] = User(enable=False)
        with pytest.raises(Unsuitable, match="pveum user modify nagaya@pve --enable 1"):
            await office.make()
        office.access.users["nagaya@pve"] = User(expire=1)
        with pytest.raises(Unsuitable, match="has expired"):
            await office.make()
        assert not office.access.roles

    play(scenario)


def test_without_quorum_nothing_is_begun() -> None:
    async def scenario(office: Office) -> None:
        for name in ("pve2", "pve3"):
            office.emulator.datacenter.nodes[name].online = False
        with pytest.raises(Unsuitable, match="no quorum"):
            await office.make()
        assert not (await office.stored()).stored.secret

    play(scenario)


def test_what_nobody_asked_for_is_chosen_and_told() -> None:
    async def scenario(office: Office) -> None:
        planned, _ = await office.make(Scope(pool="nagaya"))
        scope = planned.wanted.chosen.scope
        assert scope.storages == ("local-lvm", "shared")
        assert scope.iso_storage == "shared"
        assert scope.bridges == ("localnetwork/vmbr0",)
        assert scope.templates == (9001, 9002, 9003)
        assert len(planned.notes) == 4

    play(scenario)


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        (Scope(storages=("nope",)), r"no storage for disks \(content images\) nope. There are: local-lvm, shared"),
        (Scope(storages=("local",)), "no storage for disks"),
        (Scope(iso_storage="local-lvm"), r"no storage for CDs \(content iso\) local-lvm"),
        (Scope(bridges=("vmbr9",)), "no bridge or virtual network vmbr9. There are: localnetwork/vmbr0"),
        (Scope(zones=("lan",)), "no zone with a network lan"),
        (Scope(hosts=("pve7",)), "no host pve7. There are: pve1, pve2, pve3"),
        (Scope(templates=(100,)), "no template 100. There are: 9001, 9002, 9003"),
    ],
    ids=["storage", "content", "iso", "bridge", "zone", "host", "template"],
)
def test_what_is_asked_for_and_not_there_is_said_before_anything_is_made(scope: Scope, says: str) -> None:
    async def scenario(office: Office) -> None:
        with pytest.raises(Unsuitable, match=says):
            await office.make(scope)
        assert "nagaya@pve" not in office.access.users

    play(scenario)


def test_rights_for_images_are_granted_if_asked_for() -> None:
    async def scenario(office: Office) -> None:
        planned, _ = await office.make(features=(*USUAL, Feature.IMAGES))
        assert "Sys.AccessNetwork" in office.access.roles["NagayaHosts"]
        assert planned.wanted.chosen.scope.import_storages == ("shared",)
        assert ("/storage/shared", "user", "nagaya@pve", "NagayaMedia") in office.access.acl

    play(scenario)


@pytest.mark.parametrize("version", ["9.2.11", "8.4.14"])
def test_a_token_made_by_the_printed_commands_is_taken_as_it_is(version: str) -> None:
    from nagaya.infrastructure.proxmox.privileges.setup import setup

    async def scenario(office: Office) -> None:
        root = office.root()
        release = (8, 4) if version.startswith("8") else (9, 2)
        del office.emulator.datacenter.pools["nagaya"]
        made = setup(release, without(SCOPE, templates=(9001,)))
        answers = await run_all(root, made.commands())
        (secret,) = [each["value"] for each in answers if isinstance(each, dict) and "value" in each]
        await root.close()
        management = await office.stored()
        asked = Asked(HOSTS, Trust(insecure=True), without(SCOPE, templates=(9001,)))
        done = await adopt(asked, Token(made.token, secret), office.connect, office.said.append, management)
        assert done.preflight.missing == ()
        stored = (await office.stored()).stored
        assert (stored.token, stored.token_secret) == (made.token, secret)
        assert stored.connection is not None
        assert stored.connection.spec.pool == "nagaya"

    play(scenario, version)


def test_without_a_management_api_a_token_is_made_each_time() -> None:
    async def scenario(office: Office) -> None:
        _, one = await office.make(managed=False)
        _, two = await office.make(managed=False)
        assert office.tokens() == [one.token, two.token]
        assert (await office.stored()).stored.secret is None

    play(scenario)
