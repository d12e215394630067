"""The addresses of the demo agent's page."""

from __future__ import annotations

from django.urls import path

from example_project.demo_agent import views

urlpatterns = [
    path("", views.page, name="page"),
    path("browser/", views.browser, name="browser"),
    path("do/<slug:what>", views.do, name="do"),
]
