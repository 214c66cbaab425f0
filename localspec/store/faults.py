"""What can go wrong between this machine and the Hub, put into localspec's errors.

The one place that reads huggingface_hub's and its HTTP client's exceptions. `hub.py` and
`download.py` run their requests inside `hub_faults`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from localspec.errors import LocalspecError, NotFoundError, UsageError
from localspec.store.disk import disk_error

TEMPORARY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP status codes that say "not now" rather than "no"."""


class HubUnreachableError(LocalspecError):
    """The Hub cannot be reached, or what answers is no Hub. `reason` is a sentence part."""

    def __init__(self, reason: str, *, kept: bool = False) -> None:
        again = "What has arrived is kept: the same command goes on from there. " if kept else ""
        super().__init__(
            f"Hugging Face cannot be reached at {constants.ENDPOINT} ({reason}).",
            f"{again}Check the connection, set HF_ENDPOINT to a mirror, or give the path of a "
            "GGUF file that is already here.",
        )
        self.reason = reason


@contextmanager
def hub_faults(repo: str, file: str | None, *, kept: bool = False) -> Iterator[None]:
    """Run requests about `repo` (and `file` in it); raise localspec's errors for their failures.

    Args:
        kept: whether a part of the file is on disk, to be told in the hint.

    Raises:
        NotFoundError: no such repo, revision or file; or it is not here and we are offline.
        HubUnreachableError: no connection, a time-out, an overloaded Hub, or no Hub at all.
        OutOfResourcesError: the disk is full.
        LocalspecError: gated repo, refused token, or a folder that cannot be written.
    """
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise not_here([f"{repo}/{file}" if file else repo], [hub_cache()]) from error
    except HfHubHTTPError as error:
        raise _http_error(error, repo, file, kept) from error
    except HFValidationError as error:
        raise UsageError(f"'{repo}' is no name of a Hub repo.", "For example: org/name") from error
    except EntryNotFoundError as error:
        raise HubUnreachableError(_last_reason(error), kept=kept) from error
    except (FileMetadataError, httpx2.TooManyRedirects, httpx2.DecodingError) as error:
        reason = "what answers there is no Hub; a proxy or log-in page, perhaps"
        raise HubUnreachableError(reason, kept=kept) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise HubUnreachableError(_reason(error), kept=kept) from error
    except OSError as error:
        raise disk_error(error, Path(constants.HF_HUB_CACHE)) from error


def hub_cache() -> Path:
    """Folder of the Hugging Face cache."""
    return Path(constants.HF_HUB_CACHE)


def not_here(
    names: Sequence[str],
    looked_in: Sequence[Path],
    *,
    pull: Sequence[str] = (),
    offline: bool = True,
) -> NotFoundError:
    """The error for files that are not on this machine while nothing may be fetched.

    Args:
        names: of the files or repos.
        looked_in: the folders where they would be.
        pull: what to give to `localspec pull`; `names` if empty.
        offline: whether that is for --offline or HF_HUB_OFFLINE, and not since the command never
            fetches.
    """
    is_not = "is not" if len(names) == 1 else "are not"
    folders = " and ".join(str(folder) for folder in looked_in)
    switch = (
        "HF_HUB_OFFLINE is set" if constants.is_offline_mode() else "--offline forbids fetching"
    )
    unset = " (with HF_HUB_OFFLINE unset)" if constants.is_offline_mode() else ""
    return NotFoundError(
        f"{' and '.join(names)} {is_not} on this machine (looked in {folders})"
        f"{f', and {switch}' if offline else ''}.",
        f"Fetch once{unset}: localspec pull {' '.join(pull or names)}",
    )


def _http_error(error: HfHubHTTPError, repo: str, file: str | None, kept: bool) -> LocalspecError:
    page = f"{constants.ENDPOINT}/{repo}"
    if isinstance(error, GatedRepoError):
        return LocalspecError(
            f"{repo} is gated: its licence has to be accepted before it can be fetched.",
            f"Accept it at {page} and log in with `hf auth login`.",
        )
    if isinstance(error, RevisionNotFoundError):
        return NotFoundError(f"{repo} has no such revision.", f"See {page}/commits/main")
    if isinstance(error, EntryNotFoundError):
        return NotFoundError(f"{repo} has no file {file}.", f"See its files at {page}/tree/main")
    if isinstance(error, RepositoryNotFoundError):
        return NotFoundError(
            f"There is no repo {repo} on {constants.ENDPOINT} that you may see.",
            "Check the spelling; if it is private, log in with `hf auth login`.",
        )
    status = error.response.status_code
    if status in (401, 403):
        return LocalspecError(
            f"{constants.ENDPOINT} refuses access to {repo} (HTTP {status}).",
            "Log in again with `hf auth login`, or unset HF_TOKEN if it is out of date.",
        )
    return HubUnreachableError(f"it answers HTTP {status}", kept=kept)


def _last_reason(error: BaseException) -> str:
    """huggingface_hub wraps a failed connection in "not found locally"; its cause is the reason."""
    return _reason(error.__cause__ or error)


def _reason(error: BaseException) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"^\[Errno -?\d+\] ", "", first).rstrip(".")
