"""The test site's URLs, with the help desk's; what acts is ours instead of the package's."""

from __future__ import annotations

from django.urls import include, path
from helpdesk.decorators import protect_view

from tests.packages.helpdesk import views
from tests.urls import urlpatterns as plain

urlpatterns = [
    path("helpdesk/", protect_view(views.FileTicketAtHome.as_view())),
    path("helpdesk/tickets/submit/", protect_view(views.FileTicket.as_view())),
    path("helpdesk/tickets/submit_iframe/", protect_view(views.FileTicketInFrame.as_view())),
    path("helpdesk/view/", protect_view(views.ViewTicket.as_view())),
    path("helpdesk/api/tickets/", views.Tickets.as_view({"post": "create"})),
    path("helpdesk/", include("helpdesk.urls")),
    *plain,
]
