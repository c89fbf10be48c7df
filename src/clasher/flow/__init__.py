"""A stream in, labels out, learning on the way: what ``clasher run`` runs.

``Flow`` is the whole of it: it reads, predicts, writes, learns, and now and then writes a snapshot
of the model together with the positions of its streams, so that each document is learnt once.
"""

from clasher.flow.flow import Flow
from clasher.flow.options import Options
from clasher.flow.outlets import Outlet, Route
from clasher.flow.state import Figures

__all__ = ["Figures", "Flow", "Options", "Outlet", "Route"]
