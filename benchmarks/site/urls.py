"""The routes."""

from __future__ import annotations

from django.urls import include, path

from benchmarks.site import packages
from benchmarks.site.api import BareOrder, GatedOrder, GatedTransfer
from benchmarks.site.by_hand import ByHandOrder
from benchmarks.site.floor import FloorOrder
from benchmarks.site.website import apassed, bare_visit, gated_page, gated_visit, passed

urlpatterns = [
    path("poppy/", include("poppy_operations.urls")),
    path("bare/", BareOrder.as_view()),
    path("floor/", FloorOrder.as_view()),
    path("by-hand/", ByHandOrder.as_view()),
    path("order/", GatedOrder.as_view()),
    path("transfer/", GatedTransfer.as_view()),
    path("page/", gated_page),
    path("visit/bare/", bare_visit),
    path("visit/gated/", gated_visit),
    path("passed/", passed),
    path("apassed/", apassed),
    *packages.urls(),
]
