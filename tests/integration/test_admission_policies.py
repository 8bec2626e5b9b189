"""Admission policies and the built-in plugins, through the whole write path."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request

Json = dict[str, Any]

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]


class Client:
    """Talks to the API server as an administrator."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.warnings: list[str] = []

    async def __call__(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Json:
        headers = {"Authorization": "Bearer admin", "Content-Type": kind, "User-Agent": "test/1"}
        data = b"" if body is None else json.dumps(body).encode()
        response = await self.server.handle(Request.make(method, path, data, headers))
        self.warnings = [value for name, value in response.headers if name == "Warning"]
        answer: Json = json.loads(response.body)
        return answer

    async def policy(self, sort: str, spec: Json, **binding: Any) -> None:
        """Put a policy to use for ConfigMaps in the default namespace."""
        match = {
            "resourceRules": RULES,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        }
        path = f"{REGISTRATION}/{sort}admissionpolic"
        body = {"metadata": {"name": "rule"}, "spec": {"matchConstraints": match, **spec}}
        made = await self("POST", f"{path}ies", body)
        assert "code" not in made, made
        made = await self(
            "POST", f"{path}ybindings", {"metadata": {"name": "use"}, "spec": {"policyName": "rule", **binding}}
        )
        assert "code" not in made, made

    async def create(self, name: str = "a", **data: str) -> Json:
        return await self("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": data or {"x": "1"}})


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    server = await ApiServer.start(Config(tokens={"admin": User("admin", "1", ("system:masters",))}))
    yield Client(server)
    await server.stop()


async def test_a_broken_policy_refuses_the_write_with_its_message_and_reason(client: Client) -> None:
    validation = {"expression": "object.data.x == '2'", "messageExpression": "'x is ' + object.data.x"}
    await client.policy("validating", {"validations": [validation]}, validationActions=["Deny"])
    refused = await client.create()
    message = "ValidatingAdmissionPolicy 'rule' with binding 'use' denied request: x is 1"
    assert refused["message"] == f'configmaps "a" is forbidden: {message}'
    assert (refused["code"], refused["reason"]) == (422, "Invalid")
    assert refused["details"]["causes"] == [{"message": message}]
    assert (await client.create(x="2"))["kind"] == "ConfigMap"


async def test_a_binding_may_warn_instead(client: Client) -> None:
    validation = {"expression": "false", "message": "not good"}
    await client.policy("validating", {"validations": [validation]}, validationActions=["Warn", "Audit"])
    assert (await client.create())["kind"] == "ConfigMap"
    assert client.warnings == [
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'rule' with binding 'use': not good\""
    ]


@pytest.mark.parametrize(("failure_policy", "goes_through"), [("Fail", False), ("Ignore", True)])
async def test_an_expression_that_fails_counts_unless_ignored(
    client: Client, failure_policy: str, goes_through: bool
) -> None:
    spec = {"validations": [{"expression": "object.data.none == '1'"}], "failurePolicy": failure_policy}
    await client.policy("validating", spec, validationActions=["Deny"])
    assert ((await client.create())["kind"] == "ConfigMap") is goes_through


async def test_parameters_come_from_the_object_that_the_binding_names(client: Client) -> None:
    await client("POST", CONFIG_MAPS, {"metadata": {"name": "wanted"}, "data": {"x": "7"}})
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "object.data.x == params.data.x"}],
    }
    reference = {"name": "wanted", "parameterNotFoundAction": "Deny"}
    await client.policy("validating", spec, validationActions=["Deny"], paramRef=reference)
    assert (await client.create(x="7"))["kind"] == "ConfigMap"
    assert "failed expression: object.data.x == params.data.x" in (await client.create("b"))["message"]
    await client("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/use")
    await client("DELETE", f"{CONFIG_MAPS}/wanted")
    binding = {"policyName": "rule", "validationActions": ["Deny"], "paramRef": reference}
    await client(
        "POST", f"{REGISTRATION}/validatingadmissionpolicybindings", {"metadata": {"name": "use"}, "spec": binding}
    )
    missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert missing in (await client.create("c"))["message"]


@pytest.mark.parametrize(
    "mutation",
    [
        {
            "patchType": "JSONPatch",
            "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'by': 'policy'}}]"},
        },
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'by': 'policy'}}}"},
        },
    ],
)
async def test_a_mutating_policy_changes_what_is_written(client: Client, mutation: Json) -> None:
    await client.policy("mutating", {"mutations": [mutation], "reinvocationPolicy": "Never"})
    created = await client.create()
    assert created["metadata"]["labels"] == {"by": "policy"}
    assert created["data"] == {"x": "1"}


