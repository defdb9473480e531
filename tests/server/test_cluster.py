"""How a server of a cluster finds its address and its workers' Python, and what it says when it cannot."""

from __future__ import annotations

import socket
import sys

import pytest

from change_tables.server.cluster import ClusterError, address_towards, cause_on_worker, worker_python


@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443"])
def test_only_a_standalone_master_says_which_address_the_workers_find(master: str) -> None:
    assert address_towards(master) is None


def test_the_address_is_that_on_the_way_to_the_first_master_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        port = master.getsockname()[1]
        assert address_towards(f"spark://127.0.0.1:{port}") == "127.0.0.1"
        assert address_towards(f"spark://127.0.0.1:{_closed_port()},127.0.0.1:{port}") == "127.0.0.1"


def test_a_master_that_does_not_answer_and_a_url_without_port_are_one_clear_line() -> None:
    port = _closed_port()
    with pytest.raises(ClusterError, match=rf"^no Spark master answers at spark://127\.0\.0\.1:{port}: start it, or "):
        address_towards(f"spark://127.0.0.1:{port}")
    with pytest.raises(ClusterError, match=r"^--master is 'spark://somewhere': a standalone master is spark://host:"):
        address_towards("spark://somewhere")


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("settings", "environment", "python"),
    [
        ({}, {}, sys.executable),
        ({}, {"PYSPARK_PYTHON": "python3.11"}, "python3.11"),
        ({"spark.pyspark.python": "./environment/bin/python"}, {}, "./environment/bin/python"),
        ({"spark.pyspark.python": "./a/python"}, {"PYSPARK_PYTHON": "./b/python"}, "./a/python"),
    ],
)
def test_workers_run_the_python_that_the_user_has_set_and_else_the_server_s(
    settings: dict[str, str], environment: dict[str, str], python: str
) -> None:
    assert worker_python(settings, environment) == python


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("", "nothing"),
        ("Job aborted due to stage failure", "Job aborted due to stage failure"),
        (
            'An error occurred.\n: org.apache.spark.SparkException: aborted: java.io.IOException: Cannot run "python9"'
            "\n\tat org.apache.A(A.scala:1)\nCaused by: java.io.IOException: error=2, No such file\n\t... 1 more",
            "java.io.IOException: error=2, No such file",
        ),
        (
            "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
            "  File worker.py\nModuleNotFoundError: No module named 'lxml'\n\n\tat org.apache.spark.A(A.scala:1)\n",
            "ModuleNotFoundError: No module named 'lxml'",
        ),
    ],
)
def test_of_what_spark_says_of_a_failed_job_the_cause_on_the_worker_is_shown(message: str, cause: str) -> None:
    assert cause_on_worker(message) == cause
