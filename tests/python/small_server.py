"""Settings of a server that runs beside those of two test processes."""

from __future__ import annotations

from udfs.local_server import SHORT_LIVED

_OPTIONS = "spark.driver.defaultJavaOptions"
SMALL = SHORT_LIVED | {
    "spark.driver.memory": "2g",
    _OPTIONS: SHORT_LIVED[_OPTIONS].replace("-Xms3g -Xmn1200m", "-Xms2g -Xmn900m"),
}
