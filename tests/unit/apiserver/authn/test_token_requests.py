from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nagaya.apiserver.authn.jwt import Signer
from nagaya.apiserver.authn.token_requests import Issued, TokenRequests
from nagaya.apiserver.meta.status import ApiError
from nagaya.world import World

ISSUER = "https://kubernetes.default.svc.cluster.local"
Payload = Callable[[str], dict[str, Any]]


class Desk:
    """Where tokens for the account default/s1 are asked for."""

    def __init__(self, objects: Any, world: World, signer: Signer) -> None:
        self.objects, self.world, self.signer = objects, world, signer
        objects.add("ServiceAccount", "s1")

    def ask(self, spec: Any = None, metadata: Any = None, account: str = "s1", **options: Any) -> Issued:
        requests = TokenRequests(self.signer, ISSUER, (ISSUER,), self.objects, self.world, **options)
        body = {"spec": spec} if spec is not None else {}
        if metadata is not None:
            body["metadata"] = metadata
        return requests.issue(requests.prepare(body, "default", account))

    def refusal(self, spec: Any = None, metadata: Any = None, account: str = "s1") -> ApiError:
        with pytest.raises(ApiError) as refusal:
            self.ask(spec, metadata, account)
        return refusal.value


@pytest.fixture
def desk(objects: Any, world: World, signer: Signer) -> Desk:
    return Desk(objects, world, signer)


def bound(kind: str, name: str, version: str = "v1", **more: str) -> dict[str, Any]:
    return {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": name, **more}}


def test_what_is_left_out_is_filled_in(desk: Desk, payload: Payload) -> None:
    issued = desk.ask()
    request = issued.token_request
    token = request["status"].pop("token")
    assert request == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "s1",
            "namespace": "default",
            "uid": "s1-uid",
            "creationTimestamp": "2026-05-04T03:02:01Z",
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-05-04T04:02:01Z"},
    }
    body = payload(token)
    assert body["exp"] - body["iat"] == 3600
    assert body["sub"] == "system:serviceaccount:default:s1"
    assert issued.annotations == {"authentication.kubernetes.io/issued-credential-id": f"JTI={body['jti']}"}
    assert issued.warnings == []


def test_audiences_and_lifetime_are_as_asked(desk: Desk, payload: Payload) -> None:
    request = desk.ask({"audiences": ["a", "b"], "expirationSeconds": 700}).token_request
    body = payload(request["status"]["token"])
    assert (body["aud"], body["exp"] - body["iat"]) == (["a", "b"], 700)


def test_the_account_has_to_exist(desk: Desk) -> None:
    refusal = desk.refusal(account="nope")
    assert (refusal.code, refusal.message) == (404, 'serviceaccounts "nope" not found')


@pytest.mark.parametrize(
    ("seconds", "problem"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        (0, "may not specify a duration less than 10 minutes"),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_lifetimes_have_limits(desk: Desk, seconds: int, problem: str) -> None:
    refusal = desk.refusal({"expirationSeconds": seconds})
    assert refusal.code == 422
    assert refusal.message == (
        f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {problem}'
    )


def test_the_metadata_has_to_be_the_accounts(desk: Desk) -> None:
    refusal = desk.refusal({}, {"name": "x"})
    assert refusal.message == (
        'TokenRequest.authentication.k8s.io "s1" is invalid: metadata.name: Invalid value: "x": '
        "must match the service account name if specified"
    )
    assert desk.refusal({}, {"namespace": "x"}).code == 422
    refusal = desk.refusal({}, {"uid": "x"})
    assert (refusal.code, refusal.message) == (
        409,
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "s1": '
        "the UID in the token request (x) does not match the UID of the service account (s1-uid)",
    )
    assert desk.ask({}, {"name": "s1", "uid": "s1-uid", "labels": {"a": "b"}}).token_request["metadata"]["labels"]


@pytest.mark.parametrize(("kind", "resource"), [("Pod", "pods"), ("Secret", "secrets"), ("Node", "nodes")])
def test_what_a_token_is_bound_to_has_to_exist(desk: Desk, kind: str, resource: str) -> None:
    refusal = desk.refusal(bound(kind, "p"))
    assert (refusal.code, refusal.message) == (404, f'{resource} "p" not found')


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (bound("ConfigMap", "p"), "/v1, Kind=ConfigMap"),
        (bound("Pod", "p", "apps/v1"), "apps/v1, Kind=Pod"),
        ({"boundObjectRef": {}}, "/, Kind="),
    ],
)
def test_other_kinds_cannot_be_bound_to(desk: Desk, reference: dict[str, Any], shown: str) -> None:
    refusal = desk.refusal(reference)
    assert (refusal.code, refusal.message) == (400, f"cannot bind token to object of type {shown}")


