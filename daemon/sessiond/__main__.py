"""`python -m sessiond` is the command `sessiond`."""

import sys

from sessiond.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
