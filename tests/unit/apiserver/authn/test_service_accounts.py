from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest

from nagaya.apiserver.authn import claims
from nagaya.apiserver.authn.claims import Reference
from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts
from nagaya.apiserver.authn.jwt import Signer, VerificationKeys
from nagaya.apiserver.authn.service_accounts import ServiceAccountTokens
from nagaya.pki import keys

ISSUER = "https://kubernetes.default.svc.cluster.local"
CREDENTIAL = "authentication.kubernetes.io/credential-id"


class Server:
    """A service account authenticator with one account, and what is needed to make tokens for it."""

    def __init__(self, objects: Any, clock: Any, signer: Signer) -> None:
        self.objects, self.clock, self.signer = objects, clock, signer
        self.used: list[Any] = []
        self.account = objects.add("ServiceAccount", "s1")
        verification = VerificationKeys([signer.public_key])
        self.tokens = ServiceAccountTokens(verification, [ISSUER], (ISSUER,), objects, clock, self.used.append)

    def bound(self, hours: float = 1, **more: Any) -> str:
        audiences = more.pop("audiences", (ISSUER,))
        life = timedelta(hours=hours)
        return self.signer.sign(claims.bound(ISSUER, "id-1", self.account, audiences, self.clock.now(), life, **more))

    def ask(self, token: str, *audiences: str) -> Identity | None:
        self.facts = RequestFacts(audiences=audiences)
        return self.tokens.authenticate_token(token, self.facts)

    def why(self, token: str, *audiences: str) -> str:
        with pytest.raises(Refused) as refusal:
            self.ask(token, *audiences)
        assert token not in refusal.value.why
        return refusal.value.why


@pytest.fixture
def server(objects: Any, clock: Any, signer: Signer) -> Server:
    return Server(objects, clock, signer)


def test_a_token_is_its_accounts(server: Server) -> None:
    identity = server.ask(server.bound())
    assert identity is not None
    assert identity.audiences == (ISSUER,)
    assert identity.user.as_info() == {
        "username": "system:serviceaccount:default:s1",
        "uid": "s1-uid",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {CREDENTIAL: ["JTI=id-1"]},
    }


def test_other_tokens_are_none_of_its_business(server: Server) -> None:
    other = server.signer.sign({"iss": "https://elsewhere", "sub": "x"})
    assert server.ask(other) is None
    for odd in ([], {}, 1, None):
        assert server.ask(server.signer.sign({"iss": odd})) is None
    assert server.ask("abcdef.0123456789abcdef") is None
    assert server.ask("") is None


def test_signatures_of_strangers_are_refused(server: Server) -> None:
    stranger = Signer(keys.generate())
    forged = stranger.sign({"iss": ISSUER})
    assert server.why(forged) == "invalid signature, no keys found"
    token = server.bound()
    head, body, signature = token.split(".")
    changed = "A" if signature[0] != "A" else "B"
    assert server.why(f"{head}.{body}.{changed}{signature[1:]}") == (
        "go-jose/go-jose: error in cryptographic primitive"
    )


def test_a_token_has_to_be_meant_for_whom_it_is_shown(server: Server) -> None:
    token = server.bound(audiences=("foo", "bar"))
    assert server.why(token) == f'token audiences ["foo" "bar"] is invalid for the target audiences ["{ISSUER}"]'
    identity = server.ask(token, "x", "bar", "foo")
    assert identity is not None
    assert identity.audiences == ("bar", "foo")


def test_dates_are_kept_with_a_minute_of_leeway(server: Server) -> None:
    token = server.bound()
    server.clock.advance(seconds=-59)
    assert server.ask(token) is not None
    server.clock.advance(seconds=-2)
    assert server.why(token) == "service account token is not valid yet"
    server.clock.advance(hours=1, seconds=120)
    assert server.ask(token) is not None
    server.clock.advance(seconds=2)
    assert server.why(token) == "service account token has expired"


