"""A stream in, labels out, learning on the way: what ``clasher run`` runs.

``Flow`` reads, predicts, writes and learns. Now and then it saves a snapshot of the model together
with the positions of its streams, so that each document is learnt once.
"""

from clasher.flow.flow import Flow, FlowOptions
from clasher.flow.outlets import Outlet, Route
from clasher.flow.state import Figures

__all__ = ["Figures", "Flow", "FlowOptions", "Outlet", "Route"]
