"""All operations: importing this package makes ``OPERATIONS`` complete, in this order."""

from clasher.server.routes import predictions, lessons, labels, about, models, predictions, about  # noqa


__all__ = ["about", "annif", "labels", "models", "predicting", "teaching", "watching"]
