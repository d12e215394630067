"""The help desk's own views, with the gate in front of what they do."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from helpdesk.models import Queue
from helpdesk.views import public
from helpdesk.views.api import TicketViewSet
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from poppy_operations import Action, CurrentOperation, Terms
from poppy_operations.rest_framework import PersonalAgentAuthentication

# Each of them sends mails from inside the view. What a serializer of the package raises while it
# saves comes before anything is written or sent.
filing = Action("desk.file", effects="external", prefix="tic", not_performed=(ValidationError,))
closing = Action("desk.close", effects="external")


class Filing:
    """For each of the package's form views that files a ticket."""

    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponseBase:
        """File the ticket, once the very ticket is approved."""
        file: Any = super().form_valid  # type: ignore[misc]  # the package's form view has it

        def terms() -> Terms:
            asked = form.cleaned_data
            queue = Queue.objects.get(pk=asked["queue"])
            return Terms(
                {
                    "queue": queue.slug,
                    "title": asked["title"],
                    "body": asked["body"],
                    "submitter": asked["submitter_email"],
                    "priority": int(asked["priority"]),
                },
                summary=(
                    f"File the ticket “{asked['title']}” with {queue.slug}, with the text "
                    f"“{asked['body']}” and priority {asked['priority']}, and send news of it to "
                    f"{asked['submitter_email']}."
                ),
                content=form,
            )

        def body(operation: CurrentOperation) -> HttpResponseBase:
            answer: HttpResponseBase = file(form)
            return answer

        return filing.run(self.request, terms, body)


@filing.gated
class FileTicket(Filing, public.CreateTicketView):  # type: ignore[misc]  # it has no types
    """The page with the form."""


@filing.gated
class FileTicketAtHome(Filing, public.Homepage):  # type: ignore[misc]  # as above
    """The same form on the help desk's first page."""


@filing.gated
class FileTicketInFrame(Filing, public.CreateTicketIframeView):  # type: ignore[misc]  # as above
    """The same form in other pages' frames."""


def closing_terms(request: HttpRequest) -> Terms:
    """A link closes the ticket, and the same address without ``close`` only shows it."""
    ticket = request.GET.get("ticket", "")
    return Terms(
        {"ticket": ticket}, summary=f"Close the ticket {ticket}.", needed="close" in request.GET
    )


class ViewTicket(public.ViewTicket):  # type: ignore[misc]  # it has no types
    """The page of one ticket, with the link that closes it."""

    get = closing.view(terms=closing_terms, methods=["GET"])(public.ViewTicket.get)


class Tickets(TicketViewSet):  # type: ignore[misc]  # it has no types
    """The help desk's API; agents are known by their Session."""

    authentication_classes = (PersonalAgentAuthentication, SessionAuthentication)

    def terms(self, request: Request) -> Terms:
        """The ticket as it is asked for."""
        asked = self.get_serializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = {"queue": asked.validated_data["queue"].slug, "title": request.data["title"]}
        return Terms(values, content=asked)

    create = filing.api(terms=terms)(TicketViewSet.create)
