"""The forms of the website. Fields that they do not know are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from example_project.shop.models import Order, OrderItem, Product
from example_project.shop.prices import dollars
from example_project.shop.reservations import QUANTITIES

if TYPE_CHECKING:
    Choice = forms.ModelChoiceField[Product]
else:
    Choice = forms.ModelChoiceField


class ProductChoice(Choice):
    """A product, chosen by its SKU and shown with its price."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Product.objects.all(), to_field_name="sku", **kwargs)

    def label_from_instance(self, obj: Product) -> str:
        return f"{obj}, {dollars(obj.price)}"


class ExchangeForm(forms.Form):
    """Exchange an item of one order for another product."""

    item_id = forms.ModelChoiceField(
        OrderItem.objects.none(), to_field_name="item_id", widget=forms.HiddenInput
    )
    replacement_sku = ProductChoice(label="Exchange for", empty_label="Choose a product")

    def __init__(self, *args: Any, order: Order, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["item_id"] = forms.ModelChoiceField(
            order.items.select_related("order", "product"),
            to_field_name="item_id",
            widget=forms.HiddenInput,
        )


class ReservationForm(forms.Form):
    """Reserve a number of one product."""

    sku = ProductChoice(label="Product", empty_label="Choose a product")
    quantity = forms.IntegerField(min_value=QUANTITIES[0], max_value=QUANTITIES[1], initial=1)
