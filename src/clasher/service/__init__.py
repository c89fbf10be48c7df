"""A model that many people share and that survives crashes: everything but HTTP.

``Engine`` is the entry point. It writes each request to a log before it learns it, and learns it
before it replies. A start loads the newest snapshot and replays the log after it.
"""

from clasher.settings import Settings


def default_settings() -> Settings:
    """Return the default settings of a service: keep words, detect drift."""
    return Settings(words=True, detector="window")
