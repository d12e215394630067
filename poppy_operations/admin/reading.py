"""Pages that only read, by a number of queries that does not grow with the data.

Each page reads only the rows that it shows, without the columns that it hides. A list also counts
the rows that its filters leave, once: that ``COUNT(*)`` takes longer the more there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.db.transaction import non_atomic_requests
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from poppy_operations.browser.state import browser_of
from poppy_operations.models import Approval, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.models.lengths import ID_LENGTH

if TYPE_CHECKING:
    # At run time the class takes no parameter.
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

# An agent chooses its references, and may give many approvals the same one.
FOUND_AT_MOST = 1000

NOTHING_CHANGED = _(
    "Nothing was changed: the database is locked, unreachable or read-only. Try again."
)


def deny_agents_browser(request: HttpRequest) -> None:
    """Refuse a decision in a session that an agent's browser uses, whoever is signed in there.

    Raises ``PermissionDenied``.
    """
    if browser_of(request).marked:
        message = "Nothing can be decided here in a browser that a Personal Agent uses."
        raise PermissionDenied(message)


def name_of(user: Any) -> str:
    """Name a person for the record: by user name, and by primary key, which does not change."""
    return f"{user.get_username()} ({user.pk})"[-ID_LENGTH:]


def operations_called(term: str) -> set[int]:
    """Find operations by their ID, by the ID of a revision, or by an agent's own reference.

    Whole values only, each with a query of its own: then every database uses its index.
    """
    operations = Operation.objects.using(write_alias()).filter(operation_id=term)
    revisions = Revision.objects.using(write_alias()).filter(revision=term)
    approvals = Approval.objects.using(write_alias()).filter(reference=term)
    return {
        *operations.values_list("pk", flat=True),
        *revisions.values_list("operation_id", flat=True),
        *approvals.values_list("operation_id", flat=True)[:FOUND_AT_MOST],
    }


def pretty(text: str | None) -> SafeString | None:
    """Show stored JSON for people."""
    if text is None:
        return None
    indented = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return format_html('<pre class="poppy-json">{}</pre>', indented)


class LeanList(ChangeList):
    """A list that leaves in the database what it does not show, such as terms and key sets."""

    model_admin: ReadOnlyAdmin

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[Any]:
        """Find the rows of the list."""
        return super().get_queryset(*args, **kwargs).defer(*self.model_admin.unlisted)


class ReadOnlyAdmin(ModelAdmin):
    """Rows to look at. Only columns that a page shows can be filtered by in its address.

    Lists are in the order of an index, and are not counted twice.
    """

    actions: Any = None
    ordering = ("-pk",)
    search_fields: ClassVar[tuple[str, ...]] = ("operation_id",)
    search_help_text = _("A whole operation ID, revision or agent's reference.")
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()
    view_on_site = False
    # The path from a row to its operation.
    operation_path: ClassVar[str] = "operation"
    # What may be long, and no list shows.
    unlisted: ClassVar[tuple[str, ...]] = ()

    class Media:
        css: ClassVar = {"all": ["poppy_operations/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds rows: they say what happened."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes them."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes them; the site's own purge forgets what is over."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Give the rows, with those they belong to, as they are now: a replica may lag behind."""
        rows = super().get_queryset(request).using(write_alias())
        related = self.list_select_related
        return rows if isinstance(related, bool) else rows.select_related(*related)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Read no more than the list shows."""
        return LeanList

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Name all that the page shows."""
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the rows that belong to the search term. No row comes twice."""
        term = search_term.strip()
        return (queryset.filter(self.matching(term)) if term else queryset), False

    def matching(self, term: str) -> Q:
        """Say which rows a search finds."""
        return Q((f"{self.operation_path}__in", operations_called(term)))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Keep digests, slots and tickets from being guessed letter by letter in the address."""
        name = lookup.split("__")[0]
        try:
            self.opts.get_field(name)
        except FieldDoesNotExist:
            return super().lookup_allowed(lookup, value, request)
        shown = {"id", *flatten_fieldsets(self.get_fieldsets(request)), *self.list_display}
        return name in shown and super().lookup_allowed(lookup, value, request)

    def deciding(
        self, view: Callable[[HttpRequest, Any], HttpResponseBase]
    ) -> Callable[..., HttpResponseBase]:
        """Make a view of one row that decides something about it.

        It is refused in an agent's browser, and runs outside the request's transaction, which
        could undo what was decided.
        """

        def decide(request: HttpRequest, object_id: str) -> HttpResponseBase:
            deny_agents_browser(request)
            row = self.get_object(request, unquote(object_id))
            if row is None:
                raise Http404
            if not self.has_view_permission(request, row):
                raise PermissionDenied
            return view(request, row)

        return non_atomic_requests(write_alias())(self.admin_site.admin_view(decide))

    def decision(
        self, request: HttpRequest, row: Model, template: str, **context: object
    ) -> HttpResponse:
        """Show the page on which something is decided about a row."""
        request.current_app = self.admin_site.name
        shared = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "media": self.media,
        }
        return TemplateResponse(
            request, f"admin/poppy_operations/{template}", {**shared, **context}
        )

    def decided(
        self, request: HttpRequest, row: Model, message: str | Promise, level: int
    ) -> HttpResponse:
        """Go back to the row, and say what became of the decision."""
        self.message_user(request, str(message), level)
        page = f"admin:poppy_operations_{type(row).__name__.lower()}_change"
        return HttpResponseRedirect(
            reverse(page, args=(quote(row.pk),), current_app=self.admin_site.name)
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list. A POST is a decision, and is refused if an agent's browser sends it."""
        if request.method == "POST":
            deny_agents_browser(request)
        return super().changelist_view(request, extra_context)
