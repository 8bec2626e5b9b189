"""ServiceAccounts."""

from typing import cast

from nagaya.apiserver.builtins.kinds.service_account import ServiceAccountStrategy
from nagaya.apiserver.registry.call import Call
from support.core_kinds import CoreKinds

NO_CALL = cast(Call, None)  # what is tested does not look at it

OLD = "kubernetes.io/enforce-mountable-secrets"


async def test_of_its_secrets_an_account_keeps_the_names() -> None:
    made = await CoreKinds().create("serviceaccounts", {"secrets": [{"name": "a", "uid": "1"}, {"kind": "Secret"}]})
    assert made["secrets"] == [{"name": "a"}, {}]


async def test_an_old_annotation_is_warned_of_when_it_is_new() -> None:
    kinds = CoreKinds()
    strategy = kinds.resource("serviceaccounts").strategy
    assert isinstance(strategy, ServiceAccountStrategy)
    bare = await kinds.create("serviceaccounts", {})
    marked = {**bare, "metadata": {**bare["metadata"], "annotations": {OLD: "true"}}}
    (warning,) = strategy.warn_create(marked, NO_CALL)
    assert warning.startswith(f"metadata.annotations[{OLD}]: deprecated in v1.32+")
    assert strategy.warn_update(marked, bare, NO_CALL) == [warning]
    assert strategy.warn_update(marked, marked, NO_CALL) == []
