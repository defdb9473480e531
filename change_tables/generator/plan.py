"""What the user asks for, and what is to be written and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .found import Trouble
from .keys import Keys
from .names import matches


@dataclass(frozen=True)
class Wish:
    """What the user asks for."""

    format: str
    source: str
    raw_schema: str
    folder: Path
    """Of the sources file, in the project's folder of models."""
    keys: Keys = field(default_factory=Keys)
    include: Sequence[str] = ()
    """Patterns of names of tables or raw tables. Empty: all."""
    exclude: Sequence[str] = ()
    history: Sequence[str] = ()
    freshness_column: str = ""
    """A column of a landing job that says when a row landed, or SQL."""
    arrival: str = ""
    """A column of a landing job that never decreases as rows land."""
    analysts_schema: str = ""
    """The `+schema` of a new source's current models and histories. Empty: they are with the others."""

    def is_for(self, *given: str) -> bool:
        """Whether a table is asked for, by any of its names."""
        included = not self.include or any(matches(name, pattern) for pattern in self.include for name in given)
        return included and not self.leaves_out(*given)

    @property
    def landing_columns(self) -> frozenset[str]:
        """Columns that are a landing job's, in small letters: none is declared as the source's."""
        return frozenset(name.lower() for name in (self.freshness_column, self.arrival) if name)

    def leaves_out(self, *given: str) -> bool:
        """Whether a table is not wanted, by any of its names."""
        return any(matches(name, pattern) for pattern in self.exclude for name in given)


@dataclass
class Plan:
    """What is to be written, and what is to be said."""

    files: dict[Path, str] = field(default_factory=dict)
    """The new text of each file that is new or changes. The sources file is the last."""
    new: list[str] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=dict)
    """Table -> what changes."""
    unchanged: list[str] = field(default_factory=list)
    without_key: list[str] = field(default_factory=list)
    rebuilds: list[Trouble] = field(default_factory=list)
    """What differs and would need a full refresh: it is listed, not done."""
    gone: list[Trouble] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    differing_types: list[Trouble] = field(default_factory=list)
    """Change tables whose load has columns of other types: a project can be in step with that."""
    notes: list[str] = field(default_factory=list)
    """What the user may want to know; nothing is wrong."""
    kept_types: int = 0
    """How many columns land as text and are declared otherwise."""

    @property
    def is_in_step(self) -> bool:
        """Whether the project is as the feed is."""
        return not (self.files or self.rebuilds or self.gone or self.troubles)

    def write(self) -> None:
        """Write the files. An entry that is there has its models, because the sources file is the last.

        Raises:
            OSError: a file cannot be written.
        """
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline=_line_end(path))


def _line_end(path: Path) -> str:
    """How the lines of a file end; those of a new one as on Unix."""
    return "\r\n" if path.exists() and b"\r\n" in path.read_bytes() else "\n"
