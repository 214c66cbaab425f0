"""localspec: local models answer faster, with the same answers."""

__version__ = "0.1.0"
