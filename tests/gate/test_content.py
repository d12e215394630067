"""When two requests are the same one: by what they mean, whatever their bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import RequestFactory
from django.test.client import encode_multipart
from django.urls import ResolverMatch, resolve
from rest_framework import serializers

from poppy_operations.declarations.terms import Terms
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import http_content, parsed_body
from poppy_operations.gate.calls import Call, Wanted
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.parts import keyed
from poppy_operations.protocol.owner import Owner
from poppy_operations.site_responses import SiteResponses
from tests.shop.models import Item
from tests.shop.operations import buy

FACTORY = RequestFactory()
OWNER = Owner("agent", "u1", "alice")
TREE = {"sku": "jacket", "lines": [{"n": 1}, {"n": 2}], "note": None}


def of(
    request: HttpRequest, *, ignore: tuple[str, ...] = (), action: str = "buy"
) -> RequestContent:
    return http_content(
        request, action=action, data=parsed_body(request), files=request.FILES, ignore=ignore
    )


def raw(request: HttpRequest, **options: Any) -> str:
    return of(request, **options).sent.text


def post_json(body: str | bytes, path: str = "/buy/", method: str = "POST") -> HttpRequest:
    request: HttpRequest = FACTORY.generic(method, path, body, content_type="application/json")
    return request


def post_form(path: str = "/buy/", **fields: Any) -> HttpRequest:
    request: HttpRequest = FACTORY.post(path, fields)
    return request


# JSON by value


@pytest.mark.parametrize(
    "body",
    [
        '{"note": null, "lines": [{"n": 1}, {"n": 2}], "sku": "jacket"}',
        '{\n  "sku":"jacket","lines":[{"n":1},{"n":2}],"note":null}',
        '{"sku": "j\\u0061cket", "lines": [{"n": 1.0}, {"n": 2e0}], "note": null}',
        '{"sku": "x", "sku": "jacket", "lines": [{"n": 1}, {"n": 20e-1}], "note": null}',
        json.dumps(TREE).encode("utf-16"),
    ],
)
def test_json_is_compared_by_value(body: str | bytes) -> None:
    assert raw(post_json(body)) == raw(post_json(json.dumps(TREE)))


@pytest.mark.parametrize(
    "changed",
    [
        {**TREE, "sku": "Jacket"},
        {**TREE, "extra": 1},
        {**TREE, "note": ""},
        {**TREE, "lines": [{"n": 2}, {"n": 1}]},
        {**TREE, "lines": [{"n": "1"}, {"n": 2}]},
        {**TREE, "lines": [{"n": True}, {"n": 2}]},
        {name: value for name, value in TREE.items() if name != "note"},
        [TREE],
        None,
    ],
)
def test_json_of_another_value_is_another_request(changed: Any) -> None:
    assert raw(post_json(json.dumps(changed))) != raw(post_json(json.dumps(TREE)))


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "{",
        "1" * 5000,
        "[" * 100_000,
        "NaN",
        '"\\ud800"',
        b"\xff\xfe\xfd",
        "",
    ],
)
def test_no_body_makes_it_raise(body: str | bytes) -> None:
    content = of(post_json(body))
    assert content.sent.text
    assert content.meant(None).text == content.sent.text
    assert content.sent.field_digests(OWNER)


def test_what_is_not_json_is_compared_by_its_bytes() -> None:
    assert raw(post_json("not json")) == raw(post_json("not json"))
    assert raw(post_json("not json")) != raw(post_json("not  json"))
    plain = FACTORY.generic("POST", "/buy/", "a", content_type="text/plain")
    other = FACTORY.generic("POST", "/buy/", "b", content_type="text/plain")
    assert raw(plain) != raw(other)


@pytest.mark.parametrize(
    "deep",
    [
        "[" * 101 + "]" * 101,
        "[" * 200 + "]" * 200,
        "[" * 900 + "]" * 900,
        '[{"a":' * 450 + "1" + "}]" * 450,
    ],
)
def test_what_is_too_deep_to_compare_matches_nothing(deep: str) -> None:
    content = of(post_json(deep))
    assert content.sent.text != raw(post_json(deep))
    assert content.meant(None).text
    assert content.sent.field_digests(OWNER)
    assert content.sent.incomparable_fields() == ("body",)


def test_json_of_a_kind_of_its_own_is_compared_by_value_too() -> None:
    def sent(body: str) -> str:
        kind = "application/vnd.api+json"
        return raw(FACTORY.generic("POST", "/buy/", body, content_type=kind))

    assert sent('{"a": 1, "b": 2}') == sent('{"b": 2, "a": 1.0}')


# What is stored


def test_the_text_of_a_request_stays_what_it_is() -> None:
    request = post_json('{"sku": "jacket"}', "/orders/7/exchange/?page=2")
    request.resolver_match = resolve(request.path_info)
    assert of(request).sent.texts == {
        ("target", ""): (
            '{"action":"buy","arguments":{"order_id":"7"},"host":"testserver","method":"POST",'
            '"path":"/orders/7/exchange/","port":80,"route":"orders/<str:order_id>/exchange/",'
            '"scheme":"http"}'
        ),
        ("query", "page"): '["2"]',
        ("sent", "sku"): '"jacket"',
    }
    target = sha256(of(request).target_text.encode()).hexdigest()
    page, sku = (sha256(text.encode()).hexdigest() for text in ('["2"]', '"jacket"'))
    assert raw(request) == (
        f'[["query", "page", "{page}"], ["sent", "sku", "{sku}"], ["target", "", "{target}"]]'
    )


def test_the_text_of_an_upload_stays_what_it_is() -> None:
    digest = sha256(b"a").hexdigest()
    texts = of(multipart("one", {"file": upload()})).sent.texts
    assert texts["sent", "file"] == f'[{{"$file":["a.txt","text/plain",1,"{digest}"]}}]'


def test_the_text_of_bytes_that_nobody_parses_stays_what_it_is() -> None:
    plain = FACTORY.generic("POST", "/buy/", "a", content_type="text/plain")
    digest = sha256(b"a").hexdigest()
    assert of(plain).sent.texts["body", ""] == f'{{"$bytes":"{digest}"}}'


def test_the_digests_of_fields_stay_what_they_are(settings: Any) -> None:
    settings.SECRET_KEY = "a key"
    sent = of(post_json('{"sku": "jacket"}', "/buy/?page=2")).sent
    assert sent.field_digests(OWNER) == [
        {
            "query page": "b450134edf6146f7",
            "sku": "6616f0407f303ca6",
            "target": "0dcb53a1259b27fb",
        }
    ]


def test_a_request_without_a_body_has_no_fields_of_one() -> None:
    assert fields(of(FACTORY.delete("/buy/"))).keys() == {"target"}


# Target and query


def test_the_target_is_action_method_site_path_route_and_arguments() -> None:
    one = of(post_form()).target_text
    assert of(post_form(sku="jacket")).target_text == one
    assert of(post_form(), action="sell").target_text != one
    assert of(post_form("/each/")).target_text != one
    assert of(FACTORY.post("/buy/", headers={"host": "other.example"})).target_text != one
    assert of(post_json("", method="PUT")).target_text != of(post_json("")).target_text


def test_the_arguments_of_a_route_are_part_of_the_target() -> None:
    def target(order: str) -> str:
        request = post_form(f"/orders/{order}/exchange/")
        request.resolver_match = resolve(request.path_info)
        return of(request).target_text

    assert target("7") == target("7")
    assert target("7") != target("8")
    assert "orders/<str:order_id>/exchange/" in target("7")


def test_each_unnamed_argument_of_a_route_counts() -> None:
    def target(*args: str) -> str:
        request = post_form("/orders/")
        request.resolver_match = ResolverMatch(lambda: None, args, {}, route="orders/")
        return of(request).target_text

    assert len({target("7", "8"), target("8", "8"), target("7", "7"), target("8")}) == 4


def test_the_order_of_a_query_does_not_matter_and_its_values_do() -> None:
    assert raw(post_form("/buy/?a=1&b=2")) == raw(post_form("/buy/?b=2&a=1"))
    assert raw(post_form("/buy/?a=1")) != raw(post_form("/buy/?a=2"))
    assert raw(post_form("/buy/?a=1&a=2")) != raw(post_form("/buy/?a=2&a=1"))
    assert raw(post_form("/buy/?a=1")) != raw(post_form(a="1"))


# Forms and uploads


def multipart(boundary: str, fields: Mapping[str, Any]) -> HttpRequest:
    body = encode_multipart(boundary, dict(fields))
    kind = f"multipart/form-data; boundary={boundary}"
    request: HttpRequest = FACTORY.generic("POST", "/buy/", body, content_type=kind)
    return request


def upload(name: str = "a.txt", content: bytes = b"a", kind: str = "text/plain") -> Any:
    return SimpleUploadedFile(name, content, kind)


def test_a_form_is_compared_field_by_field_whatever_its_encoding() -> None:
    fields = {"sku": "jacket", "size": ["m", "l"]}
    one = raw(multipart("one", fields))
    assert raw(multipart("another", dict(reversed(fields.items())))) == one
    encoded = FACTORY.generic(
        "POST",
        "/buy/",
        "size=m&size=l&sku=jacket",
        content_type="application/x-www-form-urlencoded",
    )
    assert raw(encoded) == one
    assert raw(multipart("one", {**fields, "size": ["l", "m"]})) != one
    assert raw(multipart("one", {**fields, "extra": ""})) != one


@pytest.mark.parametrize("charset", ["zlib", "rot13", "undefined"])
def test_a_form_in_a_charset_that_is_none_is_compared_byte_by_byte(charset: str) -> None:
    kind = f"application/x-www-form-urlencoded; charset={charset}"

    def sent(body: str) -> str:
        return raw(FACTORY.generic("PUT", "/buy/", body, content_type=kind))

    assert sent("sku=%ff&size=m") == sent("sku=%ff&size=m")
    assert sent("sku=%ff&size=m") != sent("size=m&sku=%ff")


def test_the_csrf_token_is_left_out_wherever_a_form_has_it() -> None:
    assert raw(post_form(sku="a", csrfmiddlewaretoken="x")) == raw(post_form(sku="a"))
    assert raw(post_form("/buy/?csrfmiddlewaretoken=x")) == raw(post_form("/buy/"))


def test_an_upload_is_compared_by_content_name_and_type_and_can_be_read_again() -> None:
    request = multipart("one", {"file": upload()})
    one = raw(request)
    assert request.FILES["file"].read() == b"a"
    assert raw(multipart("two", {"file": upload()})) == one
    assert raw(multipart("one", {"file": upload(content=b"b")})) != one
    assert raw(multipart("one", {"file": upload("b.txt")})) != one
    assert raw(multipart("one", {"file": upload(kind="text/csv")})) != one
    assert raw(multipart("one", {"other": upload()})) != one
    assert raw(multipart("one", {"file": [upload(), upload("b.txt")]})) != one


def test_a_field_and_an_upload_of_one_name_both_count() -> None:
    def sent(text: str, content: bytes) -> str:
        return raw(multipart("one", {"file": [text, upload(content=content)]}))

    assert len({sent("a", b"a"), sent("b", b"a"), sent("a", b"b")}) == 3


def test_an_upload_counts_whole_though_the_site_has_read_of_it() -> None:
    request = multipart("one", {"file": upload(content=b"abc")})
    file: Any = request.FILES["file"]
    assert file.read(2) == b"ab"
    assert raw(request) == raw(multipart("one", {"file": upload(content=b"abc")}))


def test_a_form_whose_fields_have_its_uploads_already_needs_no_files() -> None:
    request = post_form(sku="jacket")
    content = http_content(request, action="buy", data=request.POST)
    assert content.sent.text == raw(request)


def test_a_large_upload_is_never_read_as_a_body(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 1000
    request = multipart("one", {"file": upload(content=b"a" * 100_000)})
    assert raw(request)
    assert len(request.FILES["file"].read()) == 100_000
    request.close()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_forms_of_other_methods_are_compared_too(method: str) -> None:
    def sent(body: str, kind: str = "application/x-www-form-urlencoded") -> str:
        return raw(FACTORY.generic(method, "/buy/", body, content_type=kind))

    assert sent("a=1&b=2") == sent("b=2&a=1")
    assert sent("a=1") != sent("a=2")
    kind = "multipart/form-data; boundary=x"
    assert sent("--x\r\n1", kind) != sent("--x\r\n2", kind)


# By meaning: a form


class Moment(forms.Form):
    """A form with widgets of several fields."""

    count = forms.IntegerField()
    when = forms.SplitDateTimeField()
    day = forms.DateField(widget=forms.SelectDateWidget(years=[2026]))
    note = forms.CharField(required=False)
    price = forms.IntegerField(disabled=True, initial=5)
    until = forms.SplitDateTimeField(disabled=True, required=False)


MOMENT = {
    "count": "1",
    "when_0": "2026-10-08",
    "when_1": "10:00",
    "day_year": "2026",
    "day_month": "10",
    "day_day": "8",
}


def by_form(fields: Mapping[str, Any], ignore: tuple[str, ...] = (), prefix: str = "") -> str:
    request = post_form(**fields)
    form = Moment(request.POST, prefix=prefix or None)
    assert form.is_valid(), form.errors
    return of(request, ignore=ignore).meant(form, ignore).text


@pytest.mark.parametrize(
    "same",
    [
        {"count": " 1 "},
        {"when_1": "10:00:00"},
        {"when_0": "10/08/2026"},
        {"day_month": "10", "day_day": "08"},
        {"note": ""},
        {"csrfmiddlewaretoken": "x"},
    ],
)
def test_a_form_is_compared_by_its_validated_values(same: dict[str, str]) -> None:
    assert by_form({**MOMENT, **same}) == by_form(MOMENT)


@pytest.mark.parametrize(
    "changed",
    [
        {"count": "2"},
        {"when_1": "11:00"},
        {"day_day": "9"},
        {"note": "x"},
        {"extra": "1"},
        # These look like parts of a widget of several fields, and are not.
        {"when_2": "1"},
        {"when_extra": "1"},
        {"day_extra": "1"},
        {"count_0": "1"},
        {"when": "2026-10-08 10:00"},
        # A disabled field has its initial value, whatever was sent.
        {"price": "1"},
        {"price": "5"},
        {"until_0": "2026-10-08"},
    ],
)
def test_what_a_form_does_not_know_must_not_ride_along(changed: dict[str, str]) -> None:
    assert by_form({**MOMENT, **changed}) != by_form(MOMENT)


def test_a_form_with_a_prefix_knows_its_own_fields() -> None:
    prefixed = {f"one-{name}": value for name, value in MOMENT.items()}
    assert by_form({**prefixed, "one-count": "01"}, prefix="one") == by_form(prefixed, prefix="one")
    assert by_form({**prefixed, "count": "1"}, prefix="one") != by_form(prefixed, prefix="one")


class Line(forms.Form):
    sku = forms.CharField()
    count = forms.IntegerField()


LINES = {
    "form-TOTAL_FORMS": "2",
    "form-INITIAL_FORMS": "0",
    "form-0-sku": "a",
    "form-0-count": "1",
    "form-1-sku": "b",
    "form-1-count": "2",
}


def by_formset(fields: Mapping[str, Any]) -> str:
    request = post_form(**fields)
    formset = forms.formset_factory(Line, can_delete=True)(request.POST)
    assert formset.is_valid(), formset.errors
    return of(request).meant(formset).text


def test_a_formset_is_compared_form_by_form() -> None:
    one = by_formset(LINES)
    assert by_formset({**LINES, "form-0-count": "01"}) == one
    assert by_formset({**LINES, "form-0-count": "2"}) != one
    assert by_formset({**LINES, "form-1-DELETE": "on"}) != one
    assert by_formset({**LINES, "form-2-sku": "c"}) != one
    assert by_formset({**LINES, "extra": "1"}) != one


def test_how_many_forms_of_a_formset_are_there_already_must_not_ride_along() -> None:
    one = by_formset({**LINES, "form-INITIAL_FORMS": "1"})
    assert one == by_formset({**LINES, "form-INITIAL_FORMS": "1"})
    assert one != by_formset(LINES)
    assert by_formset({**LINES, "form-MAX_NUM_FORMS": "9"}) != by_formset(LINES)


@pytest.mark.django_db
def test_changing_a_row_is_another_request_than_creating_one_of_the_same_values(
    jacket: Item,
) -> None:
    def meaning(initial: int) -> str:
        number = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": str(initial)}
        values = {"form-0-id": str(jacket.pk), "form-0-sku": "coat", "form-0-price": "5"}
        request = post_form(**number, **values)
        formset = forms.modelformset_factory(Item, fields=["sku", "price"])(request.POST)
        assert formset.is_valid(), formset.errors
        return of(request).meant(formset).text

    assert meaning(1) == meaning(1)
    assert meaning(1) != meaning(0)


def test_a_form_may_look_at_a_body_that_is_no_mapping() -> None:
    request = post_json("[1]")
    form = Line({"sku": "a", "count": 1})
    assert form.is_valid()
    other = of(post_json("[2]")).meant(form).text
    assert of(request).meant(form).text != other


def test_an_upload_in_a_form_is_compared_by_what_it_contains() -> None:
    class WithFile(forms.Form):
        file = forms.FileField()

    def meaning(name: str, content: bytes) -> str:
        request = multipart("one", {"file": upload(name, content)})
        form = WithFile(request.POST, request.FILES)
        assert form.is_valid()
        return of(request).meant(form).text

    assert meaning("a.txt", b"a") == meaning("a.txt", b"a")
    assert meaning("a.txt", b"a") != meaning("a.txt", b"b")
    assert meaning("a.txt", b"a") != meaning("b.txt", b"a")


@pytest.mark.parametrize(
    "hold", [lambda value: [value], lambda value: {"a": value}], ids=["list", "object"]
)
def test_an_upload_is_compared_by_what_it_contains_as_deep_as_content_is(
    hold: Callable[[object], object],
) -> None:
    def meaning(depth: int) -> str:
        request = multipart("one", {"sku": upload(), "count": "1"})
        value: object = request.FILES["sku"]
        for _ in range(depth):
            value = hold(value)
        serializer = Loose(data={"sku": value})
        assert serializer.is_valid()
        content = http_content(request, action="buy", data={"sku": value})
        return content.meant(serializer).text

    assert meaning(100) == meaning(100)
    assert meaning(101) != meaning(101)


class DayAndTime(forms.MultiValueField):
    """A field whose widget has a widget of several fields within it."""

    class Widget(forms.MultiWidget):
        def decompress(self, value: Any) -> list[Any]:
            raise NotImplementedError

    def __init__(self) -> None:
        super().__init__(
            fields=[forms.DateField(), forms.TimeField()],
            widget=self.Widget([forms.SelectDateWidget(years=[2026]), forms.TimeInput()]),
        )

    def compress(self, data_list: list[Any]) -> list[Any]:
        return data_list


def test_a_form_knows_the_widgets_within_its_widgets() -> None:
    class WithDayAndTime(forms.Form):
        when = DayAndTime()

    def meaning(**changed: str) -> str:
        parts = {"when_0_year": "2026", "when_0_month": "10", "when_0_day": "8", "when_1": "10:00"}
        request = post_form(**{**parts, **changed})
        form = WithDayAndTime(request.POST)
        assert form.is_valid(), form.errors
        return of(request).meant(form).text

    assert meaning(when_0_day="08", when_1="10:00:00") == meaning()
    assert meaning(when_0_day="9") != meaning()
    assert meaning(when_0="2026-10-08") != meaning()


# By meaning: a serializer


class Anything(serializers.Field):  # type: ignore[type-arg]  # not subscriptable at run time
    """A field that takes what comes."""

    def to_internal_value(self, data: object) -> object:
        return data


class Loose(serializers.Serializer):  # type: ignore[type-arg]  # as above
    sku = Anything()


class Stamp(serializers.HiddenField):
    """A hidden field of the site's own."""


