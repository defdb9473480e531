"""A real Kafka broker on this machine: one node, its own folder, gone when it is stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from change_tables.server.jars import java_command

COORDINATES = ("org.apache.kafka:kafka_2.13:3.9.1",)
"""The broker, from Maven Central."""

_PATIENCE = 90.0  # seconds for it to answer
_SETTINGS = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/logs
num.partitions={partitions}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class BrokerError(Exception):
    """The broker does not start; the message is one line that says where to look."""


@contextmanager
def kafka_broker(folder: Path, jars: Path, partitions: int) -> Iterator[str]:
    """Start a broker; yields its `host:port`, and stops it when the block ends, also by an error.

    Args:
        folder: of its settings, its log and what it stores; made new
        jars: folder of the broker's jars
        partitions: how many partitions a topic gets that is made by its first record

    Raises:
        BrokerError: it does not come up.
    """
    folder.mkdir(parents=True)
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, controller=controller, folder=folder, partitions=partitions))
    # Spark's resolver leaves out what Spark itself always has
    scala = next((Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar"))
    java = [java_command(), "-Xmx512m", "-cp", f"{jars}/*{os.pathsep}{scala}"]
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    with (folder / "broker.log").open("w") as log:
        # in one word, for an id may begin with a dash
        format_storage = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(settings)]
        if subprocess.run(format_storage, stdout=log, stderr=log, check=False).returncode != 0:
            raise BrokerError(f"Kafka could not make its storage: see {folder / 'broker.log'}")
        process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log, env=dict(os.environ))
        try:
            _wait_until_it_answers(process, port, folder / "broker.log")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise BrokerError(f"Kafka did not start: see {log}")


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
