"""The small stream of the pictures, and the document to label."""

from __future__ import annotations

NEWS = (
    ("Wheat and corn prices fell after a good harvest", {"economy", "grain"}),
    ("The central bank raised interest rates again", {"economy"}),
    ("The smelter buys gold and zinc", {"metal"}),
    ("A late goal decided the cup final", {"sport"}),
    ("A bad harvest of corn and barley", {"grain"}),
    ("Gold prices rose as the bank lowered rates", {"economy", "metal"}),
    ("Farmers sell barley and wheat", {"economy", "grain"}),
    ("The striker scored twice in the cup", {"sport"}),
    ("Wheat prices rose again", {"economy", "grain"}),
    ("A new mine of copper and zinc", {"metal"}),
    ("The final was decided by a penalty", {"sport"}),
    ("Interest on bank loans fell", {"economy"}),
)
DOCUMENT = "Corn and wheat prices after the harvest"
