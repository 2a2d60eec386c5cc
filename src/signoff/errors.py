"""
Every exception that signoff raises, in one tree; a dialect's own stand in the dialect.

    SignoffError
    ├── JSONError            a text is not strict JSON, or exceeds a limit
    ├── DocumentError        a file or document cannot be read at all
    │   └── TextError        its text is not a document of its format: carries the place
    ├── ContractError        a contract cannot be locked: carries every fault
    │   └── LockCorrupt      a lock file does not have the digest it states
    ├── ParamsError          parameters that a verifier refuses
    ├── SchemaError          a JSON Schema that cannot be used: carries every fault
    ├── SchemaNotJudged      the schema engine came to no answer about a value
    │   └── SchemaTimeout    it was stopped because it took too long
    ├── DuplicateVerifier    two verifiers with one id
    ├── ConfigError          a configuration cannot be used: carries every fault
    ├── PluginError          what a configuration names cannot be imported or is no verifier
    ├── NotInstalled         an optional package is absent: names the extra
    ├── NotGiven             the operator did not give what a check needs
    ├── NoAnswer             a service did not answer: knows whether it was late
    ├── BadAnswer            a service answered what it may not
    ├── NotJudged            a check ends early with the finding it carries
    ├── ReportError          a test report cannot be used
    ├── EvidenceMissing      no bytes for a digest
    ├── EvidenceCorrupt      bytes that do not have their digest
    ├── StoreFull            no more evidence is kept
    ├── RunUnwritable        a run directory cannot be written
    ├── RunUnreadable        a run directory proves nothing: carries why
    ├── DatabaseUnusable     what keeps a ledger cannot be opened, read or written
    ├── LedgerCorrupt        a ledger is not what was written: carries the place
    ├── CommandDenied        a command that no contract may run
    ├── PatchRefused         a diff that cannot be cleared
    ├── VerdictRefused       a foreign verdict that counts as missing
    ├── RegistryRefused      a registry of objects may not do what it was asked
    └── VerdictError         the verdict is not a pass: carries the report

``VerdictError`` is the only one that speaks of the judged work; all others say
that a document, a parameter, a file or a package was unfit.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = [
    "BadAnswer",
    "CommandDenied",
    "ConfigError",
    "ContractError",
    "DatabaseUnusable",
    "DocumentError",
    "DuplicateVerifier",
    "EvidenceCorrupt",
    "EvidenceMissing",
    "Fault",
    "JSONError",
    "LedgerCorrupt",
    "LockCorrupt",
    "NoAnswer",
    "NotGiven",
    "NotInstalled",
    "NotJudged",
    "ParamsError",
    "PatchRefused",
    "PluginError",
    "RegistryRefused",
    "ReportError",
    "RunUnreadable",
    "RunUnwritable",
    "SchemaError",
    "SchemaNotJudged",
    "SchemaTimeout",
    "SignoffError",
    "StoreFull",
    "TextError",
    "VerdictError",
    "VerdictRefused",
]


class SignoffError(Exception):
    """The root of all exceptions that signoff raises on purpose."""


class Fault(Struct, frozen=True):
    """
    One thing that is wrong with a document.

    Args:
        where: RFC 6901 pointer to the value, ``""`` for the whole document.
        message: What is wrong, without a full stop.
        line: 1-based line in the file, 0 when there is no file.
        column: 1-based column in the file, in code points; 0 when there is no file.
        got: The name that was written, where a name is wrong; ``""`` otherwise.
        known: The names that would have been right, for "did you mean" at the door.
    """

    where: str
    message: str
    line: int = 0
    column: int = 0
    got: str = ""
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.where or '/'}: {self.message}"


class JSONError(SignoffError, ValueError):
    """
    A text is not strict JSON.

    Args:
        reason: What is wrong, without a full stop.
        offset: Byte offset of the fault, or None when it has no single place.
        line: 1-based line of the fault, or None.
        column: 1-based column of the fault in code points, or None.
    """

    def __init__(
        self,
        reason: str,
        *,
        offset: int | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        place = "" if line is None else f" at line {line}, column {column}"
        super().__init__(f"{reason}{place}")
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column


class DocumentError(SignoffError):
    """A file or document cannot be read: absent, a folder, too large, not JSON, YAML or TOML."""


class TextError(DocumentError):
    """
    A text is not a document of its format, or exceeds a limit.

    Args:
        reason: What is wrong, without a full stop and without the place.
        source: Name of the file, ``""`` while it is not known.
        line: 1-based line of the fault, 0 when it has no single place.
        column: 1-based column of the fault in code points, 0 when it has no single place.
    """

    def __init__(self, reason: str, *, source: str = "", line: int = 0, column: int = 0) -> None:
        place = f":{line}:{column}" if line else ""
        super().__init__(f"{source}{place}: {reason}".removeprefix(": ").removeprefix(":"))
        self.reason = reason
        self.source = source
        self.line = line
        self.column = column

    def named(self, source: str) -> TextError:
        """The same fault in the file of that name."""
        return TextError(self.reason, source=source, line=self.line, column=self.column)


class ContractError(SignoffError):
    """
    A contract cannot be locked.

    Args:
        faults: Every fault that was found, in document order; at least one.
        source: Name of the file, ``""`` when there is none.
    """

    def __init__(self, faults: tuple[Fault, ...], *, source: str = "") -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults
        self.source = source


class LockCorrupt(ContractError):
    """A lock file was changed after it was written."""


class ParamsError(SignoffError, ValueError):
    """
    Parameters that a verifier refuses.

    Args:
        faults: Each fault, its place relative to the criterion's ``params``; or the
            one message about all of them together.
        where: With a bare message, the place it speaks of, such as ``"/min"``.
    """

    def __init__(self, faults: str | tuple[Fault, ...], *, where: str = "") -> None:
        self.faults = (Fault(where, faults),) if isinstance(faults, str) else faults
        super().__init__("; ".join(fault.message for fault in self.faults))


class SchemaError(SignoffError, ValueError):
    """
    A schema that cannot be used.

    Args:
        faults: Every fault that was found, sorted by place; ``where`` is a pointer into the schema.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults


