"""`python -m localspec`, and the command `localspec`: signals count from the first moment on."""

import sys

from localspec.termination import end_in_order


def main() -> None:
    """Run the command line."""
    end_in_order()
    try:
        from localspec.cli.app import main as run  # noqa: PLC0415 (it takes a tenth of a second)

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
