"""All operations: importing this package makes ``OPERATIONS`` complete, in this order."""

from clasher.app.server.routes import predicting, teaching, labels, watching, models, annif, about  # noqa

__all__ = ["about", "annif", "labels", "models", "predicting", "teaching", "watching"]
