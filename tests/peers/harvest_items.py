"""Items in WARC files of stream harvests, read without our program: those that
came by the stream, and those of pages that filled a gap.
"""
import json
import re
import zlib

from harvest_peer import records

POST = "app.bsky.feed.post"


def text_of(block):
    """The body of a record as far as it goes: a kill cuts chunks and gzip."""
    head, _, body = block.partition(b"\r\n\r\n")
    if re.search(rb"(?mi)^transfer-encoding: *chunked", head):
        whole = b""
        while body:
            size, _, rest = body.partition(b"\r\n")
            n = int(size or b"0", 16)
            whole, body = whole + rest[:n], rest[n + 2:] if n else b""
        body = whole
    if re.search(rb"(?mi)^content-encoding: *gzip", head):
        body = zlib.decompressobj(31).decompress(body)
    return body


def answers(path, part):
    """Bodies of the answers whose URL has that."""
    for fields, block in records(path):
        if fields["warc-type"] == "response" and \
                part in fields["warc-target-uri"]:
            yield text_of(block)


def mastodon_posts_of(path):
    """Ids, of events and of lists."""
    found = []
    for body in answers(path, "/api/v1/streaming/"):
        *whole, _ = body.split(b"\n\n")
        for event in whole:
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n")
                          if line and not line.startswith(b":"))
            if fields.get(b"event") == b"update":
                found.append(json.loads(fields[b"data"])["id"])
    for body in answers(path, "/api/v1/timelines/"):
        found += [x["id"] for x in json.loads(body)]
    return found


def tweets_of(path):
    found = []
    for body in answers(path, "/1.1/statuses/filter.json"):
        *whole, _ = body.split(b"\r\n")
        found += [x["id_str"] for x in map(json.loads, filter(None, whole))
                  if "id_str" in x]
    return found


def frames_of(path):
    return [json.loads(line) for fields, block in records(path)
            if fields["warc-type"] == "resource"
            for line in block.splitlines()]


def address_of(frame):
    return f"at://{frame['did']}/{POST}/{frame['commit']['rkey']}"


def bluesky_posts_of(path):
    """Addresses of posts; what a new connection repeats comes twice."""
    return [address_of(f) for f in frames_of(path)
            if f["kind"] == "commit" and f["commit"]["collection"] == POST
            and f["commit"]["operation"] == "create"]