def test_an_unreadable_version_counts_as_none(desk: Desk) -> None:
    assert desk.refusal(bound("Pod", "p", "a/b/c")).message == 'pods "p" not found'


def test_a_pod_has_to_run_as_the_account(desk: Desk) -> None:
    desk.objects.add("Pod", "p", spec={"serviceAccountName": "other"})
    refusal = desk.refusal(bound("Pod", "p"))
    assert (refusal.code, refusal.message) == (
        400,
        'cannot bind token for serviceaccount "s1" to pod running with different serviceaccount name.',
    )


def test_a_uid_has_to_be_the_objects(desk: Desk) -> None:
    desk.objects.add("Secret", "x")
    refusal = desk.refusal(bound("Secret", "x", uid="zz"))
    assert (refusal.code, refusal.message) == (
        409,
        'Operation cannot be fulfilled on Secret "x": the UID in the bound object reference (zz) does not match '
        "the UID in record. The object might have been deleted and then recreated",
    )


def test_a_pods_token_tells_its_node(desk: Desk, payload: Payload) -> None:
    desk.objects.add("Pod", "p", spec={"serviceAccountName": "s1", "nodeName": "n"})
    own = payload(desk.ask(bound("Pod", "p")).token_request["status"]["token"])["kubernetes.io"]
    assert (own["pod"], own["node"]) == ({"name": "p", "uid": "p-uid"}, {"name": "n"})
    desk.objects.add("Node", "n", "")
    own = payload(desk.ask(bound("Pod", "p")).token_request["status"]["token"])["kubernetes.io"]
    assert own["node"] == {"name": "n", "uid": "n-uid"}


def test_a_node_or_secret_can_be_bound_to(desk: Desk, payload: Payload) -> None:
    desk.objects.add("Node", "n", "")
    desk.objects.add("Secret", "x")
    own = payload(desk.ask(bound("Node", "n")).token_request["status"]["token"])["kubernetes.io"]
    assert own["node"] == {"name": "n", "uid": "n-uid"}
    own = payload(desk.ask(bound("Secret", "x", uid="x-uid")).token_request["status"]["token"])["kubernetes.io"]
    assert own["secret"] == {"name": "x", "uid": "x-uid"}


def test_a_kubelets_usual_token_lives_a_year_and_warns_after_the_hour(desk: Desk, payload: Payload) -> None:
    desk.objects.add("Pod", "p", spec={"serviceAccountName": "s1"})
    spec = {**bound("Pod", "p"), "expirationSeconds": 3607}
    request = desk.ask(spec).token_request
    body = payload(request["status"]["token"])
    assert body["exp"] - body["iat"] == 365 * 24 * 3600
    assert body["kubernetes.io"]["warnafter"] - body["iat"] == 3607
    assert request["status"]["expirationTimestamp"] == "2026-05-04T04:02:08Z"
    other = payload(desk.ask({**spec, "audiences": ["x"]}).token_request["status"]["token"])
    assert other["exp"] - other["iat"] == 3607
    plain = payload(desk.ask({"expirationSeconds": 3607}).token_request["status"]["token"])
    assert plain["exp"] - plain["iat"] == 3607


def test_the_server_may_shorten_what_is_asked(desk: Desk, payload: Payload) -> None:
    issued = desk.ask({"expirationSeconds": 7200}, maximum=3600)
    assert issued.warnings == ["requested expiration of 7200 seconds shortened to 3600 seconds"]
    assert issued.token_request["spec"]["expirationSeconds"] == 3600
    body = payload(issued.token_request["status"]["token"])
    assert body["exp"] - body["iat"] == 3600


def test_the_request_is_not_changed(desk: Desk) -> None:
    requests = TokenRequests(desk.signer, ISSUER, (ISSUER,), desk.objects, desk.world, maximum=600)
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"expirationSeconds": 900}}
    prepared = requests.prepare(body, "default", "s1")
    requests.issue(prepared)
    assert body == {"metadata": {"labels": {"a": "b"}}, "spec": {"expirationSeconds": 900}}
    assert prepared["status"] == {"token": "", "expirationTimestamp": None}
