"""``python -m rboost`` is the command ``rboost``, where scripts are not on the path."""

import sys

from rboost.cli import main

if __name__ == "__main__":
    sys.exit(main())
