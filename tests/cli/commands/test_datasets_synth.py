import json

import pytest

from clasher.cli.commands.datasets import synth_command
from clasher.datasets.synthetic import DRIFTS, Stream
from tests.cli.command import one_line, run, start


@pytest.mark.parametrize("drift", DRIFTS)
def test_synth_writes_the_stream_of_the_library(drift):
    args = ("--documents", 30, "--labels", 5, "--at", 10, "--width", 10, "--seed", 4)
    lines = run("synth", "--drift", drift, *args).stdout.splitlines()
    stream = Stream(30, 5, drift, at=10, width=10, seed=4)
    assert [json.loads(line) for line in lines] == [
        {"id": number, "text": text, "labels": labels}
        for number, (text, labels) in enumerate(stream)
    ]


def test_the_defaults_are_those_of_the_library():
    drift = next(option for option in synth_command.params if option.name == "drift")
    assert tuple(drift.type.choices) == DRIFTS
    first = run("synth", "--documents", 10_000).stdout.partition("\n")[0]
    text, labels = next(iter(Stream()))
    assert json.loads(first) == {"id": 0, "text": text, "labels": labels}


@pytest.mark.parametrize(
    "args", [("--documents", 0), ("--labels", 5000), ("--at", -1), ("--width", 0), ("--seed", -1)]
)
def test_values_out_of_range_end_in_one_line(args):
    assert f"{args[0]} must be" in one_line(run("synth", *args, code=2))


def test_an_endless_stream_goes_into_a_pipe():
    """Nothing is held back or piled up: a reader may leave after the first lines."""
    with start("synth", "--documents", 10**12) as child:
        assert json.loads(child.stdout.readline())["id"] == 0
        child.stdout.close()
        assert child.wait() == 141
