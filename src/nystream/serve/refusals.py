"""What the server answers when it does not do what it was asked."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):
    """A request that is refused: an HTTP status, one sentence, and headers that say what to do."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
