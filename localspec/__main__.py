"""`python -m localspec`."""

import sys

try:
    from localspec.cli.app import main

    main()
except KeyboardInterrupt:
    sys.exit(130)