def test_a_token_from_the_future_is_refused(server: Server) -> None:
    body = claims.bound(ISSUER, "x", server.account, (ISSUER,), server.clock.now(), timedelta(hours=1))
    later = int(server.clock.now().timestamp()) + 300
    assert server.why(server.signer.sign({**body, "iat": later})) == "service account token is issued in the future"


def test_a_token_ends_with_its_account_although_it_was_verified(server: Server) -> None:
    token = server.bound()
    assert server.ask(token) is not None
    server.objects.drop("ServiceAccount", "s1")
    assert server.why(token) == 'serviceaccounts "s1" not found'
    server.objects.add("ServiceAccount", "s1", metadata={"uid": "new"})
    assert server.why(token) == "service account UID (new) does not match claim (s1-uid)"


def test_an_account_on_its_way_out_is_good_for_another_minute(server: Server) -> None:
    token = server.bound()
    server.account["metadata"]["deletionTimestamp"] = "2026-05-04T03:02:01Z"
    assert server.ask(token) is not None
    server.clock.advance(seconds=61)
    assert server.why(token) == "service account default/s1 has been deleted"


@pytest.mark.parametrize(
    ("kind", "namespace", "extra"),
    [
        (
            "Pod",
            "default",
            {"authentication.kubernetes.io/pod-name": ["b"], "authentication.kubernetes.io/pod-uid": ["b-uid"]},
        ),
        (
            "Node",
            "",
            {"authentication.kubernetes.io/node-name": ["b"], "authentication.kubernetes.io/node-uid": ["b-uid"]},
        ),
        ("Secret", "default", {}),
    ],
)
def test_a_token_ends_with_what_it_is_bound_to(
    server: Server, kind: str, namespace: str, extra: dict[str, list[str]]
) -> None:
    obj = server.objects.add(kind, "b", namespace)
    lower = kind.lower()
    token = server.bound(**{lower: Reference.of(obj) if kind == "Node" else obj})
    identity = server.ask(token)
    assert identity is not None
    assert identity.user.as_info()["extra"] == {CREDENTIAL: ["JTI=id-1"], **extra}
    server.objects.drop(kind, "b", namespace)
    assert server.why(token) == "service account token has been invalidated"
    server.objects.add(kind, "b", namespace, metadata={"uid": "new"})
    assert server.why(token) == f"{lower} UID (new) does not match service account {lower} ref claim (b-uid)"
    server.objects.add(kind, "b", namespace, metadata={"deletionTimestamp": "2026-05-04T03:00:00Z"})
    assert server.why(token) == "service account token has been invalidated"


def test_the_node_of_a_pod_is_information_only(server: Server) -> None:
    token = server.bound(pod=server.objects.add("Pod", "p"), node=Reference("gone", ""))
    identity = server.ask(token)
    assert identity is not None
    assert identity.user.extra["authentication.kubernetes.io/node-name"] == ("gone",)
    assert "authentication.kubernetes.io/node-uid" not in identity.user.extra


def test_a_token_used_after_its_warning_time_is_remarked(server: Server) -> None:
    token = server.bound(24, warn_after=timedelta(hours=1))
    assert server.ask(token) is not None
    assert server.facts.annotations == {}
    server.clock.advance(hours=1, seconds=5)
    assert server.ask(token) is not None
    assert server.facts.annotations == {
        "authentication.k8s.io/stale-token": (
            "subject: system:serviceaccount:default:s1, seconds after warning threshold: 5"
        )
    }


