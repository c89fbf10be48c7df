"""Streams that River's checks and our tests are shown."""

import random

MOODS = (
    "amazed-suprised", "happy-pleased", "relaxing-clam", "quiet-still", "sad-lonely",
    "angry-aggresive",
)  # fmt: skip
WHOLE = ("BH_LowPeakBPM", "BH_HighPeakBPM", "BH_HighLowRatio")

TOPICS = {
    "grain": "wheat corn barley harvest bushels",
    "metal": "gold silver copper mine ounces",
    "oil": "crude barrels opec refinery pipeline",
}


class Music:
    """Of the shape of River's Music, which it downloads: 72 numbers, six moods that hang on them.

    It stands in the place of the data set in River's checks, by its interface: ``take``.
    """

    def take(self, songs):
        """The first songs, as (features, moods)."""
        return Songs(songs)


class Songs:
    """So many songs, the same each time."""

    def __init__(self, songs):
        self.songs = songs

    def __iter__(self):
        chance = random.Random(7)
        names = [f"Acc1298_Mem40_{number}" for number in range(72 - len(WHOLE))]
        for _ in range(self.songs):
            moods = {mood: chance.random() < 0.4 for mood in MOODS}
            shifts = list(moods.values())
            x = {
                name: chance.gauss(2.0 * shifts[number % 6], 0.3)
                for number, name in enumerate(names)
            }
            yield x | {name: chance.randrange(40, 200) for name in WHOLE}, moods


def news(documents, seed=7):
    """Texts of some words of one or two topics, and a mapping of all topics."""
    chance = random.Random(seed)
    for _ in range(documents):
        topics = set(chance.sample(sorted(TOPICS), chance.choice((1, 1, 2))))
        words = [
            word for topic in sorted(topics) for word in chance.sample(TOPICS[topic].split(), 3)
        ]
        chance.shuffle(words)
        yield " ".join(words), {topic: topic in topics for topic in TOPICS}