class Part(serializers.Serializer):  # type: ignore[type-arg]  # not subscriptable at run time
    sku = serializers.CharField()
    payee = serializers.HiddenField(default="me")
    count = serializers.IntegerField(default=1)


class Order(serializers.Serializer):  # type: ignore[type-arg]  # as above
    number = serializers.IntegerField(read_only=True)
    amount = serializers.DecimalField(max_digits=8, decimal_places=2, required=False)
    main = Part(required=False, allow_null=True)
    parts = Part(many=True, required=False, allow_null=True)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    boxes = serializers.DictField(child=Part(), required=False)
    grid = serializers.ListField(child=Part(many=True), required=False)
    stamp = Stamp(default="paid")


def by_serializer(body: Any, many: bool = False, ignore: tuple[str, ...] = ()) -> str:
    request = post_json(json.dumps(body))
    serializer = Order(data=body, many=many)
    assert serializer.is_valid(), serializer.errors
    return of(request, ignore=ignore).meant(serializer, ignore).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"amount": "70.00"}, {"amount": 70}),
        ({"main": {"sku": "a"}}, {"main": {"sku": "a", "count": "1"}}),
        ({"parts": [{"sku": "a"}]}, {"parts": [{"sku": " a ", "count": 1.0}]}),
        ({"tags": ["1"]}, {"tags": [1]}),
        ({"main": None, "parts": None}, {"parts": None, "main": None}),
        ({"boxes": {"a": {"sku": "a"}}}, {"boxes": {"a": {"sku": " a "}}}),
        (
            {"boxes": {"a": {"sku": "a"}, "b": {"sku": "b", "extra": 1}}},
            {"boxes": {"b": {"sku": "b", "extra": 1}, "a": {"sku": "a"}}},
        ),
    ],
)
def test_a_serializer_is_compared_by_its_validated_values(one: Any, other: Any) -> None:
    assert by_serializer(one) == by_serializer(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"extra": 1}),
        ({}, {"number": 7}),
        # A hidden field has its default, whatever was sent.
        ({}, {"stamp": "unpaid"}),
        ({}, {"stamp": "paid"}),
        ({"main": {"sku": "a"}}, {"main": {"sku": "a", "payee": "thief"}}),
        ({}, {"main": None}),
        ({}, {"parts": None}),
        ({"parts": None}, {"parts": []}),
        ({"main": {"sku": "a"}}, {"main": {"sku": "a", "extra": 1}}),
        ({"parts": [{"sku": "a"}]}, {"parts": [{"sku": "a", "extra": 1}]}),
        ({"parts": [{"sku": "a"}, {"sku": "b"}]}, {"parts": [{"sku": "b"}, {"sku": "a"}]}),
        ({"tags": ["1"]}, {"tags": ["2"]}),
        ({"extra": 1}, {"extra": 2}),
        ({"boxes": {"a": {"sku": "a"}}}, {"boxes": {"a": {"sku": "a", "extra": 1}}}),
        (
            {"boxes": {"a": {"sku": "a"}, "b": {"sku": "b", "extra": 1}}},
            {"boxes": {"b": {"sku": "b"}, "a": {"sku": "a", "extra": 1}}},
        ),
        ({"grid": [[{"sku": "a"}]]}, {"grid": [[{"sku": "a", "extra": 1}]]}),
    ],
)
def test_what_a_serializer_does_not_know_must_not_ride_along(one: Any, other: Any) -> None:
    assert by_serializer(one) != by_serializer(other)


