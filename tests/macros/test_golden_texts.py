"""Golden texts are what they were, however they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from .golden_texts import Golden, GoldenError, edited, edits, parts_of, text_of

STAGED = """\
with landed as (

    select *
    from lake.orders

),

-- each row has a verdict
judged as (

    select
        *,
        a,
        b,
        a is null as is_rejected
    from landed

),

staged as (

    select *
    from judged

)

select *
from staged
"""
LOGGED = """\
with landed as (

    select *
    from lake.prices

),

-- each row has a verdict
judged as (

    select
        *,
        a,
        c,
        a is null as is_rejected
    from landed

),

staged as (

    select *
    from judged
    where not is_rejected

),

changes as (

    select id
    from staged

)

table changes
"""
SENT = """\
merge into lake.orders__state as target
using (
    with rows as (

select * from the_model

)
;

select count(*) from (with landed as (select * from the_model),

staged as (select * from the_model) select * from staged)
;
"""
NOT_LAID_OUT = "with a as (\n    select 1\n),\n\n\nb as (\n\n    select 2\n\n) select *\nfrom b\n"


@pytest.mark.parametrize(
    "text", [STAGED, LOGGED, SENT, NOT_LAID_OUT, "", "select 1\n", "with a as (\n", "with a as (b),\n\nc\n;\n\n\n;\n\n"]
)
def test_parts_make_the_text_that_they_are_of(text: str) -> None:
    assert text_of(parts_of(text)) == text


def test_parts_are_the_steps_and_what_stands_around_them() -> None:
    assert list(parts_of(STAGED)) == ["; with", "landed", "judged", "staged", "end"]
    assert parts_of(STAGED)["landed"] == "    select *\n    from lake.orders"
    assert list(parts_of(SENT)) == ["; merge into state", "; select", "landed", "staged", "end"]
    assert list(parts_of(f"{STAGED};\n\n{STAGED}"))[4:7] == ["end", "; with #2", "landed #2"]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("a b c", "a b c", []),
        ("a b c", "a x c", ["-b", "+x"]),
        ("a b c", "x a b c", ["+x"]),
        ("a b c", "a b c x", [" c", "+x"]),
        ("a b a c", "a b c", [" b", "-a"]),
        ("a a a", "a a x a", [" a", " a", "+x"]),
        ("", "a", ["-", "+a"]),
        ("a b c d", "c d", ["-a", "-b"]),
        ("a b c d e f", "a x f", ["-b", "-…", "-e", "+x"]),
        ("a b c d b e", "a e", ["-b", "-…", "-b"]),
        ("a b c d c e", "a e", ["-b", "-c", "-d", "-c"]),
    ],
)
def test_edits_have_the_lines_that_tell_the_place_and_no_others(old: str, new: str, changes: list[str]) -> None:
    before, after = old.replace(" ", "\n"), new.replace(" ", "\n")
    assert edits(before, after) == changes
    assert edited(before, changes) == after


def _golden(folder: Path) -> Golden:
    return Golden(folder, ["models/staged"], {"models/staged": ["lake.orders"], "models/logged": ["lake.prices"]})


TEXTS = {"models/logged": LOGGED, "models/staged": STAGED, "runs/sent": SENT}


def test_a_text_is_kept_as_what_differs_from_its_base(tmp_path: Path) -> None:
    told = _golden(tmp_path).write(TEXTS)
    assert told == dict.fromkeys(["models/logged.diff", "models/staged.sql", "runs/sent.sql"], "new")
    assert (tmp_path / "models/staged.sql").read_text() == STAGED
    assert (tmp_path / "models/logged.diff").read_text() == (
        "--- models/staged, lake.prices for lake.orders\n"
        "@@ judged\n-        b,\n+        c,\n"
        "@@ staged\n     from judged\n+    where not is_rejected\n"
        "@@ changes, after staged: new\n+    select id\n+    from staged\n"
        "@@ end: new\n+table changes\n+\n"
    )


def test_the_folder_gives_all_texts_back_and_forgets_those_that_are_gone(tmp_path: Path) -> None:
    golden = _golden(tmp_path)
    golden.write(TEXTS)
    assert {name: golden.text(name) for name in golden.names()} == TEXTS
    assert golden.write(TEXTS) == {}
    assert golden.text("models/unknown") == ""
    changed = {"models/logged": LOGGED.replace("not is_rejected", "true"), "models/staged": STAGED}
    assert golden.write(changed) == {"models/logged.diff": "changed", "runs/sent.sql": "gone"}
    assert {name: golden.text(name) for name in golden.names()} == changed


def test_what_changes_in_all_texts_changes_the_whole_one_alone(tmp_path: Path) -> None:
    golden = _golden(tmp_path)
    golden.write(TEXTS)
    changed = {name: text.replace("a is null", "a = 0") for name, text in TEXTS.items()}
    assert golden.write(changed) == {"models/staged.sql": "changed"}


def test_parts_may_be_those_of_another_text(tmp_path: Path) -> None:
    golden = Golden(tmp_path, ["models/staged"], {})
    both = STAGED.replace("\n)\n\nselect *\nfrom staged", f"\n),\n\n{LOGGED[LOGGED.index('changes as') :].rstrip()}")
    golden.write({"models/staged": STAGED, "models/logged": LOGGED, "models/both": both})
    assert golden.text("models/both") == both
    assert (tmp_path / "models/both.diff").read_text() == (
        "--- models/logged\n@@ landed, judged, staged: of models/staged\n"
    )


def test_parts_that_several_texts_have_are_those_of_the_text_that_has_most_of_them(tmp_path: Path) -> None:
    def steps(*names: str) -> str:
        told = ",\n\n".join(f"{name} as (\n\n    select {name}\n    from {name}s\n\n)" for name in names)
        return f"with {told}\n\nselect *\nfrom {names[0]}\n"

    texts = {"models/base": steps("a", "b", "c", "d", "e"), "runs/one": steps("x"), "runs/two": steps("x", "y")}
    golden = Golden(tmp_path, list(texts), {})
    golden.write(texts | {"models/both": steps("a", "b", "c", "d", "e", "x", "y")})
    assert (tmp_path / "models/both.diff").read_text() == "--- models/base\n@@ x, y, after e: of runs/two\n"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("-        b,", "-        z,", "no such line follows"),
        ("@@ judged", "@@ unknown", "no part 'unknown'"),
        ("@@ staged", "staged", "no such line follows"),
        ("@@ judged", "judged", "not understood"),
        ("@@ end: new", "@@ end: of models/staged nothing", "no part 'nothing'"),
    ],
)
def test_a_file_that_was_changed_by_hand_is_told(tmp_path: Path, before: str, after: str, message: str) -> None:
    golden = _golden(tmp_path)
    golden.write(TEXTS)
    file = tmp_path / "models/logged.diff"
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(GoldenError, match=f"models/logged: .*{message}"):
        golden.text("models/logged")
