"""The log: transactions, documents, the SQLite library."""

from __future__ import annotations

import pytest

from clasher.errors import FolderError
from clasher.service.log import ROWS, Log, Relabel, check_library, encode


def test_a_transaction_is_written_whole_or_not_at_all(tmp_path):
    log = Log(tmp_path / "log.sqlite")
    bodies = [encode(Relabel(action="pin", label=str(n))) for n in range(2 * ROWS + 5)]
    with log.transaction():
        for body in bodies:
            log.append(1.0, "ann", body)
        assert log.row(3).body.label == "2"  # also before the end
    assert [encode(row.body) for row in log.rows()] == bodies
    with pytest.raises(AttributeError), log.transaction():
        log.append(2.0, "ann", bodies[0]).fails()
    with log.transaction():
        log.put_value("something", "else")
    assert len(log.rows()) == len(bodies)
    log.close()


def test_documents_are_deleted_by_number_and_before_a_number(tmp_path):
    log = Log(tmp_path / "log.sqlite")
    rows = [(number, b"%d" % number) for number in range(1, ROWS + 10)]
    with log.transaction():
        log.write_documents(rows)
        log.write_documents([(8, b"again")], [6, 7], before=5)
        log.write_documents([])
    assert list(log.documents())[:3] == [b"5", b"again", b"9"]
    log.close()


def test_an_old_database_library_is_refused():
    check_library("3.51.3")
    with pytest.raises(FolderError, match=r"3\.50\.4 can lose commits; pip install"):
        check_library("3.50.4")
