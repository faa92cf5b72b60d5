"""Packs what is stored of single objects: a few hundred bytes, of which most are names that all have in common.

Packed data is `MARK`, which MessagePack never begins with, with the number of the dictionary; two numbers that scripts
in the server read (big-endian doubles); and a raw deflate stream (RFC 1951) with that dictionary before it. What is
larger gains little and is stored as it is, as before.
"""

import struct
import zlib

MARK = b"\xc1\x01"
"""The second byte is the number of the dictionary."""
_NUMBERS = struct.Struct(">dd")
LARGEST_BYTES = 2048
"""The largest data that is packed."""
MOST_BYTES = 1 << 20
"""The most that is unpacked; more was not packed here."""
WINDOW_BITS, MEMORY_LEVEL = -12, 4
"""A window of 4 KiB, which is more than dictionary and data, without a header."""

DICTIONARY = (
    b"unverified\xa7because\xa7control\xc0\xadcontrol_group\xa0\xa4rule\xa0\xaepart_number\xaeasked_range\xa7covered"
    b"\xa5range\xa8own_etag\xa8for_good\xc3\xa7learned\xc3\xa6client\xa8outdated\xc3\xa8targeted\x91\xa5local"
    b"\xa8personal\xb3fetched_with_cookie\xc3\xbafetched_with_authorization\xc3\xa9partition"
    b"\xadX-Powered-By\xadPHP/8.Express\xa3Via\xa31.1 varnish\xa7X-Cache\xa3HIT\xa4MISS\xacX-Request-Id\xa6CF-RAY"
    b"\xb0X-XSS-Protection\xad1; mode=block\xafX-Frame-Options\xaaSAMEORIGIN\xa4DENY\xafReferrer-Policy"
    b"\xd9\x1fstrict-origin-when-cross-origin\xb7Content-Security-Policydefault-src 'self'"
    b"\xaeAlt-Svch3=\":443\"; ma=86400"
    b"\xb9Strict-Transport-Security\xb0max-age=31536000; includeSubDomains; preload"
    b"\xb6X-Content-Type-Options\xa7nosniff"
    b"\xbbAccess-Control-Allow-Origin\xa1*\xb1Transfer-Encoding\xa7chunked\xaaConnection\xaakeep-alive\xa3Age"
    b"\xa7ExpiresSun, Mon, Tue, Wed, Thu, Fri, Sat, 01 Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec 2026 2027 2025"
    b"image/pngimage/jpegimage/svg+xmlimage/webpfont/woff2text/plaintext/csstext/javascriptapplication/javascript"
    b"application/rss+xmlapplication/xmltext/xml; charset=UTF-8application/json; charset=utf-8application/octet-stream"
    b"http://https://api.cdn.static.blog.www.com/.net/.org/assets/images/index.html.php?id=&page=/feeds/rss/atom.xml"
    b"\xaccache_group\xa9group_pattern\xaeclock_behind_s\xa4feed\xaadiffered_s\xc0\xa6folded\xa9unchanged\xa4gone\xc3"
    b"\x8b\xa3url\xd92https://www.\xa7since_s\xcbA\xda\xaelast_contact_s\xcbA\xda\xa8contacts\x03\xa9unchanged\x01"
    b"\xa7updates\x92\xcbA\xda\xc0\xaflast_modified_s\xcbA\xda\xc0\xa4seen\x81\xa0\x83\xa3t_s\xcbA\xda\xc0"
    b"\xabfingerprint\x84\xa4etag\xa0\xa4body\xa0\xaflast_modified_s\xc0\xa4gone\xc2\xa8evidence\xc0\xa7counted\xc3"
    b"\xa8hidden_s\xcbA\xa6unseen\x92\x92\xcbA\xda\xc0\x92\xcbA\xda\xc0\xa6memory\x9d\xcbA\xda\xc0\xcb@\x08\x00\x00"
    b"\x00\x00\x00\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xcb\x3f\xf8\xcb\xbf\xecupdates\x90\xb2interval_micronats\xce"
    b"\x8a\xa3url\xd92https://www.\xa4head\x83\xa6status\xcc\xc8\xa6fields\x98\x92\xacContent-Type\xd9\x18"
    b"text/html; charset=utf-8\x92\xa4Date\xbdSun, 06 Nov 2026 08:00:00 GMT\x92\xa6Server\xa5nginx"
    b"\xa6Apache\xaacloudflare"
    b"\x92\xa4ETag\xb4W/\"\x92\xadLast-Modified\xbd\x92\xadCache-Control"
    b"\xb0public, max-age=3600, must-revalidate, no-cache"
    b"\x92\xb0Content-Encoding\xa4gzip\x92\xadAccept-Ranges\xa5bytes\x92\xaeContent-Length\xa41024\x92\xa4Vary\xaf"
    b"Accept-Encoding\xa6reason\xa0\xa4body\x82\xa6digest\xd9(\xa4size\xcd\x04\x00\xaerequest_time_s\xcbA\xda"
    b"\xafresponse_time_s\xcbA\xda\xa9current_s\xcbA\xda\xa8stored_s\xcbA\xda\xa9selecting\x91\x92\xafaccept-encoding"
    b"\xa4gzip\xa7is_feed\xc3\xa8expiry_s\xcbA\xda\xa6reason\xa7indttl\xaesibling_chance\xcb\x3f"
    b"\xf0\x00\x00\x00\x00\x00"
    b"\x00\xa7applied\xcf\x00\x06"
)
"""Names and values that are frequent, the most frequent last. It must never change, as packed data cannot be read
without it: another one gets another number."""


def pack(data: bytes, *numbers: float) -> bytes:
    """Return data packed, with none or two numbers for scripts; as it is if it is large, or not shorter when packed."""
    if len(data) > LARGEST_BYTES:
        return data
    packer = zlib.compressobj(1, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
    packed = MARK + _NUMBERS.pack(*(numbers or (0.0, 0.0))) + packer.compress(data) + packer.flush()
    return packed if len(packed) < len(data) else data


def unpack(data: bytes) -> bytes:
    """Return data as it was given to `pack`. Raises ValueError for packed data that is damaged."""
    if not data.startswith(MARK):
        return data
    unpacker = zlib.decompressobj(WINDOW_BITS, DICTIONARY)
    try:
        found = unpacker.decompress(data[len(MARK) + _NUMBERS.size :], MOST_BYTES)
    except zlib.error as e:
        raise ValueError(f"it cannot be unpacked: {e}") from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it cannot be unpacked: it is not whole")
    return found
