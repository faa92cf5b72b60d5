"""Static media types: files that are usually the same for all clients, such as packages and images."""

from bestbefore.addon.rfc9111.message import Head

_PREFIXES = ("image/", "font/", "application/font-", "application/vnd.debian", "application/vnd.android.package")
_TYPES = frozenset((
    *("text/css", "text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript"),
    *("application/vnd.ms-fontobject", "application/wasm", "application/java-archive"),
    *("application/zip", "application/x-zip-compressed", "application/gzip", "application/x-gzip", "application/zstd"),
    *("application/x-tar", "application/x-gtar", "application/x-compressed-tar", "application/x-bzip2"),
    *("application/x-bzip", "application/x-xz", "application/x-lzma", "application/x-7z-compressed"),
    *("application/x-debian-package", "application/x-deb", "application/x-rpm", "application/x-redhat-package-manager"),
    *("application/x-wheel+zip", "application/x-python-wheel", "application/x-apple-diskimage"),
    *("application/vnd.rar", "application/x-rar-compressed", "application/x-iso9660-image"),
))
_UNSPECIFIC = frozenset(("", "application/octet-stream", "binary/octet-stream", "application/x-download"))
"""Types that many servers send for files whose type they do not know: the extension decides."""
_EXTENSIONS = (
    *(".whl", ".egg", ".deb", ".udeb", ".rpm", ".apk", ".gem", ".crate", ".jar", ".nupkg", ".conda", ".msi", ".dmg"),
    *(".tar", ".tgz", ".tbz2", ".txz", ".gz", ".bz2", ".xz", ".zst", ".lzma", ".zip", ".7z", ".rar", ".iso", ".img"),
    *(".woff", ".woff2", ".ttf", ".otf", ".eot", ".css", ".js", ".mjs", ".wasm"),
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".ico", ".svg"),
)


def is_static(head: Head, path: str) -> bool:
    """Whether a response is an archive, a package, an image, a font, a style or a script.

    By its media type; by the extension of the path if the type says nothing.
    """
    media_type = (head.fields.first("content-type") or "").partition(";")[0].strip(" \t").lower()
    if media_type in _UNSPECIFIC:
        return path.partition("?")[0].lower().endswith(_EXTENSIONS)
    return media_type.startswith(_PREFIXES) or media_type in _TYPES