def test_a_serializer_of_many_is_compared_item_by_item() -> None:
    one = by_serializer([{"amount": "1.00"}], many=True)
    assert by_serializer([{"amount": 1}], many=True) == one
    assert by_serializer([{"amount": 1, "extra": 1}], many=True) != one


def test_a_form_posted_to_a_serializer_is_compared_by_its_values() -> None:
    def meaning(**fields: str) -> str:
        request = post_form(**fields)
        serializer = Order(data=request.POST)
        assert serializer.is_valid(), serializer.errors
        return of(request).meant(serializer).text

    assert meaning(amount="1") == meaning(amount="1.00")
    assert meaning(amount="1") != meaning(amount="1", extra="1")


def test_content_that_is_not_valid_yet_is_the_authors_mistake() -> None:
    for content in (object(), Line({})):
        with pytest.raises(TypeError, match="bound and valid"):
            of(post_form()).meant(content)


def test_what_a_form_has_besides_a_serializer_of_many_must_not_ride_along() -> None:
    def meaning(**fields: str) -> str:
        request = post_form(**fields)
        serializer = Order(data=request.POST, many=True)
        assert serializer.is_valid(), serializer.errors
        return of(request).meant(serializer).text

    one = {"[0]amount": "1", "[0]extra": "1"}
    assert meaning(**one) == meaning(**one)
    assert meaning(**one) != meaning(**{**one, "[0]extra": "2"})


