import itertools
import signal
import threading

import pytest

from clasher.io.read_ahead import HeldInterrupt, read_ahead


@pytest.fixture
def _default_interrupt():
    """Python's own handler of Ctrl-C, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_read_ahead_closes_what_it_reads():
    closed = threading.Event()

    def source():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    ahead = read_ahead(source(), 2)
    assert [next(ahead), next(ahead)] == [0, 1]
    ahead.close()
    assert closed.is_set()


def test_read_ahead_keeps_the_order_and_reads_no_further_than_asked():
    taken = []

    def source():
        for i in range(50):
            taken.append(i)
            yield i

    for i, item in enumerate(read_ahead(source(), 3)):
        assert item == i
        assert len(taken) <= i + 4  # three ahead, one in hand
    assert len(taken) == 50


def test_read_ahead_hands_on_an_error_of_the_source():
    def failing():
        yield 1
        raise OSError("the disk is gone")

    before = set(threading.enumerate())
    ahead = read_ahead(failing(), 2)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert not [t for t in set(threading.enumerate()) - before if t.name == "clasher-read-ahead"]


@pytest.mark.usefixtures("_default_interrupt")
def test_ctrl_c_ends_the_loop_after_the_item_in_hand():
    done = []
    with HeldInterrupt() as ctrl_c:
        for item in ctrl_c.between(itertools.count()):
            if item == 3:
                signal.raise_signal(signal.SIGINT)
            done.append(item)
    assert done == [0, 1, 2, 3]
    assert ctrl_c.asked


@pytest.mark.usefixtures("_default_interrupt")
def test_an_error_while_waiting_lets_ctrl_c_go():
    def failing():
        yield 1
        raise OSError

    with HeldInterrupt() as ctrl_c:
        with pytest.raises(OSError):  # noqa: PT011
            list(ctrl_c.between(failing()))
        signal.raise_signal(signal.SIGINT)  # held: nothing is waited for
    assert ctrl_c.asked
