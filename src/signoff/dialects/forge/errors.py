"""The exceptions of forge documents: each a ``SignoffError``, and a ``ValueError``."""

from __future__ import annotations

from signoff.errors import SignoffError

__all__ = ["ContractFormatError", "UnknownContractError", "VerificationError"]


class VerificationError(SignoffError, ValueError):
    """A document of the forge dialect cannot be used."""


class UnknownContractError(VerificationError):
    """There is no contract of that name and version; the message has the nearest names."""


class ContractFormatError(VerificationError):
    """A forge contract is not what it must be; carries the field and the file, where known."""

    def __init__(self, message: str, *, field: str = "", source: str = "") -> None:
        super().__init__(": ".join(part for part in (source, field, message) if part))
        self.message, self.field, self.source = message, field, source
