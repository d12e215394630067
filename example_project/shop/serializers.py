"""What the shop's API is sent, and what it answers. Members it does not know are ignored."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from example_project.shop.models import OrderItem, Product
from example_project.shop.refunds import AMOUNTS
from example_project.shop.reservations import QUANTITIES

LONGEST_DELAY_MS = 60_000


def delay() -> serializers.IntegerField:
    """Return the field by which tests make an action slow, in milliseconds."""
    return serializers.IntegerField(default=0, min_value=0, max_value=LONGEST_DELAY_MS)


class Known(serializers.SlugRelatedField[Any]):
    """Something that the shop knows by its name."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        if "\0" in data:  # which PostgreSQL cannot even look for
            self.fail("does_not_exist", slug_name=self.slug_field, value="")
        found = super().to_internal_value(data)
        # Some databases find other spellings as well.
        if getattr(found, self.slug_field) != data:
            self.fail("does_not_exist", slug_name=self.slug_field, value=data)
        return found


class ExchangeRequest(serializers.Serializer[Any]):
    """What an exchange is asked for with: an item of the order, and what is wanted instead."""

    item_id = Known("item_id", queryset=OrderItem.objects.none())
    replacement_sku = Known("sku", queryset=Product.objects.all())
    delay_ms = delay()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        if "order" in self.context:  # not where the OpenAPI document is made
            items = self.context["order"].items.select_related("order", "product")
            fields["item_id"] = Known("item_id", queryset=items)
        return fields


class RefundRequest(serializers.Serializer[Any]):
    """What a refund is asked for with."""

    amount = serializers.DecimalField(
        max_digits=5, decimal_places=2, min_value=AMOUNTS[0], max_value=AMOUNTS[1]
    )
    delay_ms = delay()


class ReservationRequest(serializers.Serializer[Any]):
    """What a reservation is asked for with."""

    sku = Known("sku", queryset=Product.objects.all())
    quantity = serializers.IntegerField(min_value=QUANTITIES[0], max_value=QUANTITIES[1])


class Money(serializers.Serializer[Any]):
    """An amount; one that is paid back is negative."""

    amount = serializers.RegexField(r"^-?[0-9]+\.[0-9]{2}$")
    currency = serializers.CharField()


class ExchangeMade(serializers.Serializer[Any]):
    """An exchange that was made."""

    exchange_id = serializers.CharField()
    item_id = serializers.CharField()
    replacement_sku = serializers.CharField()
    price_difference = Money()


class RefundMade(serializers.Serializer[Any]):
    """A refund that was made."""

    refund_id = serializers.CharField()
    amount = Money()


class RefundRefused(serializers.Serializer[Any]):
    """A refund that the bank refuses; no money moved."""

    error = serializers.RegexField(r"^refund_refused$")
    detail = serializers.CharField()


class ReservationMade(serializers.Serializer[Any]):
    """A reservation that was made."""

    reservation_id = serializers.CharField()
    total = Money()


class OrderedItem(serializers.Serializer[Any]):
    """An item of an order, as it is by now."""

    item_id = serializers.CharField()
    sku = serializers.CharField()
    name = serializers.CharField()
    ordered_price = Money()


class ExchangeOfOrder(ExchangeMade):
    """An exchange, with what was replaced."""

    replaced_sku = serializers.CharField()


class OrderShown(serializers.Serializer[Any]):
    """An order, with what was done to it since."""

    order_id = serializers.CharField()
    placed_at = serializers.DateTimeField()
    items = OrderedItem(many=True)
    exchanges = ExchangeOfOrder(many=True)
    refunds = RefundMade(many=True)


class Problem(serializers.Serializer[Any]):
    """What is wrong with a request."""

    detail = serializers.CharField()
