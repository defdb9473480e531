"""The version of the functions, the server and the command line. The dbt package has the same."""

__version__ = "0.1.0"


def compatible_part(version: str) -> str:
    """What two versions must have in common to fit each other: the major number, and before 1.0 the minor one, too.

    >>> compatible_part("0.1.7"), compatible_part("2.5.0")
    ('0.1', '2')
    """
    major, minor, *_ = version.split(".")
    return f"0.{minor}" if major == "0" else major
