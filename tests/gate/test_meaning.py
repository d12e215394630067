"""With ``content=``: what was sent counts, all of it, and what was not sent does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django import forms
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import models
from django.db.models.fields.files import FieldFile
from django.http import HttpRequest
from django.test import RequestFactory
from django.test.client import encode_multipart
from django.utils import timezone
from rest_framework import serializers

from poppy_operations.doors.http_content import http_content, parsed_body
from poppy_operations.gate.comparing import RequestContent
from tests.shop.models import Item

FACTORY = RequestFactory()
numbers = count()


def post(fields: Mapping[str, Any]) -> HttpRequest:
    kind = "multipart/form-data; boundary=b"
    request: HttpRequest = FACTORY.generic(
        "POST", "/buy/", encode_multipart("b", dict(fields)), content_type=kind
    )
    return request


def read(request: HttpRequest, *ignore: str) -> RequestContent:
    return http_content(
        request, action="buy", data=parsed_body(request), files=request.FILES, ignore=ignore
    )


def by_form(kind: Callable[..., Any], fields: Mapping[str, Any], *ignore: str, **more: Any) -> str:
    request = post(fields)
    form = kind(request.POST, request.FILES, **more)
    assert form.is_valid(), form.errors
    return read(request, *ignore).meant(form, ignore).text


def by_serializer(
    kind: Callable[..., Any], body: Any, *ignore: str, raw: Any = None, **more: Any
) -> str:
    serializer = kind(data=body, **more)
    assert serializer.is_valid(), serializer.errors
    content = RequestContent({}, {}, body if raw is None else raw)
    if hasattr(body, "getlist"):
        content = http_content(post({}), action="buy", data=body)
    return content.meant(serializer, ignore).text


def upload(content: bytes = b"a", name: str = "a.txt") -> Any:
    return SimpleUploadedFile(name, content, "text/plain")


# What a form passes over


class Dropping(forms.Form):
    """Looks at fields, and then forgets what it has seen."""

    sku = forms.CharField()
    payee = forms.CharField(required=False)
    tags = forms.MultipleChoiceField(choices=[("a", "a"), ("b", "b")], required=False)
    agree = forms.BooleanField(required=False)
    how = "popped"

    def clean(self) -> None:
        values = self.cleaned_data
        if self.how == "popped":
            values.pop("payee", None)
        elif self.how == "emptied":
            values["payee"] = ""
        elif self.how == "removed":
            values["payee"] = None
        else:
            self.cleaned_data = {"sku": values["sku"]}


class Emptying(Dropping):
    how = "emptied"


class Removing(Dropping):
    how = "removed"


class Replacing(Dropping):
    how = "replaced"


BUYING = {"sku": "jacket", "payee": "alice"}


@pytest.mark.requirement("OPS-6-50")
@pytest.mark.parametrize("kind", [Dropping, Emptying, Removing, Replacing])
@pytest.mark.parametrize("prefix", ["", "one"])
def test_a_field_that_clean_drops_must_not_ride_along(kind: type[Dropping], prefix: str) -> None:
    def meaning(payee: str) -> str:
        names = {"sku": "jacket", "payee": payee}
        if prefix:
            names = {f"{prefix}-{name}": value for name, value in names.items()}
        return by_form(kind, names, prefix=prefix or None)

    assert meaning("alice") == meaning("alice")
    assert meaning("alice") != meaning("thief")
    assert meaning("") != meaning("thief")


@pytest.mark.requirement("OPS-6-50")
def test_a_field_that_clean_drops_from_a_formset_must_not_ride_along() -> None:
    def meaning(payee: str) -> str:
        lines = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "0", "form-0-sku": "a"}
        return by_form(forms.formset_factory(Dropping), {**lines, "form-0-payee": payee})

    assert meaning("alice") == meaning("alice")
    assert meaning("alice") != meaning("thief")


class ItemForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """A form of a row, which keeps the price as it is."""

    class Meta:
        model = Item
        fields = ("sku", "price")

    def clean(self) -> dict[str, Any]:
        self.cleaned_data.pop("price")
        return self.cleaned_data


@pytest.mark.django_db
def test_a_field_that_a_models_form_drops_must_not_ride_along() -> None:
    def meaning(price: str) -> str:
        return by_form(ItemForm, {"sku": "coat", "price": price}, instance=Item(price=5))

    assert meaning("5") == meaning("5")
    assert meaning("5") != meaning("6")


@pytest.mark.requirement("OPS-6-50")
def test_every_value_of_a_doubled_field_counts_and_not_the_last_alone() -> None:
    def meaning(*skus: str) -> str:
        return by_form(Dropping, {"sku": list(skus)})

    assert meaning("jacket") == meaning(" jacket ")
    assert meaning("yacht", "jacket") == meaning("yacht", "jacket")
    assert len({meaning("jacket"), meaning("yacht", "jacket"), meaning("coat", "jacket")}) == 3


def test_a_field_of_several_values_is_compared_by_all_of_them() -> None:
    def meaning(*tags: str) -> str:
        return by_form(Dropping, {"sku": "a", "tags": list(tags)})

    assert meaning("a", "b") == meaning("a", "b")
    assert len({meaning(), meaning("a"), meaning("a", "b"), meaning("b")}) == 4


class Several(forms.Form):
    """Widgets that read more than one value, or that read files."""

    hidden = forms.MultipleChoiceField(
        choices=[("a", "a"), ("b", "b")], widget=forms.MultipleHiddenInput, required=False
    )
    both = forms.SplitDateTimeField(required=False)
    note = forms.CharField(required=False)
    agree = forms.BooleanField(required=False)
    file = forms.FileField(required=False)


def test_hidden_fields_of_several_values_are_compared_by_all_of_them() -> None:
    assert by_form(Several, {"hidden": ["a", "b"]}) != by_form(Several, {"hidden": ["b"]})


def test_every_value_of_a_doubled_part_of_a_field_counts() -> None:
    def meaning(*days: str) -> str:
        return by_form(Several, {"both_0": list(days), "both_1": "10:00"})

    assert meaning("2026-10-08") == meaning("10/08/2026")
    assert meaning("2026-10-07", "2026-10-08") != meaning("2026-10-08")


@pytest.mark.parametrize("name", ["agree", "note"])
def test_a_file_under_the_name_of_a_field_that_reads_texts_must_not_ride_along(name: str) -> None:
    meanings = {
        by_form(Several, {}),
        by_form(Several, {name: upload(b"a")}),
        by_form(Several, {name: upload(b"b")}),
    }
    assert len(meanings) == 3


def test_a_text_under_the_name_of_a_field_that_reads_files_must_not_ride_along() -> None:
    meanings = {
        by_form(Several, {"file": upload()}),
        by_form(Several, {"file": ["a", upload()]}),
        by_form(Several, {"file": ["b", upload()]}),
        by_form(Several, {"file": "a"}),
        by_form(Several, {"file": "b"}),
    }
    assert len(meanings) == 5


def test_a_form_may_be_bound_to_the_members_of_json() -> None:
    def meaning(kind: Any, **body: Any) -> str:
        form = kind(body)
        assert form.is_valid(), form.errors
        return RequestContent({}, {}, body).meant(form).text

    assert meaning(Several, note="a") == meaning(Several, note=" a ", hidden=None)
    assert meaning(Several, hidden=["a"]) != meaning(Several, hidden=["a", "b"])
    alice, thief = ({"sku": "jacket", "payee": payee} for payee in ("alice", "thief"))
    assert meaning(Dropping, **alice) != meaning(Dropping, **thief)


# What was not sent


class Clocked(forms.Form):
    """Adds what nobody sent, another one each time."""

    sku = forms.CharField()
    token = forms.UUIDField(disabled=True, initial=uuid4)
    file = forms.FileField(required=False)

    def clean(self) -> dict[str, Any]:
        return {**self.cleaned_data, "number": next(numbers), "at": timezone.now()}


def test_what_a_form_has_of_its_own_is_no_content() -> None:
    assert by_form(Clocked, {"sku": "a"}) == by_form(Clocked, {"sku": "a"})


class Paper(models.Model):
    """A row with a file, which is stored."""

    file = models.FileField()
    title = models.CharField(max_length=9, default="untitled", blank=True)

    class Meta:
        app_label = "meaning"
        managed = False

    def __str__(self) -> str:
        return self.title


class PaperForm(forms.ModelForm):  # type: ignore[type-arg]  # as above
    class Meta:
        model = Paper
        fields = ("file", "title")


def test_a_stored_file_that_is_not_sent_is_no_content() -> None:
    stored = Paper(pk=1)
    stored.file = FieldFile(stored, Paper._meta.get_field("file"), "stored.txt")

    def meaning(**fields: Any) -> str:
        return by_form(PaperForm, {"title": "a", **fields}, instance=stored)

    assert meaning() == meaning()
    assert len({meaning(), meaning(file=upload()), meaning(file=upload(b"b"))}) == 3
    # A text in place of the file is not looked at.
    assert meaning(file="a") != meaning(file="b")


def test_a_blank_field_is_as_good_as_none_except_in_a_models_form() -> None:
    assert by_form(Several, {"note": " "}) == by_form(Several, {})
    assert by_form(PaperForm, {"file": upload()}) != by_form(
        PaperForm, {"file": upload(), "title": ""}
    )


class Silent:
    """A value object that says nothing of itself."""

    def __init__(self, amount: str) -> None:
        self.amount = amount


class SilentField(forms.CharField):
    def clean(self, value: Any) -> Any:
        return Silent(super().clean(value))


class WithSilent(forms.Form):
    money = SilentField()


def test_what_has_no_text_that_stays_is_compared_as_it_was_sent() -> None:
    assert by_form(WithSilent, {"money": "5"}) == by_form(WithSilent, {"money": "5"})
    assert by_form(WithSilent, {"money": "5"}) != by_form(WithSilent, {"money": "6"})
    assert by_form(WithSilent, {"money": "5"}) != by_form(WithSilent, {"money": " 5"})


# Serializers


class Money(serializers.Field):  # type: ignore[type-arg]  # not subscriptable at run time
    """A field whose value says nothing of itself."""

    def to_internal_value(self, data: Any) -> Any:
        return Silent(data)


class Spread(serializers.Field):  # type: ignore[type-arg]  # as above
    """A field that spreads over its serializer."""

    def to_internal_value(self, data: Any) -> Any:
        return {"x": data[0], "y": data[1]}


class Inner(serializers.Serializer):  # type: ignore[type-arg]  # as above
    sku = serializers.CharField()
    payee = serializers.CharField(required=False)
    at = serializers.HiddenField(default=timezone.now)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs.pop("payee", None)
        return attrs


class Beside(serializers.Serializer):  # type: ignore[type-arg]  # as above
    street = serializers.CharField()


class Outer(serializers.Serializer):  # type: ignore[type-arg]  # as above
    sku = serializers.CharField(required=False)
    payee = serializers.CharField(required=False, allow_blank=True)
    pin = serializers.CharField(write_only=True, required=False)
    money = Money(required=False)
    where = Spread(source="*", required=False)
    beside = Beside(source="*", required=False)
    name = serializers.CharField(source="owner.name", required=False)
    renamed = serializers.IntegerField(source="other", required=False)
    inner = Inner(required=False)
    lines = Inner(many=True, required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    choices = serializers.MultipleChoiceField(choices=["a", "b"], required=False)
    token = serializers.UUIDField(default=uuid4)
    at = serializers.HiddenField(default=timezone.now)
    count = serializers.IntegerField(default=3)
    file = serializers.FileField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs.pop("payee", None)
        if "lines" in attrs:
            attrs["lines"] = [line for line in attrs["lines"] if line["sku"] != "gone"]
        return attrs


TOKEN = "5b0c6c05-13c5-4b0b-9f0f-2f4f2c9d2c11"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"money": "5"},
        {"where": [1, 2]},
        {"beside": {"street": "a"}},
        {"lines": [{"sku": "a"}, {"sku": "gone"}]},
        {"inner": {"sku": "a"}},
    ],
)
def test_what_a_serializer_has_of_its_own_is_no_content(body: Any) -> None:
    assert by_serializer(Outer, body) == by_serializer(Outer, body)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"token": TOKEN}, {"token": TOKEN.upper()}),
        ({"name": "a"}, {"name": " a "}),
        ({"renamed": "1"}, {"renamed": 1}),
        ({"beside": {"street": "a"}}, {"beside": {"street": " a"}}),
        ({"pin": "1"}, {"pin": 1}),
        ({}, {"count": "3"}),
    ],
)
def test_what_means_the_same_to_a_serializer_is_the_same(one: Any, other: Any) -> None:
    assert by_serializer(Outer, one) == by_serializer(Outer, other)


@pytest.mark.requirement("OPS-6-50")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"payee": "alice"}, {"payee": "thief"}),
        ({"payee": ""}, {"payee": "thief"}),
        ({"pin": "1"}, {"pin": "2"}),
        ({"money": "5"}, {"money": "6"}),
        ({"where": [1, 2]}, {"where": [1, 3]}),
        ({"beside": {"street": "a"}}, {"beside": {"street": "b"}}),
        ({"beside": {"street": "a"}}, {"beside": {"street": "a", "extra": 1}}),
        ({"name": "a"}, {"name": "b"}),
        ({"renamed": 1}, {"renamed": 2}),
        ({"renamed": 1}, {"renamed": 1, "other": 1}),
        ({"token": TOKEN}, {}),
        ({"at": "2026-10-08"}, {"at": "2026-10-09"}),
        ({"count": 4}, {}),
        ({"inner": {"sku": "a"}}, {"inner": {"sku": "a", "payee": "thief"}}),
        ({"inner": {"sku": "a", "payee": "b"}}, {"inner": {"sku": "a", "payee": "thief"}}),
        ({"lines": [{"sku": "a"}]}, {"lines": [{"sku": "a"}, {"sku": "gone"}]}),
        (
            {"lines": [{"sku": "a"}, {"sku": "gone", "payee": "b"}]},
            {"lines": [{"sku": "a"}, {"sku": "gone", "payee": "c"}]},
        ),
    ],
)
def test_what_a_serializer_passes_over_must_not_ride_along(one: Any, other: Any) -> None:
    assert by_serializer(Outer, one) != by_serializer(Outer, other)


def test_a_default_counts_where_it_is_not_taken() -> None:
    def meaning(body: Any) -> str:
        return by_serializer(Outer, body, partial=True)

    assert meaning({}) != meaning({"count": 3})


@pytest.mark.requirement("OPS-6-50")
def test_what_many_serializers_pass_over_must_not_ride_along() -> None:
    def meaning(*lines: Any) -> str:
        return by_serializer(Inner, list(lines), many=True)

    assert meaning({"sku": "a"}) == meaning({"sku": " a"})
    assert meaning({"sku": "a", "payee": "b"}) == meaning({"sku": "a", "payee": "b"})
    assert meaning({"sku": "a", "payee": "b"}) != meaning({"sku": "a", "payee": "thief"})


def test_values_that_are_no_mapping_leave_the_request_as_it_was_sent() -> None:
    class Built(Inner):
        def validate(self, attrs: dict[str, Any]) -> Any:
            return Silent(attrs["sku"])

    class Around(serializers.Serializer):  # type: ignore[type-arg]  # as above
        inner = Built()
        lines = serializers.ListField(child=Built())

    def meaning(sku: str) -> str:
        return by_serializer(Around, {"inner": {"sku": sku}, "lines": [{"sku": sku}]})

    assert meaning("a") == meaning("a")
    assert meaning("a") != meaning("b")


def other_upload() -> Any:
    return upload(b"b")


def fields_of(**fields: Any) -> Any:
    """A form's fields; what makes an upload makes a new one each time."""
    made = {
        name: [
            one() if callable(one) else one
            for one in (value if isinstance(value, list) else [value])
        ]
        for name, value in fields.items()
    }
    request = post(made)
    data = request.POST.copy()
    data.update(request.FILES)  # as Django REST framework has it
    return data


