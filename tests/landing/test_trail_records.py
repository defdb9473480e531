"""What Logdump prints is read into rows of the raw table, and what cannot be read is named with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from change_tables.landing.trail_records import SCHEMA, LogdumpText, main

RULE = "_" * 67
METADATA = f"""Current LogTrail is /u01/ogg/dirdat/rt000000007
Logdump 5 >next 100
Reading forward from RBA 1000
{RULE}
Hdr-Ind    :     E  (x45)     Partition  :     .  (x00)
UndoFlag   :     .  (x00)     BeforeAfter:     A  (x41)
RecLength  :   311  (x0137)   IO Time    : 2026/01/31 11:59:59.000.000
IOType     :   170  (xaa)     OrigNode   :     1  (x01)
TransInd   :     .  (x03)     FormatType :     R  (x52)
SyskeyLen  :     0  (x00)     Incomplete :     .  (x00)
DDR/TDR index:   (001, 001)     AuditPos   : 0
Continued  :     N  (x00)     RecCount   :     1  (x01)

2026/01/31 11:59:59.000.000 Metadata             Len 311 RBA 1527
Name: APP.ORDERS
*
 1)Name          2)Data Type        3)External Length  4)Fetch Offset      5)Scale         6)Level
*
TDR version: 11
Definition for table APP.ORDERS
Record Length: 208
Columns: 3
ID         64     50        0  0  0 1 0     50     50     50 0 0 0 0 1    0 1   2    2       -1      0 0 0
NAME       64     10       56  0  0 1 0     10     10      0 0 0 0 0 1    0 0   0    1       -1      0 0 0
PLACED_AT 192     19       72  0  0 1 0     19     19     19 0 5 0 0 1    0 0   0   12       -1      0 0 0
End of definition
"""
INSERT = f"""{RULE}
Hdr-Ind    :     E  (x45)     Partition  :     .  (x0c)
UndoFlag   :     .  (x00)     BeforeAfter:     A  (x41)
RecLength  :    46  (x002e)   IO Time    : 2026/01/31 12:00:00.123.456
IOType     :     5  (x05)     OrigNode   :   255  (xff)
TransInd   :     .  (x00)     FormatType :     R  (x52)
SyskeyLen  :     0  (x00)     Incomplete :     .  (x00)
AuditRBA   :         47       AuditPos   : 28178936
Continued  :     N  (x00)     RecCount   :     1  (x01)

2026/01/31 12:00:00.123.456 Insert               Len    46 RBA 1891
Name: APP.ORDERS  (TDR Index: 1)
After  Image:                                             Partition 12   G  s
 0000 000a 0000 0000 0000 0000 0001 0001 000c 0000 | ....................
Column     0 (x0000), Len    10 (x000a)
 0000 0000 0000 0000 0007                          | ..........
Column     1 (x0001), Len    24 (x0018)
 0000 0014 6974 2773 2061 206c 6f6e 6720 6e61 6d65 | ....it's a long name
 2121 2121                                         | !!!!
Column     2 (x0002), Len    21 (x0015)
 0000 3230 3236 2d30 312d 3331 3a31 323a 3030 3a30 | ..2026-01-31:12:00:0
 30                                                | 0

GGS tokens:
TokenID x52 'R' ORAROWID         Info x00  Length   20
 4141 4157 4b79 4141 4741 4141 4143 5841 4141 0001 | AAAWKyAAGAAAACXAAA..
TokenID x4c 'L' LOGCSN           Info x00  Length    7
 3231 3238 3139 36                                 | 2128196
TokenID x36 '6' TRANID           Info x00  Length    9
 362e 3133 2e31 3039 36                            | 6.13.1096
"""
UPDATE = f"""{RULE}
Hdr-Ind    :     E  (x45)     Partition  :     .  (x0c)
UndoFlag   :     .  (x00)     BeforeAfter:     A  (x41)
RecLength  :    46  (x002e)   IO Time    : 2026/01/31 12:00:00.123.456
IOType     :   135  (x87)     OrigNode   :   255  (xff)
TransInd   :     .  (x02)     FormatType :     F  (x46)
SyskeyLen  :     0  (x00)     Incomplete :     .  (x00)
AuditRBA   :         47       AuditPos   : 28178999
Continued  :     Y  (x01)     RecCount   :     2  (x02)

