"""Clashing beside River's own way with multi-label text, in River's own loop."""
