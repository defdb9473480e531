"""The feeds of the demo: each writer turns the source's history into raw rows as one replication product lands them."""

from __future__ import annotations

from collections.abc import Mapping

from demo.writers.debezium import DebeziumWriter
from demo.writers.dms import DmsWriter
from demo.writers.feed import FeedWriter
from demo.writers.full_loads import FullLoadsWriter
from demo.writers.goldengate_messages import GoldenGateMessagesWriter
from demo.writers.goldengate_trail import GoldenGateTrailWriter
from demo.writers.idm_event_log import IdmEventLogWriter
from demo.writers.mapped import MappedWriter
from demo.writers.openedge_cdc import OpenEdgeCdcWriter
from demo.writers.qlik_change_tables import QlikChangeTablesWriter
from demo.writers.qlik_kafka import QlikKafkaWriter

WRITERS: Mapping[str, type[FeedWriter]] = {
    "qlik_change_tables": QlikChangeTablesWriter,
    "qlik_kafka": QlikKafkaWriter,
    "goldengate_trail": GoldenGateTrailWriter,
    "idm_event_log": IdmEventLogWriter,
    "openedge_cdc": OpenEdgeCdcWriter,
}
"""The writers by their system's name; a new feed is one file beside this one and one line here."""

BY_NAME: Mapping[str, type[FeedWriter]] = {
    "debezium": DebeziumWriter,
    "dms": DmsWriter,
    "full_loads": FullLoadsWriter,
    "goldengate_messages": GoldenGateMessagesWriter,
    "mapped": MappedWriter,
}
"""Writers of feeds that are shown by their names alone, not with all. Their models are in `demo/models/<system>`."""