async def test_an_apply_configuration_must_not_replace_what_is_atomic(client: Client) -> None:
    expression = "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'x': 'y'}}}}"
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    rules = [{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]
    spec = {"mutations": [mutation], "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": rules}}
    await client.policy("mutating", spec)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    refused = await client("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
    assert "may not mutate atomic arrays, maps or structs: .spec.selector" in refused["message"]


def _pod(**spec: Any) -> Json:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def test_a_pod_gets_its_account_token_priority_and_tolerations(client: Client) -> None:
    await client.server.settled()
    spec = (await client("POST", "/api/v1/namespaces/default/pods", _pod()))["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["containers"][0]["volumeMounts"][0]["name"] == spec["volumes"][0]["name"]
    assert spec["volumes"][0]["name"].startswith("kube-api-access-")
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [each["tolerationSeconds"] for each in spec["tolerations"]] == [300, 300]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"serviceAccountName": "no"},
            'error looking up service account default/no: serviceaccount "no" not found',
        ),
        ({"priorityClassName": "no"}, "no PriorityClass with name no was found"),
        ({"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found'),
    ],
)
async def test_a_pod_must_not_refer_to_what_is_not_there(client: Client, spec: Json, why: str) -> None:
    await client.server.settled()
    refused = await client("POST", "/api/v1/namespaces/default/pods", _pod(**spec))
    assert (refused["code"], refused["message"]) == (403, f'pods "p" is forbidden: {why}')


async def test_limit_ranges_fill_in_and_bound_what_containers_ask_for(client: Client) -> None:
    await client.server.settled()
    limit = {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}
    body = {"metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    await client("POST", "/api/v1/namespaces/default/limitranges", body)
    created = await client("POST", "/api/v1/namespaces/default/pods?dryRun=All", _pod())
    assert created["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    note = "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    assert created["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == note
    greedy = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}
    refused = await client("POST", "/api/v1/namespaces/default/pods?dryRun=All", _pod(containers=[greedy]))
    assert refused["message"].endswith("maximum cpu usage per Container is 1, but limit is 2")


async def test_a_new_node_takes_no_pods_yet(client: Client) -> None:
    node = await client("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


async def test_a_claim_is_protected_and_gets_the_newest_default_class(client: Client) -> None:
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("b", "a"):
        body = {"metadata": {"name": name, "annotations": marked}, "provisioner": "example.com/x"}
        await client("POST", "/apis/storage.k8s.io/v1/storageclasses", body)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    created = await client("POST", path, {"metadata": {"name": "c"}, "spec": claim})
    assert created["spec"]["storageClassName"] == "a"
    assert created["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    bound = {"status": {"phase": "Bound"}}
    await client("PATCH", f"{path}/c/status", bound, "application/merge-patch+json")
    more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    refused = await client("PATCH", f"{path}/c", more, "application/merge-patch+json")
    assert refused["code"] == 403
    assert "the storageclass that provisions the pvc must support resize" in refused["message"]


async def test_a_quota_is_charged_for_what_is_stored_and_refuses_the_rest(client: Client) -> None:
    await client("POST", "/api/v1/namespaces", {"metadata": {"name": "small"}})
    await client.server.settled()
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"count/secrets": "1"}}}
    await client("POST", "/api/v1/namespaces/small/resourcequotas", body)
    await client.server.settled()
    path = "/api/v1/namespaces/small/secrets"
    assert (await client("POST", f"{path}?dryRun=All", {"metadata": {"name": "tried"}}))["kind"] == "Secret"
    assert (await client("POST", path, {"metadata": {"name": "first"}}))["kind"] == "Secret"
    refused = await client("POST", path, {"metadata": {"name": "second"}})
    assert refused["message"] == (
        'secrets "second" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=1, '
        "limited: count/secrets=1"
    )
    await client("DELETE", f"{path}/first")
    await client.server.settled()
    assert (await client("POST", path, {"metadata": {"name": "second"}}))["kind"] == "Secret"


async def test_a_pod_has_to_say_what_a_quota_limits(client: Client) -> None:
    await client.server.settled()
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1"}}}
    await client("POST", "/api/v1/namespaces/default/resourcequotas", body)
    await client.server.settled()
    refused = await client("POST", "/api/v1/namespaces/default/pods", _pod())
    assert refused["message"].endswith("failed quota: q: must specify requests.cpu for: c")


async def test_a_namespace_keeps_pods_to_its_security_standard(client: Client) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted"}
    await client("POST", "/api/v1/namespaces", {"metadata": {"name": "safe", "labels": labels}})
    await client.server.settled()
    refused = await client("POST", "/api/v1/namespaces/safe/pods", _pod(hostPID=True))
    why = 'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    assert refused["message"] == f'pods "p" is forbidden: {why}'
    assert (await client("POST", "/api/v1/namespaces/safe/pods", _pod()))["kind"] == "Pod"
    assert 'would violate PodSecurity \\"restricted:latest\\": allowPrivilegeEscalation != false' in client.warnings[0]
    wrong = {"metadata": {"name": "odd", "labels": {"pod-security.kubernetes.io/enforce": "some"}}}
    assert (await client("POST", "/api/v1/namespaces", wrong))["reason"] == "Invalid"


async def test_what_configures_admission_is_checked_when_it_is_written(client: Client) -> None:
    hook = {"name": "short", "clientConfig": {"url": "http://a"}, "sideEffects": "Some", "timeoutSeconds": 31}
    body = {"metadata": {"name": "wrong"}, "webhooks": [hook]}
    refused = await client("POST", f"{REGISTRATION}/validatingwebhookconfigurations", body)
    assert [each["field"] for each in refused["details"]["causes"]] == [
        "webhooks[0].name",
        "webhooks[0].sideEffects",
        "webhooks[0].timeoutSeconds",
        "webhooks[0].clientConfig.url",
        "webhooks[0].admissionReviewVersions",
    ]