def test_verification_is_remembered_for_a_bounded_number_of_tokens(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagaya.apiserver.authn.service_accounts._REMEMBERED", 2)
    calls = []
    verify = server.tokens._verify
    monkeypatch.setattr(server.tokens, "_verify", lambda text: calls.append(text) or verify(text))
    first, second, third = (server.bound(hours) for hours in (1, 2, 3))
    for token in (first, first, second, first, third, first, second):
        assert server.ask(token) is not None
    assert calls == [first, second, third, second]
    assert len(server.tokens._verified) == 2


def test_a_refused_token_is_forgotten(server: Server) -> None:
    token = server.bound()
    server.ask(token)
    server.objects.drop("ServiceAccount", "s1")
    server.why(token)
    assert not server.tokens._verified


def legacy(server: Server, **changes: str) -> str:
    secret = server.objects.add("Secret", "sec")
    body = claims.legacy(server.account, secret)
    full = {"sub": "sub", **{key: f"kubernetes.io/serviceaccount/{key}" for key in changes if key != "sub"}}
    token = server.signer.sign({**body, **{full[key]: value for key, value in changes.items()}})
    secret["data"] = {"token": base64.b64encode(token.encode()).decode()}
    return token


def test_a_token_of_a_secret_never_expires(server: Server) -> None:
    token = legacy(server)
    server.clock.advance(days=4000)
    identity = server.ask(token, "x", ISSUER)
    assert identity is not None
    assert identity.user.as_info() == {
        "username": "system:serviceaccount:default:s1",
        "uid": "s1-uid",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    }
    assert identity.audiences == (ISSUER,)
    assert server.facts.annotations == {
        "authentication.k8s.io/legacy-token": "system:serviceaccount:default:s1",
        "authentication.k8s.io/legacy-token-manual-secret": "sec",
    }
    assert [secret["metadata"]["name"] for secret in server.used] == ["sec"]


def test_an_autogenerated_token_of_a_secret_is_warned_of(server: Server) -> None:
    server.account["secrets"] = [{"name": "sec"}]
    assert server.ask(legacy(server)) is not None
    assert server.facts.warnings == [
        "Use tokens from the TokenRequest API or manually created secret-based tokens "
        "instead of auto-generated secret-based tokens."
    ]
    assert server.facts.annotations["authentication.k8s.io/legacy-token-autogenerated-secret"] == "sec"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({"namespace": ""}, "namespace claim is missing"),
        ({"secret.name": ""}, "secretName claim is missing"),
        ({"service-account.name": ""}, "serviceAccountName claim is missing"),
        ({"service-account.uid": ""}, "serviceAccountUID claim is missing"),
        ({"sub": "system:serviceaccount:default:zz"}, "sub claim is invalid"),
        ({"secret.name": "gone"}, "Token has been invalidated"),
        ({"service-account.uid": "zz"}, "ServiceAccount UID (s1-uid) does not match claim (zz)"),
    ],
)
def test_a_token_of_a_secret_has_to_say_what_is_true(server: Server, changes: dict[str, str], problem: str) -> None:
    assert server.why(legacy(server, **changes)) == problem


def test_a_token_of_a_secret_ends_with_the_secret(server: Server) -> None:
    token = legacy(server)
    secret = server.objects.known["Secret", "default", "sec"]
    secret["data"] = {"token": base64.b64encode(b"another").decode()}
    assert server.why(token) == "Token does not match server's copy"
    token = legacy(server)
    server.objects.known["Secret", "default", "sec"]["metadata"]["deletionTimestamp"] = "2026-05-04T03:02:01Z"
    assert server.why(token) == "Token has been invalidated"


def test_a_token_of_a_secret_ends_with_the_account(server: Server) -> None:
    token = legacy(server)
    server.account["metadata"]["deletionTimestamp"] = "2026-05-04T03:02:01Z"
    assert server.why(token) == "ServiceAccount default/s1 has been deleted"
    server.objects.drop("ServiceAccount", "s1")
    assert server.why(token) == 'serviceaccounts "s1" not found'


def test_a_token_of_a_secret_can_be_marked_invalid(server: Server) -> None:
    token = legacy(server)
    secret = server.objects.known["Secret", "default", "sec"]
    secret["metadata"]["labels"] = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
    assert server.why(token).startswith(
        "the token in secret default/sec for service account default/s1 has been marked invalid."
    )
    assert server.facts.annotations["authentication.k8s.io/legacy-token-invalidated"] == "sec/default"
