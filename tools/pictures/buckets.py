"""Words become signed buckets, by the hash that models use."""

from __future__ import annotations

from collections import Counter

from clasher.text.hashing import Hasher
from tools.pictures.news import DOCUMENT
from tools.pictures.svg import BLUE, FAINT, RED, RULE, Picture

DIMENSIONS = 16
WIDTH, CELL = 760, 42


def draw() -> Picture:
    """Draw a line from each word to its bucket."""
    words = Hasher(DIMENSIONS).words(DOCUMENT)
    picture = Picture(f"Seven words in {DIMENSIONS} signed buckets", WIDTH, 250)
    picture.text(20, 30, f"“{DOCUMENT}”, hashed to {DIMENSIONS} buckets", bold=True)
    left, step = (WIDTH - DIMENSIONS * CELL) / 2, (WIDTH - 40) / len(words)
    sums: Counter[int] = Counter()
    for number, word in enumerate(words):
        middle = 20 + step * (number + 0.5)
        colour = BLUE if word.sign > 0 else RED
        picture.text(middle, 72, word.text, at="middle", colour=colour)
        picture.line(middle, 80, left + CELL * (word.bucket + 0.5), 160, colour=colour, width=1.5)
        sums[word.bucket] += int(word.sign)
    for bucket in range(DIMENSIONS):
        x = left + bucket * CELL
        picture.box(x, 160, CELL, 36, fill="#ffffff", edge=RULE)
        picture.text(x + CELL / 2, 212, str(bucket), at="middle", colour=FAINT, size=11)
        if bucket in sums:
            colour = BLUE if sums[bucket] > 0 else RED if sums[bucket] < 0 else FAINT
            value = f"{sums[bucket]:+d}" if sums[bucket] else "0"
            picture.text(x + CELL / 2, 183, value, at="middle", colour=colour, bold=True)
    picture.text(20, 236, "blue: sign +1, red: sign −1", colour=FAINT, size=12)
    return picture
