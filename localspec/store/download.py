"""One file of the Hub into the shared Hugging Face cache, resumable and checked.

huggingface_hub finds the file, brings token, proxies and endpoint, and files it in its cache. The
bytes are streamed here, since its own downloader throws an interrupted file away (2.x). The half
file lies beside the blob as `<etag>.incomplete`, under the lock other Hub tools take, and becomes
the blob only when its size and sha256 are right. `pull.py` runs one of these for each file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from filelock import Timeout
from huggingface_hub import (
    constants,
    get_hf_file_metadata,
    get_session,
    hf_hub_download,
    hf_hub_url,
    hf_raise_for_status,
)
from huggingface_hub.errors import FileMetadataError, HfHubHTTPError
from huggingface_hub.file_download import are_symlinks_supported
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    WeakFileLock,
    build_hf_headers,
)

from localspec import __version__
from localspec.errors import LocalspecError
from localspec.sources import FileSource
from localspec.store.disk import gigabytes
from localspec.store.faults import TEMPORARY_STATUS, hub_faults
from localspec.store.halffile import HalfFile, size_of
from localspec.store.hub import MAIN, storage_dir
from localspec.store.meter import Meter

_CHUNK = 64 * 1024
_TRIES = 5
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the Hub describes it before it is fetched.

    `etag` names the blob; for files in large-file storage (all GGUFs) it is the sha256.
    """

    repo: str
    file: str
    revision: str
    commit: str
    etag: str
    size: int

    @property
    def blob(self) -> Path:
        """Where the bytes will lie in the cache."""
        return storage_dir(self.repo) / "blobs" / self.etag

    @property
    def incomplete(self) -> Path:
        """Where they lie until all are there."""
        return self.blob.with_name(f"{self.etag}.incomplete")

    @property
    def pointer(self) -> Path:
        """Where the cache shows the file: a link to the blob or, without links, the file."""
        return storage_dir(self.repo) / "snapshots" / self.commit / self.file

    def is_whole(self) -> bool:
        """Whether all bytes are in the cache."""
        return self.size in (size_of(self.blob), size_of(self.pointer))

    def missing(self) -> int:
        """Bytes still to be fetched."""
        return 0 if self.is_whole() else max(0, self.size - size_of(self.incomplete))


def describe(source: FileSource, timeout: float | None = None) -> RemoteFile:
    """Ask the Hub for commit, etag and size of `source`; `timeout` in seconds.

    Raises:
        LocalspecError: the file on the Hub is not the one `source` describes.
        others: as `faults.hub_faults`.
    """
    repo, file, revision = str(source.repo), str(source.file), source.revision or MAIN
    with hub_faults(repo, file):
        known = get_hf_file_metadata(
            hf_hub_url(repo, file, revision=revision),
            timeout=timeout or constants.HF_HUB_ETAG_TIMEOUT,
            library_name="localspec",
            library_version=__version__,
        )
        if known.commit_hash is None or known.etag is None or known.size is None:
            raise FileMetadataError("no X-Repo-Commit, ETag or size")
    remote = RemoteFile(repo, file, revision, known.commit_hash, known.etag, known.size)
    sha256 = _sha256_of(remote)
    if source.sha256 not in (None, sha256) and sha256 is not None:
        raise LocalspecError(
            f"{repo}/{file} on the Hub is not the file that was tested: its sha256 is {sha256}, "
            f"not {source.sha256}.",
            f"To run it all the same, name it: -m {repo}/{file}",
        )
    return remote


def download(remote: RemoteFile, sha256: str | None, meter: Meter) -> Path:
    """Bring `remote` into the cache and return its path there; go on where a pull stopped.

    Args:
        sha256: what the whole file must hash to, where that is known from elsewhere.

    Raises: as `faults.hub_faults`; LocalspecError if the bytes that came are wrong.
    """
    with hub_faults(remote.repo, remote.file, kept=True):
        remote.blob.parent.mkdir(parents=True, exist_ok=True)
        with _locked(remote, meter):
            if not remote.is_whole():
                _complete(remote, _sha256_of(remote) or sha256, meter)
                _file_away(remote)
        # With the blob in place this fetches nothing: it links snapshot and branch to it.
        return Path(hf_hub_download(remote.repo, remote.file, revision=remote.revision))


def _complete(remote: RemoteFile, sha256: str | None, meter: Meter) -> None:
    """Make the incomplete file whole. What an earlier pull left may be bad: then once from zero."""
    resumed = size_of(remote.incomplete)
    if resumed > remote.size:
        remote.incomplete.unlink()
        resumed = 0
    found = _fetch(remote, resumed, meter)
    if resumed and sha256 not in (None, found):
        remote.incomplete.unlink()
        found = _fetch(remote, 0, meter)
    if sha256 not in (None, found):
        remote.incomplete.unlink()
        raise LocalspecError(
            f"{remote.file} arrived damaged: its sha256 is {found}, not {sha256}. "
            "It has been removed.",
            "Try again; if it happens again, a proxy or mirror changes the file.",
        )


def _fetch(remote: RemoteFile, resumed: int, meter: Meter) -> str:
    """Append what is missing and return the sha256 of the whole."""
    meter.start(resumed)
    with HalfFile(remote.incomplete, resumed) as half:
        half.read_kept(meter)
        failures = 0
        while half.done < remote.size:
            before = half.done
            try:
                _stream(remote, half, meter)
            except (httpx2.TransportError, HfHubHTTPError) as error:
                failures = 1 if half.done > before else failures + 1
                if failures >= _TRIES or not _is_temporary(error):
                    raise
                meter.pause(2.0 ** (failures - 1) / 2)
        return half.digest()


def _stream(remote: RemoteFile, half: HalfFile, meter: Meter) -> None:
    url = hf_hub_url(remote.repo, remote.file, revision=remote.commit)
    headers = build_hf_headers(library_name="localspec", library_version=__version__)
    headers |= {"Accept-Encoding": "identity", "Range": f"bytes={half.done}-"}
    timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
    with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
        hf_raise_for_status(response)
        if response.status_code != httpx2.codes.PARTIAL_CONTENT and half.done:
            half.restart()
        for chunk in response.iter_bytes(_CHUNK):
            if half.done + len(chunk) > remote.size:
                raise httpx2.RemoteProtocolError(f"more than {gigabytes(remote.size)} came")
            half.write(chunk)
            meter.at(half.done)
    if half.done < remote.size:
        raise httpx2.RemoteProtocolError("the connection ended early")


def _is_temporary(error: Exception) -> bool:
    return not isinstance(error, HfHubHTTPError) or error.response.status_code in TEMPORARY_STATUS


def _file_away(remote: RemoteFile) -> None:
    """Give the whole file its place: the blob or, where links can't be made, the snapshot."""
    place = remote.blob
    if not are_symlinks_supported(constants.HF_HUB_CACHE):
        place = remote.pointer
        place.parent.mkdir(parents=True, exist_ok=True)
    remote.incomplete.replace(place)


@contextmanager
def _locked(remote: RemoteFile, meter: Meter) -> Iterator[None]:
    """Hold the cache's own lock of this blob; while another process has it, show its progress."""
    locks = Path(constants.HF_HUB_CACHE) / ".locks" / storage_dir(remote.repo).name
    locks.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(WeakFileLock(locks / f"{remote.etag}.lock", timeout=_POLL_S))
                break
            except Timeout:
                meter.at(size_of(remote.incomplete))
        yield


def _sha256_of(remote: RemoteFile) -> str | None:
    return remote.etag if re.fullmatch(r"[0-9a-f]{64}", remote.etag) else None