@pytest.mark.parametrize("name", ["main", "parts"])
def test_a_form_field_named_like_a_nested_serializer_must_not_ride_along(name: str) -> None:
    def meaning(value: str) -> str:
        request = post_form(amount="1", **{name: value})
        serializer = Order(data=request.POST)
        assert serializer.is_valid(), serializer.errors
        return of(request).meant(serializer).text

    assert meaning("a") == meaning("a")
    assert meaning("a") != meaning("b")


# What does not matter


def test_fields_paths_and_query_parameters_can_be_ignored() -> None:
    def sent(body: Any, query: str = "") -> str:
        ignore = ("trace", "client.trace", "lines.nonce", "dotted.name")
        return raw(post_json(json.dumps(body), f"/buy/{query}"), ignore=ignore)

    one = sent({"sku": "a", "client": {"v": 1}, "lines": [{"n": 1}]})
    assert sent({"trace": 1, "sku": "a", "client": {"v": 1}, "lines": [{"n": 1}]}) == one
    assert sent({"sku": "a", "client": {"v": 1, "trace": 2}, "lines": [{"n": 1}]}) == one
    assert sent({"sku": "a", "client": {"v": 1}, "lines": [{"n": 1, "nonce": 3}]}) == one
    assert sent({"sku": "a", "client": {"v": 1}, "lines": [{"n": 1}], "dotted.name": 1}) == one
    assert sent({"sku": "a", "client": {"v": 1}, "lines": [{"n": 1}]}, "?trace=1") == one
    assert sent({"sku": "a", "client": {"v": 2}, "lines": [{"n": 1}]}) != one
    assert sent({"sku": "a", "client": 1, "lines": [{"n": 1}]}) != one
    assert sent({"sku": "b", "client": {"v": 1}, "lines": [{"n": 1}]}) != one
    assert raw(post_json("[1]"), ignore=("trace",)) == raw(post_json("[1]"))


