"""`python -m localspec`, and the command `localspec`: Ctrl-C counts from the first moment on."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from localspec.cli.app import main as run  # noqa: PLC0415 (it takes a tenth of a second)

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
