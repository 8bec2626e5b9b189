"""ConfigMaps: their keys, their size, and what frozen means."""

from nagaya.apiserver.builtins.kinds.config_map import decoded_size
from nagaya.apiserver.meta.base64text import encode
from support.core_kinds import CoreKinds

KEY = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"


async def test_a_key_is_a_file_name() -> None:
    found = await CoreKinds().refused("configmaps", {"data": {"a b": "c"}, "binaryData": {"..": ""}})
    assert [each[:60] for each in found] == [
        f'data[a b]: Invalid value: "a b": {KEY}'[:60],
        "binaryData[..]: Invalid value: \"..\": must not be '..'",
    ]


async def test_no_key_stands_in_both_maps() -> None:
    found = await CoreKinds().refused("configmaps", {"data": {"a": "1"}, "binaryData": {"a": "MQ=="}})
    assert found == ['data[a]: Invalid value: "a": duplicate of key present in binaryData']


async def test_all_values_together_have_a_limit() -> None:
    half = "x" * (512 * 1024)
    kinds = CoreKinds()
    await kinds.create("configmaps", {"data": {"a": half}, "binaryData": {"b": encode(half.encode())}})
    found = await kinds.refused(
        "configmaps",
        {"metadata": {"name": "more"}, "data": {"a": half}, "binaryData": {"b": encode(f"{half}y".encode())}},
    )
    assert found == ["[]: Too long: may not be more than 1048576 bytes"]


async def test_a_frozen_map_changes_only_in_metadata() -> None:
    kinds = CoreKinds()
    await kinds.create("configmaps", {"data": {"a": "b"}, "immutable": True})
    frozen = "Forbidden: field is immutable when `immutable` is set"
    found = await kinds.change_refused(
        "configmaps", "it", {"data": {"a": "c"}, "binaryData": {"x": ""}, "immutable": False}
    )
    assert found == [f"immutable: {frozen}", f"data: {frozen}", f"binaryData: {frozen}"]
    changed = await kinds.change("configmaps", "it", {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}


async def test_a_broken_rule_for_metadata_is_told_as_often_as_the_real_server_does() -> None:
    kinds = CoreKinds()
    await kinds.create("configmaps", {})
    found = await kinds.change_refused("configmaps", "it", {"metadata": {"finalizers": ["nobody"]}})
    unknown = 'Invalid value: "nobody": name is neither a standard finalizer name nor is it fully qualified'
    assert found == [f"metadata.finalizers[0]: {unknown}"] * 2


def test_the_size_of_encoded_bytes_is_that_of_the_bytes() -> None:
    assert [decoded_size(encode(b"x" * length)) for length in range(7)] == list(range(7))
    assert decoded_size(None) == 0