def test_what_is_ignored_is_ignored_by_meaning_too() -> None:
    assert by_form({**MOMENT, "note": "x"}, ("note",)) == by_form(MOMENT, ("note",))
    assert by_form({**MOMENT, "extra": "x"}, ("extra",)) == by_form(MOMENT, ("extra",))
    one = {"main": {"sku": "a", "count": 1}}
    other = {"main": {"sku": "a", "count": 2}}
    ignore = ("main.count",)
    assert by_serializer(one, ignore=ignore) == by_serializer(other, ignore=ignore)


# Keys, and the names of what differs


def test_a_key_that_was_rotated_still_matches(settings: Any) -> None:
    before = keyed("content", OWNER)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY, b"older"]
    settings.SECRET_KEY = "new"
    after = keyed("content", OWNER)
    assert before[0] == after[1]
    assert len(set(after)) == 3
    settings.SECRET_KEY_FALLBACKS = []
    assert before[0] not in keyed("content", OWNER)


def fields(content: RequestContent) -> dict[str, str]:
    return content.sent.field_digests(OWNER)[0]


def differing(content: RequestContent, stored: str) -> tuple[str, ...]:
    return content.sent.differing_fields(stored, OWNER)


def test_fields_that_differ_are_named_and_their_values_are_not() -> None:
    stored = json.dumps(fields(of(post_form("/buy/?a=1", sku="secret", gone="x"))))
    assert "secret" not in stored
    now = of(post_form("/buy/?a=2", sku="other", new="y"))
    assert differing(now, stored) == ("gone", "new", "query a", "sku")
    assert differing(now, json.dumps(fields(now))) == ()
    elsewhere = of(post_form("/each/?a=2", sku="other", new="y"))
    assert differing(elsewhere, json.dumps(fields(now))) == ("target",)


