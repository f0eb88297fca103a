"""``python -m aggcal``."""

import sys

from aggcal.cli import main

if __name__ == "__main__":  # workers of a cluster import this module too
    sys.exit(main())
