"""What is to be done for a connection, and when nothing can be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nagaya.infrastructure.proxmox.connection.establishing.chosen import Unsuitable
from nagaya.infrastructure.proxmox.connection.establishing.establish import adopt
from nagaya.infrastructure.proxmox.connection.establishing.management import Management
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked, Plan, plan
from support.establishing import Office, without
from support.virtual_run import run
from support.virtual_time import BEGINNING
from unit.infrastructure.proxmox.connection.establishing.desk import ASKED, TOKEN, USER, desk, management_of

NOW = int(BEGINNING.timestamp())


async def planned(office: Office, management: Management | None = None, asked: Asked = ASKED) -> Plan:
    root = office.root()
    try:
        return await plan(asked, root, office.connect, management)
    finally:
        await root.close()


def test_what_is_stored_already_is_not_stored_again() -> None:
    async def main() -> None:
        async with desk() as office:
            management = management_of(office)
            assert (await planned(office)).to_store, "there is no management API"
            assert (await planned(office, management)).to_store, "it has nothing"
            await adopt(ASKED, TOKEN, office.connect, office.said.append, management)
            again = await planned(office, management)
            assert (again.to_store, again.token.new) == (False, False)
            other = replace(ASKED, scope=without(ASKED.scope, pool="team-a"))
            assert (await planned(office, management, other)).to_store, "the connection is for something else now"

    run(main())


def why_not(*, expire: int = 0, enable: bool = True) -> str:
    """Why a user cannot be used; empty if it can."""

    async def main() -> str:
        async with desk() as office:
            user = office.access.users[USER]
            user.expire, user.enable = expire, enable
            try:
                await planned(office)
            except Unsuitable as problem:
                return str(problem)
            return ""

    return run(main())


@pytest.mark.parametrize("expire", [0, NOW + 1, NOW + 3600], ids=["never", "in a second", "in an hour"])
def test_a_user_that_has_not_expired_can_be_used(expire: int) -> None:
    assert why_not(expire=expire) == ""


@pytest.mark.parametrize("expire", [NOW, NOW - 1, 1], ids=["now", "a second ago", "in 1970"])
def test_a_user_that_has_expired_is_told_with_the_remedy(expire: int) -> None:
    assert "nagaya@pve has expired: `pveum user modify nagaya@pve --expire 0`" in why_not(expire=expire)


def test_a_user_that_is_disabled_is_told_with_the_remedy() -> None:
    assert "nagaya@pve is disabled: `pveum user modify nagaya@pve --enable 1`" in why_not(enable=False)
