"""Change a price, as shops do."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from example_project.shop.models import Product
from example_project.shop.prices import dollars


class Command(BaseCommand):
    help = "Change the price of a product."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sku")
        parser.add_argument("amount", help='in US dollars, such as "225.00"')

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            product = Product.objects.get(sku=options["sku"])
            product.price = Decimal(options["amount"])
            product.clean_fields()
        except Product.DoesNotExist as error:
            message = f"There is no product {options['sku']!r}."
            raise CommandError(message) from error
        except (InvalidOperation, ValidationError) as error:
            message = f"{options['amount']!r} is no price: write it like 225.00."
            raise CommandError(message) from error
        if product.price < 0:
            message = "A price is not below zero."
            raise CommandError(message)
        product.save(update_fields=["price"])
        self.stdout.write(f"{product} now costs {dollars(product.price)}.")
