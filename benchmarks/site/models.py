"""What the actions do, and the claims of the view that is the floor."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Effect(models.Model):
    """The one row that every action inserts."""

    sku = models.CharField(max_length=40)
    quantity = models.PositiveIntegerField()

    objects: ClassVar[models.Manager[Effect]] = models.Manager()

    def __str__(self) -> str:
        return self.sku


class Claim(models.Model):
    """The least that remembers a performance: who has it, and what was answered."""

    key = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=10, default="open")
    terms_digest = models.CharField(max_length=64)
    content_digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.TextField(default="[]")
    body = models.BinaryField(null=True)

    objects: ClassVar[models.Manager[Claim]] = models.Manager()

    def __str__(self) -> str:
        return self.key
