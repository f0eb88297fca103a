"""``python -m aggcal``."""

import sys

from aggcal.cli import main

sys.exit(main())
