"""The errors for a missing or old scikit-learn."""

import subprocess
import sys

import pytest

IMPORT = "import sys, sklearn; {}; import clasher.adapters.sklearn"


@pytest.mark.parametrize(
    ("before", "what"),
    [
        ("sklearn.__version__ = '1.5.2'", "scikit-learn 1.5.2 is too old, 1.6 is needed"),
        ("sys.modules['sklearn'] = None", "needs an optional library"),
    ],
)
def test_the_error_names_the_remedy(before, what):
    run = subprocess.run(
        [sys.executable, "-c", IMPORT.format(before)], capture_output=True, text=True
    )
    last = run.stderr.splitlines()[-1]
    assert what in last
    assert "pip install" in last
    assert "clasher[sklearn]" in last