class SchemaNotJudged(SignoffError):
    """The engine came to no answer about a value: it died or was stopped."""


class SchemaTimeout(SchemaNotJudged):
    """The engine was stopped because it took too long."""


class DuplicateVerifier(SignoffError):
    """Two verifiers with one id in one registry."""


class ConfigError(SignoffError):
    """
    A configuration cannot be used.

    Args:
        faults: Every fault that was found, in document order; at least one.
        source: Name of the file.
    """

    def __init__(self, faults: tuple[Fault, ...], *, source: str = "") -> None:
        places = (f"{source}:{fault.line}:{fault.column}: {fault.message}" for fault in faults)
        super().__init__("; ".join(places))
        self.faults = faults
        self.source = source


class PluginError(SignoffError):
    """What an operator names cannot be imported, or is not what it must be."""


class NotInstalled(SignoffError):
    """
    An optional package is absent.

    Args:
        what: What needs it, such as a verifier's id.
        library: The package.
        extra: The extra of signoff that brings it.
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(f"{what} needs {library} (install signoff[{extra}])")
        self.what = what
        self.library = library
        self.extra = extra


class NotGiven(SignoffError):
    """The operator did not give what a check needs to be made, such as a variable's value."""


class NoAnswer(SignoffError):
    """
    A service did not answer.

    Args:
        reason: What was met instead; nothing of what was sent or received.
        late: The time ran out.
    """

    def __init__(self, reason: str, *, late: bool = False) -> None:
        super().__init__(reason)
        self.late = late


class BadAnswer(SignoffError):
    """A service answered what it may not; says what was wrong, and nothing of the content."""


class NotJudged(SignoffError):
    """
    A check ends early with the finding it carries.

    ``Subject`` raises it where there is nothing to judge, so that a check need
    not repeat the standard answers; the engine takes the finding as returned.
    """

    def __init__(self, finding: Any) -> None:
        super().__init__(getattr(finding, "detail", ""))
        self.finding = finding


class ReportError(SignoffError, ValueError):
    """A test report cannot be used; says why of ``it``, the report, without a full stop."""


class EvidenceMissing(SignoffError):
    """No bytes are stored for a digest."""


class EvidenceCorrupt(SignoffError):
    """
    Stored bytes do not have the digest they are stored under.

    Args:
        message: What is wrong.
        found: The digest they have, ``""`` when there is none to tell.
    """

    def __init__(self, message: str, *, found: str = "") -> None:
        super().__init__(message)
        self.found = found


class StoreFull(SignoffError):
    """There is no room for more evidence; none that is kept was touched."""


class RunUnwritable(SignoffError):
    """A run directory cannot be written; no verdict is left in it."""


class RunUnreadable(SignoffError):
    """
    A run directory proves nothing, so it reads as a failure.

    Args:
        problems: Each reason, as one sentence without a full stop; at least one.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class DatabaseUnusable(SignoffError):
    """What keeps a ledger cannot be opened, read or written; nothing of it was acknowledged."""


class LedgerCorrupt(SignoffError):
    """
    A ledger is not what was written.

    Args:
        message: What is wrong, without a full stop.
        seq: Number of the event where it shows.
    """

    def __init__(self, message: str, *, seq: int) -> None:
        super().__init__(f"seq {seq}: {message}")
        self.seq = seq


class CommandDenied(SignoffError, ValueError):
    """A command that is no list of arguments, or that the policy denies."""


class PatchRefused(SignoffError, ValueError):
    """A diff that cannot be read to its end, or names what it may not; it is not cleared."""


class VerdictRefused(SignoffError, ValueError):
    """A foreign verdict that counts as missing, with the reason."""


class RegistryRefused(SignoffError):
    """A registry of objects may not do what it was asked: nothing was changed."""


class VerdictError(SignoffError):
    """
    The verdict is not a pass.

    Args:
        report: The whole report, with each criterion's finding.
    """

    def __init__(self, message: str, report: Any) -> None:
        super().__init__(message)
        self.report = report