@pytest.mark.requirement("OPS-6-50")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"sku": ["yacht", "jacket"]}, {"sku": "jacket"}),
        ({"sku": ["yacht", "jacket"]}, {"sku": ["coat", "jacket"]}),
        ({"tags": ["a", "b"]}, {"tags": ["c", "b"]}),
        ({"tags": ["a", "b"]}, {"tags": ["b"]}),
        ({"choices": ["a", "b"]}, {"choices": ["b"]}),
        ({"payee": "alice"}, {"payee": "thief"}),
        ({"file": upload}, {"file": other_upload}),
        ({"file": upload}, {"file": [other_upload, upload]}),
        ({"inner.sku": "a"}, {"inner.sku": "b"}),
        ({"lines[0]sku": "a"}, {"lines[0]sku": "b"}),
        ({"inner": "a"}, {"inner": "b"}),
    ],
)
def test_what_a_serializer_passes_over_in_a_form_must_not_ride_along(one: Any, other: Any) -> None:
    def meaning(fields: Any) -> str:
        return by_serializer(Outer, fields_of(**fields))

    assert meaning(one) == meaning(one)
    assert meaning(one) != meaning(other)


def test_a_form_is_compared_by_what_a_serializer_made_of_it() -> None:
    def meaning(**fields: Any) -> str:
        return by_serializer(Outer, fields_of(**fields))

    assert meaning(sku="jacket") == meaning(sku=" jacket ")
    assert meaning(tags=["a", "b"]) == meaning(tags=["a ", "b"])
    assert meaning(file=upload()) == meaning(file=upload())