def test_a_body_without_fields_is_named_as_a_whole() -> None:
    stored = json.dumps(fields(of(post_json("[1]"))))
    assert differing(of(post_json("[2]")), stored) == ("body",)


def test_a_request_of_very_many_fields_is_named_in_part() -> None:
    body = {f"f{number}": number for number in range(1000)}
    stored = fields(of(post_json(json.dumps(body))))
    assert len(stored) == 201
    other = of(post_json(json.dumps({**body, "f999": "another"})))
    assert differing(other, json.dumps(stored)) == ("(further fields)",)


def test_values_that_only_python_knows_are_compared() -> None:
    def meaning(amount: Any) -> str:
        request = post_form(sku="a", count="1")
        form = Line(request.POST)
        assert form.is_valid()
        form.cleaned_data["count"] = amount
        return of(request).meant(form).text

    assert meaning(Decimal("1.0")) == meaning(1)
    assert meaning((1, 2)) == meaning([1, 2])
    assert meaning({1, 2}) == meaning({2, 1})
    assert meaning(Decimal("1.1")) != meaning("1.1")


def test_what_an_action_ignores_makes_no_other_request_of_a_form_either() -> None:
    def meant(count: str, *ignore: str) -> str:
        request = post_form(**{**MOMENT, "count": count})
        form = Moment(request.POST)
        content = of(request, ignore=ignore)
        call = Call(
            action=buy,
            asker=HttpAsker(request),
            results=SiteResponses(),
            content=lambda: content,
            terms=Terms,
            body=lambda _operation: None,
            ignore=ignore,
        )
        assert form.is_valid(), form.errors
        return Wanted.of(call, Terms({"moment": "now"}, content=form)).parts.text

    assert meant("1") != meant("2")
    assert meant("1", "count") == meant("2", "count")
