"""Golden texts: a few are kept whole, the others as what differs from a base.

A whole text is `<name>.sql`, any other `<name>.diff`. The first line of that names the base, and which names of
tables it has for those of the base. It goes by parts: the steps of a statement, what stands before them, and its end.
Parts that it does not name are as in the base. Of the others it says, after `@@`:

    @@ typed                                    the base's part, with changes
    @@ typed: left out
    @@ typed, after landed: new                 all its lines follow, but for those that are around each step
    @@ typed, after landed: of <text> <part>    that of another text, with changes if lines follow

A line of changes begins with `-` (it goes), `+` (it comes) or a blank (it stays, and tells the place of the next one).
Other lines stay too: a line after `-` or a blank is the next one of the old part that is like it. `-…` stands for the
lines between two that go, which go too.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Parts = dict[str, str]
"""Name of a part -> its text, in order."""
Place = tuple[str, str]
"""Where a part is: the name of a text, and its own."""

_CHAIN = re.compile(r"(?<![^\n(])with (?=\w+ as \()")
_STEP = re.compile(
    r"(?P<text>\n*(?:--[^\n]*\n)*(?P<name>\w+) as (?:\([^()\n]*\)|\(\n.*?^\)))(?P<end>,\n\n|\n\n|(?= ))",
    re.MULTILINE | re.DOTALL,
)
_STATEMENT_END = "\n;\n\n"
_HEADER = re.compile(
    r"@@ (?P<names>.+?)(?:, after (?P<after>[^,:]+))?(?:: (?P<how>left out|new|of (?P<text>\S+)(?: (?P<part>.+))?))?"
)
_WIDTH = 110
"""So long the names become of parts of which the same is said."""
_WORTH_A_DIFFERENCE = 0.9
"""A part is kept as a difference where that has at most this share of its lines."""
_WORTH_A_BASE = 0.75
"""Likewise a text."""
_NOTHING = "nothing"
"""What a part comes after that is the first."""
_BETWEEN = "…"
"""The lines between two that go."""
_LIKEST = 3
"""So many texts are compared part by part: the others have more lines that only one of two has."""


class GoldenError(Exception):
    """A file that cannot be read: it was changed by hand, or its base was."""


# ---- texts and their parts


def parts_of(text: str) -> Parts:
    """The parts of a text. `text_of` makes the same text of them."""
    parts: Parts = {}

    def add(name: str, part: str) -> None:
        number = sum(known.split(" #")[0] == name for known in parts) + 1
        parts[name if number == 1 else f"{name} #{number}"] = part

    for statement in text.split(_STATEMENT_END):
        start, steps, end = _split(statement)
        add(f"; {_kind(start)}", start)
        for name, step in steps:
            add(name, _without_frame(name, step))
        if steps:
            add("end", end)
    return parts


def _split(statement: str) -> tuple[str, list[tuple[str, str]], str]:
    """What stands before the steps of a statement, its steps by name, and what follows them."""
    chain = _CHAIN.search(statement)
    steps: list[tuple[str, str]] = []
    place = chain.end() if chain else 0
    while chain and (step := _STEP.match(statement, place)):
        steps.append((step["name"], step["text"]))
        place = step.end()
        if step["end"] != ",\n\n":
            return statement[: chain.start()], steps, statement[place:]
    return statement, [], ""


def text_of(parts: Mapping[str, str]) -> str:
    """The text that has these parts."""
    statements: list[str] = []
    steps: list[str] = []
    for numbered, part in parts.items():
        name = numbered.split(" #")[0]
        if name.startswith("; "):
            statements.append(part)
        elif name == "end":
            statements[-1] += "with " + ",\n\n".join(steps) + "\n\n" * (not part.startswith(" ")) + part
            steps = []
        else:
            steps.append(_with_frame(name, part))
    return _STATEMENT_END.join(statements)


def _kind(start: str) -> str:
    """What a statement is, without the names of tables that differ from shape to shape."""
    if not start.strip():
        return "with"
    words = re.match(r"[a-z]+(?: [a-z]+\b(?![.(_]))*", start)
    wanted = r"\bas (\w+)" if start.startswith("select") else r"^[^\n]*?__(state|reports|batch)\w*?(l?)\b"
    told = re.search(wanted, start)
    return " ".join([words[0] if words else "statement", *(filter(None, told.groups()) if told else [])])


def _without_frame(name: str, step: str) -> str:
    """A step without its name and the lines around it, if it is laid out as steps are; else all of it."""
    framed = re.fullmatch(
        rf"(?P<comment>(?:--[^\n]*\n)*){name} as (?:\(\n\n(?P<body>.*)\n\n\)|(?P<line>\([^()\n]*\)))", step, re.DOTALL
    )
    inner = framed["comment"] + (framed["line"] or framed["body"]) if framed else step
    return inner if _with_frame(name, inner) == step else step


def _with_frame(name: str, inner: str) -> str:
    comment = re.match(r"(?:--[^\n]*\n)*", inner)
    start = comment[0] if comment else ""
    body = inner[len(start) :]
    if body.lstrip("\n").startswith(f"{name} as ("):
        return inner
    return f"{start}{name} as {body}" if re.fullmatch(r"\([^()\n]*\)", body) else f"{start}{name} as (\n\n{body}\n\n)"


# ---- lines that differ


def edits(old: str, new: str) -> list[str]:
    """What makes one part of the other: as few lines as tell the place of each."""
    lines, other = old.split("\n"), new.split("\n")
    found: list[str] = []
    place = 0
    for kind, first, last, start, end in difflib.SequenceMatcher(None, lines, other, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        shown = first - (first == last and first > place)
        while shown > place and not _are_next(lines, place, shown, max(last, shown + 1)):
            shown -= 1
        found += [f" {line}" for line in lines[shown:first]]
        found += [f"-{line}" for line in _shortened(lines[first:last])]
        found += [f"+{line}" for line in other[start:end]]
        place = last
    return found


def _shortened(gone: Sequence[str]) -> Sequence[str]:
    """Lines that go, by the first and the last of them where these say which ones they are."""
    is_told = len(gone) > 3 and gone.index(gone[-1], 1) == len(gone) - 1
    return [gone[0], _BETWEEN, gone[-1]] if is_told else gone


def _are_next(lines: Sequence[str], place: int, first: int, last: int) -> bool:
    """Whether lines are found where they are by looking for each from `place` on."""
    for number in range(first, last):
        if lines.index(lines[number], place) != number:
            return False
        place = number + 1
    return True


def edited(old: str, changes: Iterable[str]) -> str:
    """The part that these edits make of another one."""
    lines, place = old.split("\n"), 0
    made: list[str] = []
    goes_on = False
    for change in changes:
        sign, line = change[:1], change[1:]
        if sign == "+":
            made.append(line)
            continue
        if change == f"-{_BETWEEN}":
            goes_on = True
            continue
        if sign not in ("-", " ") or line not in lines[place:]:
            raise GoldenError(f"no such line follows: {line!r}")
        found = lines.index(line, place)
        if not goes_on:
            made += lines[place : found + (sign == " ")]
        place, goes_on = found + 1, False
    return "\n".join([*made, *lines[place:]])


# ---- texts that differ


def difference(base: Parts, places: Mapping[str, Sequence[Place]], parts: Parts) -> list[str]:
    """How a text differs from its base, in lines. `places` has the parts of all texts that it may name."""
    old, new = list(base), list(parts)
    # of parts that several texts have, those are named that have most of them
    others = Counter(text for name in new if base.get(name) != parts[name] for text, _ in places.get(parts[name], ()))
    known = {
        part: max(found, key=lambda place: (place[1] == name, others[place[0]]))
        for name, part in parts.items()
        if (found := places.get(part))
    }
    known = {part: found[0] for part, found in places.items()} | known
    sections: list[_Section] = []
    before = _NOTHING
    for kind, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            sections += [_Section([name], "", ": left out", []) for name in old[first:last]]
        for name in new[start:end]:
            if kind != "equal":
                sections.append(_Section([name], before, *_nearest(name, parts[name], None, known)))
            elif base[name] != parts[name]:
                sections.append(_Section([name], "", *_nearest(name, parts[name], base[name], known)))
            before = name
    return [line for section in _joined(sections) for line in section.lines()]


def _by(base: str, texts: Mapping[str, Parts], text: str) -> list[str]:
    """How a text differs from one of these, which gives the parts that others have too."""
    places: dict[str, list[Place]] = {}
    for name in dict.fromkeys([base, *texts]):
        for part, its_text in texts[name].items():
            places.setdefault(its_text, []).append((name, part))
    return difference(texts[base], places, parts_of(text))


@dataclass
class _Section:
    """What a difference says of a part, or the same of some parts."""

    names: list[str]
    after: str
    how: str
    changes: list[str]

    def lines(self) -> list[str]:
        return [f"@@ {', '.join(self.names)}{f', after {self.after}' * bool(self.after)}{self.how}", *self.changes]

    def goes_on(self, other: _Section) -> bool:
        """Whether another one says of the next part what this one says."""
        is_next = other.after == self.names[-1] if self.after else not other.after
        is_same = self.how == other.how and self.changes == other.changes and len(self.changes) < 2
        return is_next and is_same and len(self.lines()[0]) + len(other.names[0]) < _WIDTH


def _joined(sections: Iterable[_Section]) -> list[_Section]:
    joined: list[_Section] = []
    for section in sections:
        if joined and joined[-1].goes_on(section):
            joined[-1].names += section.names
        else:
            joined.append(section)
    return joined


def _nearest(name: str, text: str, old: str | None, known: Mapping[str, Place]) -> tuple[str, list[str]]:
    """How a part is kept: as the base's one of its name with changes, as that of another text, or whole."""
    lines = text.split("\n")
    likest = [text] if text in known else heapq.nsmallest(3, known, key=lambda other: unlike(other, text))
    ways = [(_of(*known[other], name), edits(other, text)) for other in likest]
    if old is not None:
        ways.insert(0, ("", edits(old, text)))
    how, changes = min(ways, key=lambda way: len(way[1]) + 3 * bool(way[0] and way[1]), default=("", lines))
    is_near = len(changes) <= _WORTH_A_DIFFERENCE * len(lines)
    return (how, changes) if is_near else (": new", [f"+{line}" for line in lines])


