"""Names of models, and names as SQL and Jinja write them."""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase

KINDS = ("stg", "dedup", "current", "history")
"""The models of an entry, in the order in which one reads the other."""


def model_name(kind: str, source: str, table: str) -> str:
    """The name of a model: `<kind>_<source>__<table>`, each part made safe by `safe_name`.

    >>> model_name("stg", "shop", "Order Lines")
    'stg_shop__order_lines'
    """
    return f"{kind}_{safe_name(source)}__{safe_name(table)}"


def safe_name(name: str) -> str:
    """A name that file systems, dbt, Spark and Jinja take as it is: small letters, digits and `_`.

    Letters lose their accents. Other characters between letters or digits become one `_`; a letter that has no Latin
    form becomes its number.

    >>> [safe_name(name) for name in ("order", "it's", "unit price", "Größe", "été", "表", "$")]
    ['order', 'it_s', 'unit_price', 'grosse', 'ete', 'u8868', 'u24']
    """
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("ẞ", "ss"))
        if not unicodedata.combining(letter)
    )
    plain = "".join(
        letter if letter.isascii() or not letter.isalnum() else f"u{ord(letter):x}" for letter in plain.lower()
    )
    safe = re.sub(r"[^a-z0-9_]+", "_", plain)
    safe = safe.strip("_") if safe != plain else safe
    return safe or "".join(f"u{ord(letter):x}" for letter in name)


def matches(name: str, pattern: str) -> bool:
    """Whether a name is that of a pattern with `*`, `?` and `[…]`, in whatever case.

    >>> matches("ORDERS__CT", "*__ct"), matches("orders", "order")
    (True, False)
    """
    return fnmatchcase(name.lower(), pattern.lower())


def literal(text: str) -> str:
    r"""A text as Jinja writes it.

    >>> print(literal("orders"), literal("it's"))
    'orders' "it's"
    """
    quote = '"' if "'" in text and '"' not in text else "'"
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def quoted(name: str) -> str:
    """A name in backticks, as Spark SQL takes any name.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def needs_quotes(identifier: str) -> bool:
    """Whether Spark SQL takes the name of a table in backticks only."""
    return not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", identifier)
