"""Whether two values say the same."""

from typing import Any

from nagaya.apiserver.builtins.kinds.pod_sameness import same

SPEC = "core/v1.PodSpec"


def spec(memory: str = "1Gi", **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"limits": {"memory": memory}}}], **more}


def test_an_empty_list_is_as_good_as_none() -> None:
    assert same(SPEC, spec(tolerations=[]), spec())
    assert not same(SPEC, spec(tolerations=[{"key": "a"}]), spec())


def test_the_same_amount_may_be_written_in_many_ways() -> None:
    assert same(SPEC, spec("1073741824"), spec("1Gi"))
    assert not same(SPEC, spec("1G"), spec("1Gi"))


def test_labels_that_look_like_amounts_are_texts() -> None:
    assert not same(SPEC, spec(nodeSelector={"a": "1000m"}), spec(nodeSelector={"a": "1"}))


def test_something_is_not_nothing() -> None:
    assert not same(SPEC, spec(), None)
    assert same(SPEC, None, None)
