"""The Django app of the tour, which brings the command ``tour``."""

from __future__ import annotations

from django.apps import AppConfig


class TourConfig(AppConfig):
    """Only a command: the tour drives the shop from outside."""

    name = "example_project.tour"
    verbose_name = "Tour"