# What is ignored


def test_what_is_ignored_is_ignored_by_each_of_its_names() -> None:
    one, other = {"renamed": 1, "name": "a"}, {"renamed": 2, "name": "a"}
    for name in ("renamed", "other"):
        assert by_serializer(Outer, one, name) == by_serializer(Outer, other, name)
    assert by_serializer(Outer, one, "name") != by_serializer(Outer, other, "name")


def test_a_member_of_a_nested_serializer_can_be_ignored() -> None:
    def meaning(payee: str) -> str:
        body = {"inner": {"sku": payee}, "lines": [{"sku": payee}]}
        return by_serializer(Outer, body, "inner.sku", "lines.sku")

    assert meaning("a") == meaning("b")


@pytest.mark.parametrize("name", ["sku", "one-sku"])
def test_a_prefixed_field_is_ignored_by_either_name(name: str) -> None:
    def meaning(sku: str) -> str:
        return by_form(Dropping, {"one-sku": sku}, name, prefix="one")

    assert meaning("a") == meaning("b")


def test_a_member_of_a_value_can_be_ignored() -> None:
    class WithJson(forms.Form):
        meta = forms.JSONField()

    def meaning(trace: int) -> str:
        return by_form(WithJson, {"meta": f'{{"a": [1], "trace": {trace}}}'}, "meta.trace")

    assert meaning(1) == meaning(2)


