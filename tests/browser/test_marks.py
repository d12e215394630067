"""The mark outlives what Django does with sessions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.test import RequestFactory

from poppy_operations.browser import marks

ENGINES = ["db", "cache", "cached_db", "file"]


@pytest.fixture(params=ENGINES)
def marked(request: pytest.FixtureRequest, settings: Any, tmp_path: Any) -> Any:
    """A request of an agent's browser that is signed in, on each kind of session store."""
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{request.param}"
    settings.SESSION_FILE_PATH = str(tmp_path)
    return _request(settings, **{marks.MARK: True, marks.JOIN: 7, marks.LOGIN: 7, SESSION_KEY: "1"})


def _request(settings: Any, **data: Any) -> Any:
    store = import_module(settings.SESSION_ENGINE).SessionStore
    saved = store()
    saved.update({"cart": "x", **data})
    saved.save()
    request = RequestFactory().get("/")
    request.COOKIES[settings.SESSION_COOKIE_NAME] = saved.session_key
    request.session = store(saved.session_key)
    marks.keep_mark(request)
    return request


def _stored(request: Any, key: str) -> dict[str, Any]:
    return dict(type(request.session)(key).items())


def test_flush_leaves_the_mark_alone(marked: Any) -> None:
    old = marked.session.session_key
    marked.session.flush()
    assert dict(marked.session.items()) == {marks.MARK: True, marks.JOIN: 7}
    assert marked.session.session_key != old
    assert _stored(marked, old) == {marks.MARK: True, marks.JOIN: 7}


@pytest.mark.django_db(transaction=True)
async def test_flush_leaves_the_mark_alone_in_the_event_loop(marked: Any) -> None:
    old = marked.session.session_key
    await marked.session.aflush()
    assert dict(marked.session.items()) == {marks.MARK: True, marks.JOIN: 7}
    assert await sync_to_async(_stored)(marked, old) == {marks.MARK: True, marks.JOIN: 7}


def test_a_new_key_leaves_the_mark_behind_without_the_login(marked: Any) -> None:
    old = marked.session.session_key
    marked.session.cycle_key()
    assert marked.session["cart"] == "x"
    assert marked.session[SESSION_KEY] == "1"
    assert marked.session.session_key != old
    assert _stored(marked, old) == {marks.MARK: True, marks.JOIN: 7}


@pytest.mark.django_db(transaction=True)
async def test_a_new_key_leaves_the_mark_behind_in_the_event_loop(marked: Any) -> None:
    old = marked.session.session_key
    await marked.session.acycle_key()
    assert marked.session["cart"] == "x"
    assert await sync_to_async(_stored)(marked, old) == {marks.MARK: True, marks.JOIN: 7}


def test_an_unmarked_session_leaves_nothing(settings: Any) -> None:
    for change in ("flush", "cycle_key"):
        request = _request(settings)
        old = request.session.session_key
        getattr(request.session, change)()
        assert not request.session.exists(old)


@pytest.mark.django_db(transaction=True)
async def test_an_unmarked_session_leaves_nothing_in_the_event_loop(settings: Any) -> None:
    for change in ("aflush", "acycle_key"):
        request = await sync_to_async(_request)(settings)
        old = request.session.session_key
        await getattr(request.session, change)()
        assert not await request.session.aexists(old)


def test_a_mark_that_is_there_already_is_left_there(settings: Any) -> None:
    request = _request(settings, **{marks.MARK: True})
    late = type(request.session)(request.session.session_key)
    late.load()
    request.session.cycle_key()
    late[marks.MARK] = True
    late.delete = lambda *_: None  # the other request has deleted it
    late.cycle_key()
    assert _stored(request, request.COOKIES[settings.SESSION_COOKIE_NAME]) == {marks.MARK: True}


def test_a_session_without_a_key_leaves_nothing_behind(settings: Any) -> None:
    request = _request(settings, **{marks.MARK: True})
    request.session.flush()
    count = request.session.model.objects.count()
    request.session.cycle_key()
    assert request.session.model.objects.count() == count + 1


@pytest.mark.django_db(transaction=True)
async def test_a_session_without_a_key_leaves_nothing_behind_in_the_event_loop(
    settings: Any,
) -> None:
    request = await sync_to_async(_request)(settings, **{marks.MARK: True})
    await request.session.aflush()
    count = await request.session.model.objects.acount()
    await request.session.acycle_key()
    assert await request.session.model.objects.acount() == count + 1


def test_only_the_session_of_a_cookie_is_kept(settings: Any) -> None:
    request: Any = RequestFactory().get("/")
    marks.keep_mark(request)
    assert not marks.is_marked(request)
    request.COOKIES[settings.SESSION_COOKIE_NAME] = "x" * 32
    marks.keep_mark(request)  # a site without sessions
    request.session = {}
    marks.keep_mark(request)
    assert request.session == {}
    assert not marks.is_marked(request)


def test_a_session_is_wrapped_once(settings: Any) -> None:
    request = _request(settings)
    store = type(request.session)
    marks.keep_mark(request)
    assert type(request.session) is store
    assert store.__name__ == "SessionStore"
