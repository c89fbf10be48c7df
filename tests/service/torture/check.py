"""Check that a folder holds every acknowledged request, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from clasher.service.engine import Engine
from clasher.service.export import read_folder
from clasher.service.structs import Lesson
from tests.service.plain import Plain, file_bytes
from tests.service.torture.load import CLIENTS, SETTINGS, Plan

Ack = dict[str, Any]


def failures(plan: Plan, acks: Sequence[Ack]) -> list[str]:
    """Return what is wrong with a folder after a crash; ``acks`` are all since it was made."""
    found: list[str] = []
    with Engine(plan.folder, SETTINGS, on_failure=found.append) as engine:
        state = engine._copies.front
        learned, model = state.learned, file_bytes(state.model)
        same = file_bytes(engine._copies.back.model) == model
        dropped = engine.metrics().log_dropped
    if not same:
        found.append("the two copies differ")
    lessons = list(read_folder(plan.folder))
    found += _lost(lessons, acks, dropped)
    found += _invented(lessons, acks)
    if plan.only_learn:
        found += _counted(learned, acks)
    if not dropped:
        plain = Plain(SETTINGS).teach(lessons)
        if (plain.learned, file_bytes(plain.model)) != (learned, model):
            found.append(f"the model is not what the log says: {learned} against {plain.learned}")
    return found


def _lost(lessons: Sequence[Lesson], acks: Sequence[Ack], dropped: int) -> list[str]:
    writers = {lesson.version: lesson.who for lesson in lessons}
    return [
        f"{ack['tag']} was acknowledged as {ack['version']}, where the log has "
        f"{writers.get(ack['version'])}"
        for ack in acks
        if ack["version"] is not None
        and not ack["late"]
        and ack["version"] > dropped
        and writers.get(ack["version"]) != ack["tag"]
    ]


def _invented(lessons: Sequence[Lesson], acks: Sequence[Ack]) -> list[str]:
    """Find requests that were learnt twice, or before they were made."""
    versions = {(lesson.who, lesson.version) for lesson in lessons}
    twice = [who for who, times in Counter(who for who, _ in versions).items() if times > 1]
    next_place = dict.fromkeys(range(CLIENTS), 0) | next_places(acks)
    early = [
        who
        for who, _ in versions
        for client, place in (map(int, who.partition(".")[0].split("-")),)
        if place > next_place[client]
    ]
    return [f"{who} is there twice" for who in twice] + [
        f"{who} was never requested" for who in early
    ]


def _counted(learned: int, acks: Sequence[Ack]) -> list[str]:
    in_time = sum(not ack["late"] for ack in acks)
    if in_time <= learned <= len(acks) + CLIENTS:
        return []
    return [f"{in_time} documents were acknowledged, {learned} are learnt"]


def next_places(acks: Sequence[Ack]) -> dict[int, int]:
    """Return the next request of each client: the first that was not acknowledged."""
    places: dict[int, int] = {}
    for ack in acks:
        places[ack["client"]] = max(places.get(ack["client"], 0), ack["place"] + 1)
    return places
