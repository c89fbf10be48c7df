"""All operations: importing this package makes ``OPERATIONS`` complete."""

from clasher.app.server.routes import (  # noqa: F401
    about,
    labels,
    models,
    predicting,
    teaching,
    watching,
)
