"""How far the opening of model files is."""

from localspec.events import Loading
from localspec.ui.transient import TransientLine


class LoadingLine(TransientLine):
    """Call it with `Loading` events."""

    def __call__(self, event: Loading) -> None:
        """Show how far a file is."""
        self.say(f"loading the {event.role}: {event.fraction:4.0%} {event.name}")
