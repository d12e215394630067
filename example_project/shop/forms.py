"""The forms of the website. Fields that they do not know are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from example_project.shop.models import Order, OrderItem, Product
from example_project.shop.prices import dollars
from example_project.shop.reservations import QUANTITIES

if TYPE_CHECKING:
    Choice = forms.ModelChoiceField[Any]
else:
    Choice = forms.ModelChoiceField


class Known(Choice):
    """Something that the shop knows by its name."""

    def to_python(self, value: Any) -> Any:
        ProhibitNullCharactersValidator()(value)  # PostgreSQL cannot even look for them
        return super().to_python(value)

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj}, {dollars(obj.price)}" if isinstance(obj, Product) else str(obj)


class ExchangeForm(forms.Form):
    """Exchange an item of one order for another product."""

    item_id = Known(OrderItem.objects.none(), to_field_name="item_id", widget=forms.HiddenInput)
    replacement_sku = Known(
        Product.objects.all(),
        to_field_name="sku",
        label="Exchange for",
        empty_label="Choose a product",
    )

    def __init__(self, *args: Any, order: Order, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        item = self.fields["item_id"]
        assert isinstance(item, Known)  # noqa: S101  declared above
        item.queryset = order.items.select_related("order", "product")


class ReservationForm(forms.Form):
    """Reserve a number of one product."""

    sku = Known(
        Product.objects.all(),
        to_field_name="sku",
        label="Product",
        empty_label="Choose a product",
    )
    quantity = forms.IntegerField(min_value=QUANTITIES[0], max_value=QUANTITIES[1], initial=1)
