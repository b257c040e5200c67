"""Warnings that are no exceptions: the logger `dinoxide` has them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

logger = logging.getLogger("dinoxide")


def tell(warnings: Iterable[str]) -> None:
    """Logs what the engine has to say about a checkpoint."""
    for warning in warnings:
        logger.warning(warning)
