"""The version of the functions, the server and the command line. The dbt package has the same."""

__version__ = "0.1.0"


def compatible_part(version: str) -> str:
    """What two versions must have in common to fit each other: the major number, and before 1.0 the minor one, too.

    What is no version is compared as it is, as the macro `_compatible_part` does.

    >>> compatible_part("0.1.7"), compatible_part("2.5.0"), compatible_part("1"), compatible_part("dev")
    ('0.1', '2', '1', 'dev')
    """
    numbers = version.split(".")
    return ".".join(numbers[:2]) if numbers[0] == "0" else numbers[0]
