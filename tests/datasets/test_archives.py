import contextlib
import io
import re
import tarfile
import tracemalloc
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher.datasets.archives import members
from clasher.errors import StreamError
from clasher.io.records import FaultError
from tests.datasets.originals import tar, zipped

XML = re.compile(r"\.xml$")
INSIDE = {"b/2.xml": b"<two/>", "a/10.xml": b"<ten/>", "a/9.txt": b"no", "c/1.xml": b"<one/>"}
PACKERS = {
    "zip": zipped,
    "tar": lambda inside: tar(inside, "w"),
    "tar.gz": tar,
    "tar.bz2": lambda inside: tar(inside, "w:bz2"),
    "tar.xz": lambda inside: tar(inside, "w:xz"),
}


def read(path, expected=XML, **how):
    return {m.name.removeprefix(f"{path}/"): m.read() for m in members(path, expected, **how)}


@pytest.fixture
def archive(tmp_path):
    def put(content, name="some.archive"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return put


@pytest.mark.parametrize("kind", PACKERS)
def test_matching_members_are_read(archive, kind):
    path = archive(PACKERS[kind](INSIDE))
    assert read(path) == {name: c for name, c in INSIDE.items() if name.endswith("xml")}


@pytest.mark.parametrize("outer", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
def test_archives_within_archives_are_read(archive, outer, inner):
    content = PACKERS[outer]({f"month.{inner}": PACKERS[inner](INSIDE), "x.xml": b"<x/>"})
    found = read(archive(content))
    assert found["x.xml"] == b"<x/>"
    assert found[f"month.{inner}/a/10.xml"] == b"<ten/>"


def test_a_damaged_archive_in_a_sound_one_is_reported(archive):
    content = bytearray(zipped({"month.zip": zipped(INSIDE)}))
    content[60] ^= 0xFF
    with pytest.raises(StreamError, match=r"month\.zip: it is damaged .*get it again"):
        read(archive(content))
    with pytest.raises(StreamError, match=r"month\.zip is damaged or incomplete"):
        read(archive(zipped({"month.zip": zipped(INSIDE)[:-30]})))


def test_too_many_archives_within_each_other_are_not_opened(archive):
    content = zipped({"deepest.xml": b"<x/>"})
    for depth in range(4):
        content = zipped({f"{depth}.zip": content})
    assert read(archive(content)) == {}


def test_members_of_a_zip_come_in_the_order_asked_for(archive):
    path = archive(zipped(INSIDE))
    number = re.compile(r"(\d+)")
    order = [*read(path, key=lambda name: int(number.search(name)[1]))]
    assert order == ["c/1.xml", "b/2.xml", "a/10.xml"]


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_that_was_cut_off_anywhere_is_reported(archive, kind):
    whole = PACKERS[kind]({f"{n}.xml": b"<x>" + bytes([65 + n]) * 900 + b"</x>" for n in range(20)})
    end = len(whole.rstrip(b"\0"))  # a tar is filled up with zeros
    for length in range(0, end, max(end // 40, 1)):
        path = archive(whole[:length])
        with pytest.raises(StreamError, match=r"some\.archive is damaged or incomplete"):
            read(path)


def faults(path, **limit):
    """What is wrong with each member, None for a good one."""
    found = {}
    for member in members(path, XML):
        try:
            member.read(**limit)
            found[member.name.removeprefix(f"{path}/")] = None
        except FaultError as fault:
            found[member.name.removeprefix(f"{path}/")] = str(fault)
    return found


@settings(max_examples=60)
@given(st.sampled_from(sorted(PACKERS)), st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_ends_in_one_of_our_errors_or_in_nothing(tmp_path_factory, kind, at, by):
    whole = bytearray(PACKERS[kind](INSIDE))
    whole[at % len(whole)] ^= by
    path = tmp_path_factory.mktemp("flipped") / "some.archive"
    path.write_bytes(whole)
    with contextlib.suppress(StreamError):
        faults(path)


def test_a_missing_archive_is_reported(tmp_path):
    with pytest.raises(StreamError, match=r"none\.zip cannot be read: No such file"):
        read(tmp_path / "none.zip")


def test_links_and_devices_are_nothing(archive):
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as made:
        for name, kind in [("a.xml", tarfile.SYMTYPE), ("b.xml", tarfile.LNKTYPE),
                           ("c.xml", tarfile.CHRTYPE), ("d.xml", tarfile.FIFOTYPE)]:  # fmt: skip
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            made.addfile(entry)
    assert read(archive(sink.getvalue())) == {}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_elsewhere_are_only_names(archive, tmp_path, kind):
    inside = {"../../escaped.xml": b"<x/>", "/absolute.xml": b"<y/>"}
    assert sorted(read(archive(PACKERS[kind](inside))).values()) == [b"<x/>", b"<y/>"]
    assert [path.name for path in tmp_path.iterdir()] == ["some.archive"]


@pytest.mark.parametrize("kind", PACKERS)
def test_a_giant_is_refused_without_being_held(archive, kind):
    path = archive(PACKERS[kind]({"bomb.xml": bytes(50 << 20), "good.xml": b"<x/>"}))
    tracemalloc.start()
    try:
        found = faults(path, longest=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "longer than 1,048,576 bytes" in found["bomb.xml"]
    assert found["good.xml"] is None
    assert peak < 20 << 20


def test_a_size_that_lies_is_found_out(archive):
    content = bytearray(zipped({"a.xml": bytes(1000)}))
    for at in (content.find(b"PK\x03\x04") + 22, content.find(b"PK\x01\x02") + 24):
        content[at : at + 4] = (10).to_bytes(4, "little")
    assert "it is damaged (Bad CRC-32" in faults(archive(content))["a.xml"]


def test_a_member_with_a_password_is_reported(archive):
    content = bytearray(zipped({"a.xml": b"<x/>"}))
    content[content.find(b"PK\x03\x04") + 6] |= 1
    content[content.find(b"PK\x01\x02") + 8] |= 1
    assert "password" in faults(archive(content))["a.xml"]


def test_the_members_of_a_long_tar_are_forgotten(archive):
    path = archive(tar({f"{n}.xml": b"<x/>" for n in range(5000)}, "w"))
    tracemalloc.start()
    try:
        assert sum(1 for member in members(path, XML) if member.read()) == 5000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_folders_are_read_like_archives(tmp_path):
    for name in ("b.xml", "a.xml", "c.txt"):
        (tmp_path / name).write_text(name)
    found = list(members(tmp_path, XML, glob="*.xml"))
    assert [member.name for member in found] == [f"{tmp_path}/a.xml", f"{tmp_path}/b.xml"]
    assert found[0].read() == b"a.xml"
    with pytest.raises(FaultError, match="longer than 4 bytes"):
        next(members(tmp_path, XML, glob="*.xml")).read(longest=4)


def test_an_unknown_compression_is_reported(archive):
    content = bytearray(zipped({"a.xml": b"<x/>"}))
    for at in (content.find(b"PK\x03\x04") + 8, content.find(b"PK\x01\x02") + 10):
        content[at : at + 2] = (77).to_bytes(2, "little")
    assert "compression" in faults(archive(content))["a.xml"]


def test_zips_may_hold_folders(archive):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as made:
        made.mkdir("folder.xml")
        made.writestr("folder.xml/a.xml", b"<x/>")
    assert read(archive(sink.getvalue())) == {"folder.xml/a.xml": b"<x/>"}
