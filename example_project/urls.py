"""The addresses of the shop."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path, re_path

from example_project.shop import api, discovery, views

urlpatterns = [
    path("", views.home, name="home"),
    path(".well-known/poppy.json", discovery.poppy_json, name="poppy-json"),
    path("accounts/login/", LoginView.as_view(template_name="shop/login.html"), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("orders/<slug:order_id>/", views.order, name="order"),
    path("orders/<slug:order_id>/exchange/", views.exchange_on_website, name="exchange"),
    path("reservations/", views.reservations, name="reservations"),
    path("api/orders/<slug:order_id>", api.OrderDetail.as_view()),
    path("api/orders/<slug:order_id>/exchanges", api.Exchanges.as_view()),
    path("api/orders/<slug:order_id>/refunds", api.Refunds.as_view()),
    path("api/reservations", api.Reservations.as_view()),
    path("api/account/closure", api.AccountClosure.as_view()),
    path("api/schema", api.Description.as_view(), name="api-schema"),
    re_path("^api/", api.Unknown.as_view()),
    path("admin/", admin.site.urls),
    path("poppy/", include("poppy_operations.urls")),
]
