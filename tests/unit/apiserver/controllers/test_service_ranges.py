"""Which ranges Services get addresses from."""

from __future__ import annotations

from support.in_process import Api

RANGES = "/apis/networking.k8s.io/v1/servicecidrs"


async def test_the_range_of_the_server_is_ready(api: Api) -> None:
    (condition,) = (await api.must(f"{RANGES}/kubernetes"))["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    assert condition["message"] == "Kubernetes Service CIDR is ready"
    assert await api.quiet()


async def test_another_range_says_that_it_is_not_used(api: Api) -> None:
    await api.create(RANGES, {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.77.0.0/24"]}})
    (condition,) = (await api.must(f"{RANGES}/more"))["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "NotUsed")
    assert "addresses from 10.96.0.0/" in condition["message"]
    await api.delete(f"{RANGES}/more")
    assert await api.get(f"{RANGES}/more") is None
