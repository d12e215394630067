"""The OpenAPI document says what needs approval, and every answer that may come."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.urls import include, path
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema as Unaware
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations.rest_framework.schema import AutoSchema
from tests.agents import ApiClient
from tests.configuring import configure
from tests.shop import api, guarded, orders
from tests.shop.orders import ApiBehaviour

Document = Callable[..., dict[str, Any]]
GATED = [
    ("/class/", "post"),
    ("/class/", "put"),
    ("/class/", "delete"),
    ("/function/", "post"),
    ("/decorated/", "post"),
    ("/generic/", "post"),
    ("/viewset/", "post"),
    ("/viewset/{id}/", "patch"),
    ("/viewset/{id}/cancel/", "post"),
    ("/viewset/{id}/refund/", "post"),
    ("/public/", "post"),
]
UNGATED = [("/class/", "get"), ("/function/", "get"), ("/members/", "get")]


class Problem(serializers.Serializer[Any]):
    """A site's own error."""

    detail = serializers.CharField()


class Hidden(AutoSchema):
    """A schema class of the site's own."""

    def is_excluded(self) -> bool:
        """Leave everything out."""
        return True


def documented() -> type[APIView]:
    """Make a view that drf-spectacular's decorators look at when it is made."""

    class Documented(APIView):
        """A view that documents its own answers."""

        @extend_schema(
            description="Take an order.",
            request=orders.OrderRequest,
            responses={
                200: orders.OrderRequest,
                403: OpenApiResponse(Problem, description="Not allowed."),
                429: {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
        )
        @api.gated
        def post(self, request: Any) -> Response:
            """Never called."""
            raise NotImplementedError

        @extend_schema(exclude=True)
        def delete(self, request: Any) -> Response:
            """Never called."""
            raise NotImplementedError

    return Documented


@pytest.fixture
def document(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Document:
    """Make the OpenAPI document of the test site's API."""

    def generate(schema_class: type[Unaware] = AutoSchema) -> dict[str, Any]:
        settings.REST_FRAMEWORK = {
            "DEFAULT_SCHEMA_CLASS": f"{schema_class.__module__}.{schema_class.__name__}"
        }
        patterns = [
            *api.urlpatterns,
            *guarded.urlpatterns,
            path("documented/", documented().as_view()),
        ]
        for view_class in {callback.cls for callback in _callbacks(patterns)}:
            monkeypatch.setattr(view_class, "schema", schema_class())
        generator = SchemaGenerator(patterns=patterns)
        result: dict[str, Any] = generator.get_schema(request=None, public=True)
        return result

    return generate


def _callbacks(patterns: Iterable[Any]) -> Iterator[Any]:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _callbacks(pattern.url_patterns)
        elif hasattr(pattern.callback, "cls"):
            yield pattern.callback


def bodies(operation: dict[str, Any], status: int) -> list[Any]:
    """The schemas of one status, by name."""
    schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
    variants = schema.get("anyOf", [schema])
    return [variant.get("$ref", "").rpartition("/")[2] or variant for variant in variants]


@pytest.mark.parametrize(("address", "method"), GATED)
def test_what_needs_approval_is_marked(address: str, method: str, document: Document) -> None:
    operation = document()["paths"][address][method]

    assert operation["x-poppy-operation"] == {
        "action": "api.order",
        "version": "3",
        "approvers": ["user", "agent"],
    }
    assert "Needs approval" in operation["description"]
    names = {parameter["name"] for parameter in operation["parameters"]}
    assert {"Poppy-Approval", "Poppy-Extensions"} <= names
    assert {"PoppyApprovalRequired", "PoppyApprovalDeclined", "PoppyInvalidSession"} <= set(
        map(str, bodies(operation, 403))
    )
    assert "PoppyExtensionRequired" in bodies(operation, 403)
    assert "PoppySignIn" in bodies(operation, 401)
    assert "PoppyRateLimited" in bodies(operation, 429)
    assert bodies(operation, 503) == ["PoppyPerforming", "PoppyUnavailable"]
    assert "PoppyPerformed" in bodies(operation, 200)
    for status in ("429", "503"):
        assert "Retry-After" in operation["responses"][status]["headers"]
    assert "WWW-Authenticate" in operation["responses"]["401"]["headers"]


@pytest.mark.parametrize(("address", "method"), UNGATED)
def test_what_needs_none_has_the_errors_of_the_core_protocol_alone(
    address: str, method: str, document: Document
) -> None:
    operation = document()["paths"][address][method]

    assert "x-poppy-operation" not in operation
    assert "PoppyInvalidSession" in bodies(operation, 403)
    assert "PoppyApprovalRequired" not in bodies(operation, 403)
    assert bodies(operation, 503) == ["PoppyUnavailable"]
    assert "429" not in operation["responses"]


def test_a_view_that_knows_no_agents_is_left_as_it_is(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded.Members, "authentication_classes", ())
    ours = document()["paths"]["/members/"]["get"]

    assert ours == document(Unaware)["paths"]["/members/"]["get"]


def test_what_the_view_documents_itself_stays(document: Document) -> None:
    operation = document()["paths"]["/documented/"]["post"]

    assert operation["description"].startswith("Take an order.\n\nNeeds approval")
    assert bodies(operation, 403)[0] == "Problem"
    assert operation["responses"]["403"]["description"].startswith("Not allowed.\n\n")
    assert bodies(operation, 200) == ["OrderRequest", "PoppyPerformed"]
    assert bodies(operation, 429)[:2] == [{"type": "string"}, {"type": "integer"}]
    assert "delete" not in document()["paths"]["/documented/"]


def test_a_scope_adds_its_error_where_it_is_asked_for(
    document: Document,
) -> None:
    paths = document()["paths"]

    assert "PoppyInsufficientScope" in bodies(paths["/scoped/"]["get"], 403)
    assert "PoppyInsufficientScope" not in bodies(paths["/members/"]["get"], 403)


def test_the_status_of_extension_required_follows_its_setting(
    document: Document, settings: Any
) -> None:
    configure(settings, EXTENSION_REQUIRED_STATUS=426)
    operation = document()["paths"]["/class/"]["post"]

    assert bodies(operation, 426) == ["PoppyExtensionRequired"]
    assert "PoppyExtensionRequired" not in bodies(operation, 403)


def test_sessions_and_tokens_are_security_schemes(document: Document) -> None:
    schema = document()
    schemes = schema["components"]["securitySchemes"]

    assert schemes["poppySession"]["name"] == "Poppy-Session"
    assert schemes["poppyAccessToken"]["scheme"] == "bearer"
    security = schema["paths"]["/scoped/"]["get"]["security"]
    assert security[:2] == [{"poppySession": [], "poppyAccessToken": []}, {"poppySession": []}]


def test_a_schema_class_of_the_sites_own_decides_what_is_in(
    document: Document,
) -> None:
    assert document(Hidden)["paths"] == {}


def test_the_endpoint_is_the_protocols_and_in_no_document_of_the_site(
    capsys: pytest.CaptureFixture[str],
) -> None:
    patterns = [path("poppy/", include("poppy_operations.urls"))]
    document = SchemaGenerator(patterns=patterns).get_schema(request=None, public=True)

    assert document["paths"] == {}
    assert capsys.readouterr().err == ""  # nor a complaint about it


def test_every_reference_has_its_component(document: Document) -> None:
    schema = document()
    named = set(schema["components"]["schemas"])
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                found.add(value["$ref"].rpartition("/")[2])
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(schema)
    assert found <= named
    assert {"PoppyOperation", "PoppyPerforming", "PoppyApprovalDeclined"} <= found


@pytest.mark.django_db
@pytest.mark.usefixtures("transactions")
def test_real_answers_are_as_the_document_says(
    document: Document,
    agents_api: ApiClient,
    signed_out_api: ApiClient,
    shop: ApiBehaviour,
) -> None:
    schema = document()
    operation = agents_api.ask()
    answers = [
        agents_api.send(),
        agents_api.send(declared=False),
        agents_api.send(headers={"Poppy-Session": "no.jwt"}),
        agents_api.send(headers={"Poppy-Approval": "a=1"}),
        agents_api.send(body="not json"),
        signed_out_api.approve(operation),
        agents_api.approve(operation),
    ]
    elsewhere = agents_api.approve(operation, path="/api/function/")

    documented = schema["paths"]["/class/"]["post"]["responses"]
    assert elsewhere.status_code == 200
    for answer in [*answers, elsewhere]:
        if answer.status_code == 201:
            continue  # The view's own; the test site documents none.
        variants = bodies(schema["paths"]["/class/"]["post"], answer.status_code)
        assert str(answer.status_code) in documented
        assert any(_fits(answer.json(), name, schema) for name in variants), answer.content


def _fits(body: dict[str, Any], name: Any, schema: dict[str, Any]) -> bool:
    if name == {}:
        return True
    described = schema["components"]["schemas"][name]
    return set(described["required"]) <= set(body) <= set(described["properties"])


@pytest.mark.slow
def test_nothing_of_it_is_imported_without_the_extra() -> None:
    code = (
        "import sys; sys.modules['drf_spectacular'] = None\n"
        "import django; django.setup()\n"
        "import poppy_operations.rest_framework, poppy_operations.action, tests.urls\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""},
    )
