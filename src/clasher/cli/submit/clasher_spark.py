"""The file that spark-submit runs; its arguments are those of ``clasher spark``.

It has a folder of its own because Spark puts that folder first on Python's path.
"""

import sys

from clasher.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["spark"]
    main()
