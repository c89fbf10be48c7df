"""What spark-submit runs: its arguments are those of ``clasher spark``.

It stands in a folder of its own, which Spark puts before all others that Python looks in.
"""

import sys

from clasher.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["spark"]
    main()
