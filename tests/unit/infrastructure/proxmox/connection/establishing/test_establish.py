"""Tokens that somebody made by hand: what is verified and stored of them."""

from __future__ import annotations

import pytest

from nagaya.infrastructure.proxmox.client import Token
from nagaya.infrastructure.proxmox.client.errors import Unauthorized
from nagaya.infrastructure.proxmox.connection.establishing.establish import Incomplete, adopt
from support.establishing import NAME, NAMESPACE, Office
from support.virtual_run import run
from unit.infrastructure.proxmox.connection.establishing.desk import ASKED, TOKEN, USER, desk, management_of

STORED = f"Done: store the token in Secret {NAMESPACE}/{NAME}, and the ProxmoxConnection {NAMESPACE}/{NAME}."


def test_a_token_made_by_hand_is_stored_with_its_connection_and_said_to_be() -> None:
    async def main() -> None:
        async with desk() as office:
            management = management_of(office)
            done = await adopt(ASKED, TOKEN, office.connect, office.said.append, management)
            assert (done.token, done.secret, done.preflight.missing) == (TOKEN.id, TOKEN.secret, ())
            stored = management.stored
            assert (stored.token, stored.token_secret) == (TOKEN.id, TOKEN.secret)
            assert stored.connection is not None
            assert stored.connection.spec.credentials_ref.name == NAME
            assert office.said.count(STORED) == 1
            await adopt(ASKED, TOKEN, office.connect, office.said.append, management)
            assert office.said.count(STORED) == 1, "the second time nothing is to do"

    run(main())


def test_without_a_management_api_a_token_made_by_hand_is_verified_only() -> None:
    async def main() -> None:
        async with desk() as office:
            done = await adopt(ASKED, TOKEN, office.connect, office.said.append, None)
            assert (done.token, done.secret, done.preflight.missing) == (TOKEN.id, TOKEN.secret, ())
            assert not any(sentence.startswith("Done") for sentence in office.said)

    run(main())


async def refused(office: Office, token: Token, error: type[Exception]) -> None:
    management = management_of(office)
    with pytest.raises(error):
        await adopt(ASKED, token, office.connect, office.said.append, management)
    assert (management.stored.secret, management.stored.connection) == (None, None)
    assert STORED not in office.said


def test_a_token_that_does_not_work_or_lacks_rights_is_not_stored() -> None:
    async def main() -> None:
        async with desk() as office:
            await refused(office, Token(TOKEN.id, "another"), Unauthorized)
            del office.access.acl["/", "user", USER, "Administrator"]
            office.access.acl["/", "user", USER, "PVEAuditor"] = True
            await refused(office, TOKEN, Incomplete)

    run(main())
