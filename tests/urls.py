"""The URLs of the test site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from tests.shop import views

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(next_page="/done/"), name="logout"),
    path("poppy/", include("poppy_operations.urls")),
    path("api/", include("tests.shop.api")),
    path("api/", include("tests.shop.guarded")),
    path("buy/", views.buy, name="buy"),
    path("abuy/", views.abuy),
    path("class/", views.Buying.as_view()),
    path("form/", views.GatedForm.as_view()),
    path("guarded/", views.GuardedForm.as_view()),
    path("refund/", views.refund),
    path("arefund/", views.arefund),
    path("each/", views.each),
    path("unrepeatable/", views.unrepeatable),
    path("orders/<str:order_id>/exchange/", views.exchange),
    path("plain/", views.plain),
    path("done/", views.done),
    path("", include("tests.shop.pages")),
    path("", include("tests.shop.logins")),
    path("", include("tests.shop.endings")),
]
