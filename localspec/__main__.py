"""`python -m localspec`."""

from localspec.cli.app import main

if __name__ == "__main__":
    main()
