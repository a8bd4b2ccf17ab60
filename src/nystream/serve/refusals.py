"""What the server answers when it does not do what it was asked."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

__all__ = ["Refusal", "report_failure"]

logger = logging.getLogger("nystream.serve")


class Refusal(Exception):
    """A request that is refused: an HTTP status, one sentence, and headers that say what to do."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.message, self.headers)


def report_failure(error: BaseException, during: str) -> Refusal:
    """Log an unexpected exception with its traceback under a new id; return the answer 500 that names the id."""
    id = uuid4().hex[:12]
    logger.error("failure %s during %s", id, during, exc_info=error)
    return Refusal(500, f"the server failed during {during}; its log has the reason under the id {id}")
