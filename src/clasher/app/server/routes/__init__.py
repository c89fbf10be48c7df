"""All operations: importing this package makes ``OPERATIONS`` complete, in this order."""

from clasher.app.server.routes import predicting, teaching, labels, watching, models, about  # noqa

__all__ = ["about", "labels", "models", "predicting", "teaching", "watching"]