@pytest.mark.parametrize("deep", ["[" * 500 + "]" * 500, '[{"a":' * 450 + "1" + "}]" * 450])
def test_what_is_ignored_in_deep_content_raises_nothing(deep: str) -> None:
    request = FACTORY.generic("POST", "/buy/", deep, content_type="application/json")
    content = read(request, "a.b.c", "b")
    assert content.sent.text
    assert content.sent.incomparable_fields() == ("body",)


# Uploads that the site closes or moves


def test_an_upload_that_a_form_replaces_is_compared_by_what_it_put_there() -> None:
    class Shrinking(forms.Form):
        file = forms.FileField()

        def clean_file(self) -> Any:
            return upload(self.cleaned_data["file"].read()[:1])

    assert by_form(Shrinking, {"file": upload(b"ab")}) == by_form(
        Shrinking, {"file": upload(b"ac")}
    )
    assert by_form(Shrinking, {"file": upload(b"a")}) != by_form(Shrinking, {"file": upload(b"b")})


def test_an_upload_of_which_nothing_can_be_read_equals_nothing() -> None:
    def sent() -> RequestContent:
        request = post({"file": upload()})
        file: Any = request.FILES["file"]
        file.close()
        return read(request)

    assert sent().sent.text != sent().sent.text
    assert sent().sent.incomparable_fields() == ("file",)


def test_a_file_that_is_no_upload_is_not_read() -> None:
    class Reading(forms.Form):
        sku = forms.CharField()

        def clean_sku(self) -> Any:
            return ContentFile(self.cleaned_data["sku"])

    assert by_form(Reading, {"sku": "a"}) == by_form(Reading, {"sku": "a"})
    assert by_form(Reading, {"sku": "a"}) != by_form(Reading, {"sku": "b"})
