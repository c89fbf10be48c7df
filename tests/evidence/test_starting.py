from benchmarks import starting


def test_every_way_to_start_is_measured_beside_its_peers():
    found = starting.measure(rounds=1)
    written = starting.table(found)
    assert found.keys() == starting.WAYS.keys()
    assert "| `python` |" in written
    assert written.splitlines()[2].split(" | ")[2] == "1.00"