def _of(text: str, part: str, name: str) -> str:
    return f": of {text}" + f" {part}" * (part != name)


def unlike(text: str, other: str) -> int:
    """How many lines only one of two texts has, in whatever order."""
    lines, others = _counted(text), _counted(other)
    return lines.total() + others.total() - 2 * (lines & others).total()


@cache
def _counted(text: str) -> Counter[str]:
    return Counter(text.split("\n"))


def parts_by(base: Parts, sources: Callable[[str], Parts], lines: Sequence[str]) -> Parts:
    """The parts that a text has which so differs from its base."""
    old = list(base)
    made: Parts = {}

    def keep_up_to(place: int) -> None:
        made.update({name: base[name] for name in old[:place]})
        del old[:place]

    for header, *changes in _sections(lines):
        told = _HEADER.fullmatch(header)
        if told is None:
            raise GoldenError(f"not understood: {header!r}")
        after, how = told["after"], told["how"]
        if after and after not in (_NOTHING, *made):
            keep_up_to(_place(old, after) + 1)
        for name in told["names"].split(", "):
            if not after:
                keep_up_to(_place(old, name))
                del old[0]
            if how == "new":
                made[name] = "\n".join(line[1:] for line in changes)
            elif how != "left out":
                made[name] = edited(_part(sources(told["text"]) if how else base, told["part"] or name), changes)
    keep_up_to(len(old))
    return made