2026/01/31 12:00:00.123.456 GGSUnifiedPKUpdate   Len    46 RBA 2050
Name: APP.ORDERS  (TDR Index: 1)
Before Image:                                             Partition 12   G  s
BeforeColumnLen     10 (x0000000a)
Column     0 (x0000), Len    10 (x000a)
 0000 0000 0000 0000 0007                          | ..........
After  Image:                                             Partition 12   G  s
Column     0 (x0000), Len    10 (x000a)
 0000 ffff ffff ffff fffe                          | ..........
Column     1 (x0001), Len     2 (x0002)
 ffff                                              | ..
"""


def test_a_record_is_read_with_the_names_of_the_definition_before_it() -> None:
    reader = LogdumpText()
    metadata, insert = reader.records((METADATA + INSERT).splitlines())
    assert (metadata["io_type"], metadata["trans_ind"], metadata["trail_rba"]) == (170, 3, 1527)
    assert insert == {
        "trail_name": "rt",
        "trail_seqno": 7,
        "trail_rba": 1891,
        "hdr_ind": "E",
        "undo_flag": 0,
        "rec_length": 46,
        "io_type": 5,
        "trans_ind": 0,
        "syskey_len": 0,
        "audit_rba": 47,
        "audit_pos": 28178936,
        "continued": "N",
        "partition_ind": 12,
        "before_after": "A",
        "io_time": "2026-01-31 12:00:00.123456",
        "orig_node": 255,
        "format_type": "R",
        "incomplete": 0,
        "rec_count": 1,
        "table_name": "APP.ORDERS",
        "before_data": None,
        "after_data": {"ID": "7", "NAME": "it's a long name!!!!", "PLACED_AT": "2026-01-31:12:00:00"},
        "tokens": {"ORAROWID": "AAAWKyAAGAAAACXAAA\0\1", "LOGCSN": "2128196", "TRANID": "6.13.1096"},
    }
    assert list(insert) == [column.split()[0] for column in SCHEMA.split(", ")]
    assert [line for _, line in reader.unread] == []


def test_both_images_of_a_record_are_read() -> None:
    (record,) = LogdumpText("rt", 1).records(UPDATE.splitlines())
    assert record["before_data"] == {"column_0": "7"}
    assert record["after_data"] == {"column_0": "-2", "column_1": None}
    assert (record["continued"], record["format_type"], record["trans_ind"]) == ("Y", "F", 2)


def test_a_table_without_definition_takes_the_names_that_are_given() -> None:
    (record,) = LogdumpText("rt", 1, {"APP.ORDERS": ["id", "name"]}).records(UPDATE.splitlines())
    assert record["after_data"] == {"id": "-2", "name": None}


def test_a_truncate_has_no_image() -> None:
    text = INSERT.split("After  Image")[0].replace("IOType     :     5  (x05)", "IOType     :   100  (x64)")
    (record,) = LogdumpText("rt", 1).records(text.splitlines())
    assert (record["io_type"], record["before_data"], record["after_data"], record["tokens"]) == (100, None, None, None)


def test_lines_that_cannot_be_read_are_named_and_the_records_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text("what is this?\n" + INSERT + "and this?\n")
    assert main(["--trail", "rt", "--seqno", "7", "--columns", "APP.ORDERS=id,name,placed_at", str(dump)]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["after_data"]["id"] == "7"
    assert said.err.splitlines() == [
        f"{dump}:1: not understood: what is this?",
        f"{dump}:{len(INSERT.splitlines()) + 2}: not understood: and this?",
    ]
    dump.write_text(INSERT)
    assert main([str(dump)]) == 0


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "none.txt")])
    assert "No such file or directory" in capsys.readouterr().err
