"""What a server says of settings of a metastore that are wrong, before anything has started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from change_tables.server.metastore import PASSWORD, MetastoreError, metastore_at, other_place

URL = "postgresql://hive@db.example.org:5433/lake"


@pytest.mark.parametrize(
    ("url", "jdbc_url", "user"),
    [
        (URL, "jdbc:postgresql://db.example.org:5433/lake", "hive"),
        ("postgres://hive@db/lake", "jdbc:postgresql://db:5432/lake", "hive"),
        ("postgresql://a%40b@[::1]/lake", "jdbc:postgresql://[::1]:5432/lake", "a@b"),
        (f"{URL}?sslmode=verify-full", "jdbc:postgresql://db.example.org:5433/lake?sslmode=verify-full", "hive"),
    ],
)
def test_a_url_says_host_port_database_and_user_and_options_of_the_driver(url: str, jdbc_url: str, user: str) -> None:
    metastore = metastore_at(url, None, {PASSWORD: "secret"})
    assert (metastore.jdbc_url, metastore.user) == (jdbc_url, user)


@pytest.mark.parametrize(
    "url", ["", "lake", "mysql://hive@db/lake", "postgresql://db/lake", "postgresql://hive@db", "postgresql://a@b:x/c"]
)
def test_another_kind_of_url_or_one_that_lacks_a_part_is_an_error_that_shows_the_form(url: str) -> None:
    with pytest.raises(MetastoreError, match=r"^--metastore must be postgresql://user@host:5432/database"):
        metastore_at(url, None, {PASSWORD: "secret"})


@pytest.mark.parametrize("url", ["postgresql://hive:geheim@db/lake", "postgresql://hive@db/lake?password=geheim"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(MetastoreError, match=r"^--metastore must have no password, .*: set CHANGE_TABLES_") as told:
        metastore_at(url, None, {PASSWORD: "secret"})
    assert "geheim" not in str(told.value)


def test_the_password_is_taken_out_of_the_environment_that_other_processes_get_and_is_not_shown() -> None:
    environment = {PASSWORD: "secret", "HOME": "/root"}
    metastore = metastore_at(URL, None, environment)
    assert metastore.password == "secret"
    assert environment == {"HOME": "/root"}
    assert "secret" not in repr(metastore)


def test_the_password_can_be_in_a_file_and_the_variable_counts_more(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" blanks count \n")
    assert metastore_at(URL, file, {}).password == " blanks count "
    assert metastore_at(URL, file, {PASSWORD: "secret"}).password == "secret"


def test_no_password_and_a_file_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MetastoreError, match=r"^--metastore has no password: set CHANGE_TABLES_SERVER_METASTORE_PASS"):
        metastore_at(URL, None, {})
    missing = tmp_path / "missing"
    with pytest.raises(MetastoreError, match=rf"^cannot read the password in {re.escape(str(missing))}: No such file"):
        metastore_at(URL, missing, {})
    missing.write_bytes(b"\xff")
    with pytest.raises(MetastoreError, match=r"^cannot read the password in .*: it is no text; set CHANGE_TABLES_"):
        metastore_at(URL, missing, {})


def test_tables_in_another_place_than_those_of_the_metastore_are_an_error_that_names_both() -> None:
    assert other_place("file:/data/tables", "file:/data/tables") is None
    mistake = other_place("file:/data/tables", "s3a://lake/tables")
    assert mistake == (
        "the tables of this metastore are in s3a://lake/tables, and --tables is file:/data/tables:"
        " give --tables s3a://lake/tables"
    )
