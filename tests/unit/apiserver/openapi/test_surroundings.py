from __future__ import annotations

import json

from nagaya.apiserver.openapi import surroundings

PREFIX = "#/components/schemas/"


def test_every_built_in_group_has_a_document_beside_those_of_the_server() -> None:
    made = surroundings.documents(["apps", "rbac.authorization.k8s.io"])
    assert sorted(made) == [
        ".well-known/openid-configuration",
        "api",
        "apis",
        "apis/apps",
        "apis/rbac.authorization.k8s.io",
        "openid/v1/jwks",
        "version",
    ]
    paths, _ = made["apis/rbac.authorization.k8s.io"]
    assert paths["/apis/rbac.authorization.k8s.io/"]["get"]["operationId"] == "getRbacAuthorizationAPIGroup"
    assert paths["/apis/rbac.authorization.k8s.io/"]["get"]["tags"] == ["rbacAuthorization"]


def test_documents_hold_every_schema_that_they_refer_to() -> None:
    for paths, schemas in (*surroundings.documents(["apps"]).values(), surroundings.resources("", "v1")):
        text = json.dumps([paths, schemas])
        named = {part.partition('"')[0] for part in text.split(PREFIX)[1:]}
        assert named == set(schemas)


def test_the_list_of_resources_is_described_at_the_path_of_its_version() -> None:
    assert list(surroundings.resources("", "v1")[0]) == ["/api/v1/"]
    [(path, item)] = surroundings.resources("apps", "v1")[0].items()
    assert (path, item["get"]["operationId"]) == ("/apis/apps/v1/", "getAppsV1APIResources")
