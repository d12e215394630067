"""Uploads are compared by what came in, whatever the site's code does with them meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponseBase
from django.urls import path
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request

from poppy_operations import Action, Terms, operation_of
from poppy_operations.declarations.registry import registry
from tests.agents import SessionOf, approval_of, operation_in, reference
from tests.shop.operations import happen
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
Effects = Callable[[], list[str]]

send_in = Action("uploads.send_in", effects="database")
registry.discard(send_in)  # There only while these tests run.
TERMS = {"quantity": 1, "sku": "jacket"}
LARGE = "django.core.files.uploadhandler.TemporaryFileUploadHandler"


def closing(request: Any) -> Terms:
    for upload in request.FILES.getlist("file"):
        if not upload.closed:
            upload.read()
        upload.close()
    return Terms(TERMS)


def reading(request: Any) -> Terms:
    sizes = [len(upload.read()) for upload in request.FILES.getlist("file")]
    return Terms({**TERMS, "sizes": sizes})


async def areading(request: Any) -> Terms:
    return reading(request)


def using_up(request: Any) -> Terms:
    sizes = []
    for upload in request.FILES.getlist("file"):
        with upload:
            sizes.append(len(upload.read()))
    return Terms({**TERMS, "sizes": sizes})


def moving(request: Any) -> Terms:
    for upload in request.FILES.getlist("file"):
        if not hasattr(upload, "moved_to"):
            upload.moved_to = FileSystemStorage().save(upload.name, upload)
    return Terms(TERMS)


def unlooking(request: Any) -> Terms:
    return Terms(TERMS)


class Skipping(FileUploadHandler):
    """A site's own handler, which leaves some files out."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self.file_name == "skipped.txt":
            raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave it to the others."""


def handling(request: Any) -> Terms:
    if len(request.upload_handlers) < 4:
        request.upload_handlers.insert(1, Skipping(request))
    return closing(request)


def replacing(request: Any) -> Terms:
    request.upload_handlers = request.upload_handlers[1:]
    return closing(request)


def happening(request: Any) -> HttpResponseBase:
    return happen(operation_of(request))


def parsed(view: Callable[..., Any]) -> Callable[..., Any]:
    """The view behind something that parses the request, such as the check of CSRF tokens."""

    @wraps(view)
    def behind(request: HttpRequest) -> Any:
        assert request.POST is not None
        return view(request)

    return behind


def by_api(terms: Callable[..., Terms], *parsers: Any) -> Any:
    @api_view(["POST"])
    @parser_classes(parsers)
    @send_in.api(terms=terms)
    def view(request: Request) -> HttpResponseBase:
        return happen(operation_of(request))

    return view


def looking(request: Any) -> HttpResponseBase:
    sizes = [len(upload.read()) for upload in request.FILES.getlist("file")]
    assert operation_of(request).terms["sizes"] == sizes
    return happening(request)


async def alooking(request: HttpRequest) -> HttpResponseBase:
    return await sync_to_async(looking)(request)


READERS = {"reading": reading, "using-up": using_up}
KINDS = {"closing": closing, "moving": moving, "handling": handling, "replacing": replacing}
urlpatterns = [
    *of_the_shop,
    *(path(f"{name}/", send_in.view(terms=terms)(happening)) for name, terms in KINDS.items()),
    *(
        path(f"parsed-{name}/", parsed(send_in.view(terms=KINDS[name])(happening)))
        for name in ("closing", "moving")
    ),
    *(path(f"api-{name}/", by_api(KINDS[name], MultiPartParser)) for name in ("closing", "moving")),
    *(path(f"{name}/", send_in.view(terms=terms)(looking)) for name, terms in READERS.items()),
    *(
        path(f"parsed-{name}/", parsed(send_in.view(terms=terms)(looking)))
        for name, terms in READERS.items()
    ),
    *(path(f"api-{name}/", by_api(terms, MultiPartParser)) for name, terms in READERS.items()),
    path("areading/", send_in.view(terms=areading)(alooking)),
    path("api-json/", by_api(unlooking, JSONParser)),
]


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    registry.add(send_in)
    yield
    registry.discard(send_in)


@pytest.fixture(params=["in memory", "in a file"])
def site_with_uploads(request: Any, settings: Any, tmp_path: Path) -> None:
    """A site that keeps uploads in memory, or in files."""
    settings.MEDIA_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    }
    if request.param == "in a file":
        settings.FILE_UPLOAD_HANDLERS = [LARGE]


def files(*contents: bytes) -> dict[str, Any]:
    return {"file": [SimpleUploadedFile(f"{n}.txt", one) for n, one in enumerate(contents)]}


@pytest.mark.usefixtures("site_with_uploads")
@pytest.mark.parametrize("kind", ["closing", "moving", "parsed-closing", "parsed-moving"])
def test_an_upload_that_terms_closes_or_moves_is_performed_once_approved(
    kind: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()

    def send(*contents: bytes) -> Any:
        return browser.post(f"/{kind}/", files(*contents))

    signed_out.approve(reference(send(b"a", b"bc"))[1])
    assert send(b"a", b"bd").status_code == 403
    assert send(b"a").status_code == 403
    assert effects() == []
    assert send(b"a", b"bc").status_code == 302
    assert len(effects()) == 1


@pytest.mark.usefixtures("site_with_uploads")
@pytest.mark.parametrize("kind", ["closing", "moving"])
def test_an_upload_to_an_api_that_terms_closes_or_moves_is_performed_once_approved(
    kind: str, signed_out: SessionOf, effects: Effects
) -> None:
    def send(content: bytes, approval: Any = None) -> Any:
        headers = signed_out.headers(approval)
        return signed_out.client.post(f"/api-{kind}/", files(content), headers=headers)

    approval = approval_of(operation_in(send(b"a")))
    assert send(b"b", approval).status_code == 403
    assert effects() == []
    assert send(b"a", approval).status_code == 302
    assert send(b"a", approval).status_code == 302
    assert len(effects()) == 1


@pytest.mark.usefixtures("site_with_uploads")
@pytest.mark.parametrize(
    "kind", ["reading", "using-up", "parsed-reading", "parsed-using-up", "areading"]
)
def test_an_upload_that_terms_reads_is_read_again_by_terms_and_by_the_view(
    kind: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    signed_out.approve(reference(browser.post(f"/{kind}/", files(b"a", b"bc")))[1])
    answer = browser.post(f"/{kind}/", files(b"a", b"bc"))
    assert answer.status_code == 302
    assert len(effects()) == 1
    assert all(upload.closed for upload in answer.wsgi_request.FILES.getlist("file"))


@pytest.mark.usefixtures("site_with_uploads")
@pytest.mark.parametrize("kind", ["reading", "using-up"])
def test_an_upload_to_an_api_that_terms_reads_is_read_again_by_terms(
    kind: str, signed_out: SessionOf, effects: Effects
) -> None:
    def send(approval: Any = None) -> Any:
        headers = signed_out.headers(approval)
        return signed_out.client.post(f"/api-{kind}/", files(b"a"), headers=headers)

    assert send(approval_of(operation_in(send()))).status_code == 302
    assert len(effects()) == 1


@pytest.mark.slow
def test_handlers_of_the_sites_own_do_not_get_in_the_way(
    signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()

    def send(content: bytes) -> Any:
        skipped = SimpleUploadedFile("skipped.txt", b"s")
        return browser.post("/handling/", {"file": [skipped, *files(content)["file"]]})

    signed_out.approve(reference(send(b"a"))[1])
    assert send(b"b").status_code == 403
    assert send(b"a").status_code == 302


def test_an_upload_that_nobody_saw_and_that_was_closed_equals_nothing_and_raises_nothing(
    signed_out: SessionOf, effects: Effects, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_out.browser()

    def send() -> Any:
        return browser.post("/replacing/", files(b"a"))

    signed_out.approve(reference(send())[1])
    assert send().status_code == 403
    assert effects() == []
    assert "content that cannot be compared: file" in caplog.text


def test_an_upload_that_a_view_does_not_parse_is_compared_by_its_bytes(
    signed_out: SessionOf, effects: Effects
) -> None:
    def send(content: bytes, approval: Any = None) -> Any:
        headers = signed_out.headers(approval)
        return signed_out.client.post("/api-json/", files(content), headers=headers)

    approval = approval_of(operation_in(send(b"a")))
    assert send(b"b", approval).status_code == 403
    assert send(b"a", approval).status_code == 302