def _sections(lines: Iterable[str]) -> list[list[str]]:
    sections: list[list[str]] = []
    for line in lines:
        if line.startswith("@@ ") or not sections:
            sections.append([])
        sections[-1].append(line)
    return sections


def _part(parts: Parts, name: str) -> str:
    if name not in parts:
        raise GoldenError(f"the other text has no part {name!r}")
    return parts[name]


def _place(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise GoldenError(f"the base has no part {name!r} here")
    return names.index(name)


# ---- files


@dataclass(frozen=True)
class Golden:
    """A folder of golden texts, by their names.

    `whole` are the names of those that are kept whole whatever they are. `tables` has the names of tables that stand in
    a text where those of another one stand in that, in the same order.
    """

    folder: Path
    whole: Sequence[str]
    tables: Mapping[str, Sequence[str]]
    _read: dict[str, Parts] = field(default_factory=dict)

    def files(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files that keep these texts.

        Whole texts come first, then the others in their order. The base of a text is the one of its subfolder that
        comes before it and takes fewest lines; its parts may be those of any that does. A text that has no such base
        is kept whole.
        """
        parts = {name: parts_of(text) for name, text in texts.items()}
        order = sorted(texts, key=lambda name: name not in self.whole)
        files = {}
        for number, name in enumerate(order):
            before = {other: self._as_in(name, other, parts[other]) for other in order[:number]}
            file, content = self._file(name, texts[name], before)
            files[file] = content
        return dict(sorted(files.items()))

    def _file(self, name: str, text: str, before: Mapping[str, Parts]) -> tuple[str, str]:
        """The file that keeps a text, and what it holds."""
        of_kind = [other for other in before if other.split("/")[0] == name.split("/")[0]]
        if of_kind and name not in self.whole:
            likest = heapq.nsmallest(_LIKEST, of_kind, key=lambda other: unlike(text_of(before[other]), text))
            base, lines = min(((base, _by(base, before, text)) for base in likest), key=lambda way: len(way[1]))
            is_short = len(lines) <= _WORTH_A_BASE * text.count("\n")
            if is_short and text_of(parts_by(before[base], before.__getitem__, lines)) == text:
                return f"{name}.diff", "\n".join([f"--- {base}{self._told(name, base)}", *lines, ""])
        return f"{name}.sql", text

    def kept(self) -> dict[str, str]:
        """The files that the folder has."""
        found = [path for suffix in ("sql", "diff") for path in self.folder.glob(f"*/*.{suffix}")]
        return {str(path.relative_to(self.folder)): path.read_text() for path in sorted(found)}

    def write(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Keep these texts and no others. Says of each file that is not as it was what became of it."""
        before, after = self.kept(), self.files(texts)
        for file, content in after.items():
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(content)
        for file in before.keys() - after.keys():
            (self.folder / file).unlink()
        self._read.clear()
        told = {file: "new" if file not in before else "changed" for file in after if before.get(file) != after[file]}
        return told | {file: "gone" for file in before if file not in after}

    def names(self) -> list[str]:
        """The texts that the folder keeps."""
        return [file.rpartition(".")[0] for file in self.kept()]

    def base(self, name: str) -> str | None:
        """The base of a text that is kept as a difference."""
        file = self.folder / f"{name}.diff"
        return file.read_text().split("\n")[0].removeprefix("--- ").split(",")[0] if file.exists() else None

    def text(self, name: str) -> str:
        """A text that the folder keeps; empty where it keeps none of this name."""
        whole = self.folder / f"{name}.sql"
        if whole.exists():
            return whole.read_text()
        return text_of(self._parts(name)) if self.base(name) else ""

    def _parts(self, name: str) -> Parts:
        if name not in self._read:
            base = self.base(name)
            self._read[name] = self._parts_by(name, base) if base else parts_of(self.text(name))
        return self._read[name]

    def _parts_by(self, name: str, base: str) -> Parts:
        def parts_of_other(other: str) -> Parts:
            return self._as_in(name, other, self._parts(other))

        lines = (self.folder / f"{name}.diff").read_text().removesuffix("\n").split("\n")[1:]
        try:
            return parts_by(parts_of_other(base), parts_of_other, lines)
        except (GoldenError, RecursionError) as error:
            raise GoldenError(f"{name}: {error}") from error

    def _as_in(self, name: str, other: str, parts: Parts) -> Parts:
        """The parts of another text with the tables of this one."""
        there = dict(zip(self.tables.get(other, ()), self.tables.get(name, ()), strict=False))
        if not there:
            return parts
        tables = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(map(re.escape, there))})(?=__|\b)")
        return {part: tables.sub(lambda found: there[found[0]], text) for part, text in parts.items()}

    def _told(self, name: str, base: str) -> str:
        pairs = dict(zip(self.tables.get(base, ()), self.tables.get(name, ()), strict=False))
        return "".join(f", {mine} for {its}" for its, mine in pairs.items() if its != mine)
