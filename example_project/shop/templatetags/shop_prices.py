"""Prices in templates."""

from __future__ import annotations

from django import template

from example_project.shop.prices import dollars

register = template.Library()
register.filter("dollars", dollars)
