"""Certificate requests from the asking to the end."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from nagaya.apiserver.controllers.request_cleaner import RequestCleaner
from nagaya.pki import keys, requests
from nagaya.pki.certificates import CertificateSpec
from support.in_process import Api

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"


def asked(
    name: str = "csr",
    signer: str = CLIENT,
    common_name: str = "jane",
    organizations: tuple[str, ...] = ("dev",),
    usages: tuple[str, ...] = ("client auth",),
    dns: tuple[str, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    text = requests.create(CertificateSpec(common_name, organizations, (), dns), keys.generate())
    spec = {"request": base64.b64encode(text).decode(), "signerName": signer, "usages": list(usages), **more}
    return {"metadata": {"name": name}, "spec": spec}


async def approve(api: Api, name: str = "csr", kind: str = "Approved", user: str = "admin") -> tuple[int, Any]:
    request = await api.must(f"{PATH}/{name}")
    condition = {"type": kind, "status": "True", "reason": "Test", "message": "because"}
    request["status"] = {"conditions": [*request["status"].get("conditions", ()), condition]}
    answer = await api.ask("PUT", f"{PATH}/{name}/approval", request, user=user)
    await api.server.settled()
    return answer


def certificate(request: dict[str, Any]) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(request["status"]["certificate"]))


async def test_who_asks_is_written_down_by_the_server(api: Api) -> None:
    made = await api.create(PATH, asked(username="someone else", groups=["system:masters"]))
    assert made["spec"]["username"] == "admin"
    assert made["spec"]["groups"] == ["system:masters", "system:authenticated"]
    assert made["status"] == {}


async def test_an_approved_request_is_signed_by_the_servers_authority(api: Api) -> None:
    await api.create(PATH, asked(expirationSeconds=7200))
    assert "certificate" not in (await api.must(f"{PATH}/csr"))["status"]
    code, _ = await approve(api)
    assert code == 200
    made = certificate(await api.must(f"{PATH}/csr"))
    made.verify_directly_issued_by(api.server.identity.authority.certificate)
    assert made.subject.rfc4514_string() == "CN=jane,O=dev"
    assert made.not_valid_after_utc == api.clock.now() + timedelta(hours=2)
    usage = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert await api.quiet()


async def test_a_denied_request_is_not_signed(api: Api) -> None:
    await api.create(PATH, asked())
    await approve(api, kind="Denied")
    assert "certificate" not in (await api.must(f"{PATH}/csr"))["status"]


async def test_an_approved_request_that_breaks_its_signers_rules_fails(api: Api) -> None:
    await api.create(PATH, asked(usages=("server auth",)))
    await approve(api)
    status = (await api.must(f"{PATH}/csr"))["status"]
    assert "certificate" not in status
    failed = status["conditions"][-1]
    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
    assert failed["message"] == "invalid usage for client certificate: server auth"


async def test_a_foreign_signers_request_is_left_alone(api: Api) -> None:
    await api.create(PATH, asked(signer="example.com/mine"))
    await approve(api)
    assert "certificate" not in (await api.must(f"{PATH}/csr"))["status"]


async def test_a_kubelets_own_request_is_approved_if_it_has_the_right(api: Api) -> None:
    for role in ("certificates.k8s.io:certificatesigningrequests:selfnodeclient", "node-bootstrapper"):
        await api.create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {
                "metadata": {"name": role},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": f"system:{role}",
                },
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}],
            },
        )
    usages = ("digital signature", "key encipherment", "client auth")
    body = asked("mine", KUBELET, "system:node:n1", ("system:nodes",), usages)
    await api.create(PATH, body, user="kubelet")
    mine = await api.must(f"{PATH}/mine")
    assert mine["status"]["conditions"][0]["message"] == (
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    )
    assert certificate(mine).subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    # Not for another node, and not for serving.
    await api.create(PATH, asked("other", KUBELET, "system:node:n2", ("system:nodes",), usages), user="kubelet")
    assert (await api.must(f"{PATH}/other"))["status"] == {}
    serving = asked(
        "serving", SERVING, "system:node:n1", ("system:nodes",), ("digital signature", "server auth"), ("n1",)
    )
    await api.create(PATH, serving, user="kubelet")
    assert (await api.must(f"{PATH}/serving"))["status"] == {}
    await approve(api, "serving")
    names = certificate(await api.must(f"{PATH}/serving")).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["n1"]


async def test_nobody_gets_the_group_that_may_do_everything(api: Api) -> None:
    code, refusal = await api.ask("POST", PATH, asked(organizations=("system:masters",)))
    assert code == 403
    assert (
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
        in (refusal["message"])
    )


async def test_the_spec_stays_and_each_door_writes_only_its_own(api: Api) -> None:
    made = await api.create(PATH, asked())
    changed = {**made, "spec": {**made["spec"], "usages": ["server auth"]}, "status": {"certificate": "eA=="}}
    code, after = await api.ask("PUT", f"{PATH}/csr", changed)
    assert code == 200
    assert (after["spec"], after["status"]) == (made["spec"], {})
    code, refusal = await api.ask("PUT", f"{PATH}/csr/status", {**made, "status": {"certificate": "bm8gUEVN"}})
    assert code == 422
    assert "must contain at least one CERTIFICATE PEM block" in refusal["message"]


async def test_a_bad_request_is_refused(api: Api) -> None:
    body = asked()
    body["spec"] |= {"request": base64.b64encode(b"nonsense").decode(), "signerName": "nodomain", "usages": []}
    code, refusal = await api.ask("POST", PATH, body)
    assert code == 422
    fields = [each["field"] for each in refusal["details"]["causes"]]
    assert fields == ["spec.request", "spec.usages", "spec.signerName"]


async def test_requests_can_be_selected_by_signer(api: Api) -> None:
    await api.create(PATH, asked("a"))
    await api.create(PATH, asked("b", "example.com/mine"))
    _, found = await api.ask("GET", f"{PATH}?fieldSelector=spec.signerName=example.com/mine")
    assert [each["metadata"]["name"] for each in found["items"]] == ["b"]


async def test_requests_go_after_a_while(api: Api) -> None:
    for name in ("open", "signed", "denied"):
        await api.create(PATH, asked(name))
    await approve(api, "signed")
    await approve(api, "denied", "Denied")
    cleaner = RequestCleaner(api.server.backend)
    assert await cleaner.sync("signed") == 3600
    api.clock.passed = timedelta(hours=1, seconds=1)
    for name in ("open", "signed", "denied"):
        await cleaner.sync(name)
    _, left = await api.ask("GET", PATH)
    assert [each["metadata"]["name"] for each in left["items"]] == ["open"]
    api.clock.passed = timedelta(hours=24, seconds=1)
    await cleaner.sync("open")
    assert await api.get(f"{PATH}/open") is None
