"""What needs approval, in the OpenAPI document of drf-spectacular (the extra ``openapi``).

Set ``DEFAULT_SCHEMA_CLASS`` of ``REST_FRAMEWORK`` to this module's ``AutoSchema``, or to a class of
your own with it among its bases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.plumbing import ComponentIdentity, ComponentRegistry, ResolvedComponent

from poppy_operations.conf import conf
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.gated_handlers import ACTION, GATE, handlers
from poppy_operations.protocol import VERSION
from poppy_operations.rest_framework.authentication import PersonalAgentAuthentication
from poppy_operations.rest_framework.permissions import HasScope
from poppy_operations.rest_framework.schema_components import (
    COMPONENTS,
    NEEDS_APPROVAL,
    PARAMETERS,
    RESPONSES,
    SECURITY_SCHEMES,
    DocumentedAnswer,
)


class AutoSchema(SpectacularSchema):
    """Marks what needs approval, and adds what agents may be answered.

    A gated operation has ``x-poppy-operation`` with the name of its action, the two headers of
    the extension, and every answer of the gate beside the view's own. Other views that
    authenticate Personal Agents have the errors of the core protocol.
    """

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> dict[str, Any] | None:
        """Describe one method of one view."""
        operation = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is None:
            return None
        action = self._action(method.upper())
        if action is not None:
            _mark(operation, action)
        serves_agents = action is not None or self._authenticates_agents()
        for answer in RESPONSES:
            if answer.gated_only and action is None:
                continue
            if serves_agents and (answer.schema != "PoppyInsufficientScope" or self._has_scope()):
                _add(operation["responses"], answer, registry)
        return operation

    def _action(self, method: str) -> DeclaredAction | None:
        """The action behind this method's handler, whatever kind of view it is of."""
        actions = getattr(self.view, "action_map", None)
        callback: Any = SimpleNamespace(cls=type(self.view), actions=actions)
        for handler in handlers(callback, method):
            if method in getattr(handler, GATE, ()):
                action: DeclaredAction = getattr(handler, ACTION)
                return action
        return None

    def _authenticates_agents(self) -> bool:
        return any(
            isinstance(one, PersonalAgentAuthentication) for one in self.view.get_authenticators()
        )

    def _has_scope(self) -> bool:
        return any(isinstance(one, HasScope) for one in self.view.get_permissions())


# drf-spectacular annotates what its users call, and not what it calls itself.
class PersonalAgentScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # so
    """How a Personal Agent authenticates: a Session, with an access token if it is signed in."""

    target_class = PersonalAgentAuthentication
    match_subclasses = True
    name: ClassVar[list[str]] = list(SECURITY_SCHEMES)  # type: ignore[misc]  # as it is used

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Signed in, or signed out; the view's permissions say which of them may pass."""
        session, token = SECURITY_SCHEMES
        return [{session: [], token: []}, {session: []}]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        """Describe both headers."""
        return list(SECURITY_SCHEMES.values())


def _mark(operation: dict[str, Any], action: DeclaredAction) -> None:
    operation["x-poppy-operation"] = {
        "action": action.name,
        "version": VERSION,
        "approvers": list(action.approvers),
    }
    described = operation.get("description", "")
    operation["description"] = f"{described}\n\n{NEEDS_APPROVAL}".strip()
    operation["parameters"] = [*operation.get("parameters", []), *PARAMETERS]


def _add(responses: dict[str, Any], answer: DocumentedAnswer, registry: ComponentRegistry) -> None:
    """Let a status have one more body, beside those that the view documents."""
    status = str(
        conf.extension_required_status
        if answer.schema == "PoppyExtensionRequired"
        else answer.status
    )
    response = responses.setdefault(status, {"description": ""})
    known = response["description"]
    response["description"] = f"{known}\n\n{answer.description}" if known else answer.description
    content = response.setdefault("content", {}).setdefault("application/json", {})
    variants = [
        *_variants(content.get("schema")),
        *(_registered(schema, registry) for schema in answer.schemas),
    ]
    content["schema"] = variants[0] if len(variants) == 1 else {"anyOf": variants}
    if answer.headers:
        response.setdefault("headers", {}).update(answer.headers)


def _variants(schema: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if schema is not None:
        yield from schema["anyOf"] if set(schema) == {"anyOf"} else [schema]


def _registered(name: str, registry: ComponentRegistry) -> Mapping[str, Any]:
    """Refer to one of our components, with those that it refers to itself."""
    if not name:
        return {}
    component = ResolvedComponent(  # type: ignore[no-untyped-call]  # as above
        name=name,
        type=ResolvedComponent.SCHEMA,
        schema=COMPONENTS[name],
        object=ComponentIdentity(name),  # type: ignore[no-untyped-call]  # as above
    )
    if component not in registry:
        registry.register(component)
        if name == "PoppyApprovalRequired":
            _registered("PoppyOperation", registry)
    return component.ref
