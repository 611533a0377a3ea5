"""atproto, as it is, reads the feeds of the simulated Bluesky and finds the same
posts."""
import os
import socket

from peer import check, done, python_with, same, skip
from simulated import Platforms

PACKAGE = "atproto==0.0.73"
if "ATPROTO_IS_HERE" not in os.environ:
    python = python_with("atproto-1", PACKAGE)
    if python is None:
        skip("platforms_atproto", f"{PACKAGE} cannot be had from PyPI")
        done()
    os.environ["ATPROTO_IS_HERE"] = "1"
    os.execv(python, [python, __file__])

from atproto import Client
from atproto.exceptions import AtProtocolError, BadRequestError

HOST = "public.api.bsky.app"
sim = Platforms("--items", "600", name="atproto")
os.environ["SSL_CERT_FILE"] = sim.ca
connect_to = socket.getaddrinfo


def getaddrinfo(host, port, *args, **more):
    """The platform's name leads to the simulator."""
    if host in (HOST, HOST.encode()):
        host, port = "127.0.0.1", sim.port
    return connect_to(host, port, *args, **more)


socket.getaddrinfo = getaddrinfo
client = Client(base_url=f"https://{HOST}")


def raised(call, *args, **more):
    try:
        call(*args, **more)
    except AtProtocolError as e:
        return e
    return None


def feed(did, **more):
    found, cursor = [], None
    while True:
        page = client.get_author_feed(did, cursor=cursor, limit=100, **more)
        found += page.feed
        cursor = page.cursor
        if not cursor:
            return found


ERRORS = {"takendown": "AccountTakedown", "deactivated": "AccountDeactivated"}
for told in sim.world(HOST)["accounts"]:
    handle = told["handle"]
    if told["status"] in ERRORS:
        e = raised(client.get_profile, handle)
        check(f"{handle}: {told['status']}", isinstance(e, BadRequestError) and
              e.response.content.error == ERRORS[told["status"]], e)
        continue
    profile = client.get_profile(handle)
    same(f"{handle}: its DID", profile.did, told["did"])
    if told["status"] == "blocked":
        e = raised(feed, told["did"])
        check(f"{handle}: blocked", e is not None and
              e.response.content.error == "BlockedActor", e)
        continue
    found = feed(told["did"])
    same(f"{handle}: the whole feed", [e.post.uri for e in found],
         told["feed"][::-1])
    check(f"{handle}: all are its own, or passed on by it", all(
        (e.reason.by if e.reason else e.post.author).did == told["did"]
        for e in found))
    check(f"{handle}: views and records are of known types", all(
        e.post.record.py_type == "app.bsky.feed.post" and
        (e.post.embed is None or e.post.embed.py_type.endswith("#view"))
        for e in found))
    media = feed(told["did"], filter="posts_with_media")
    check(f"{handle}: those with media", {e.post.uri for e in media} == {
        e.post.uri for e in found if e.reason is None and e.post.embed and
        (getattr(getattr(e.post.embed, "media", e.post.embed), "images", None)
         or getattr(getattr(e.post.embed, "media", e.post.embed), "playlist",
                    None))})
check("an account that is not there", isinstance(raised(
    client.get_profile, "none.example"), BadRequestError))
sim.own("budget", {"limit": 1})
client.get_profile("ada.example")
e = raised(client.get_profile, "ada.example")
same("a budget that is used up", e and (e.response.status_code,
     e.response.headers["ratelimit-remaining"]), (429, "0"))
sim.own("budget", {"limit": 0})
unknown = {x["path"] for x in sim.log() if not x["known"]}
same("it asked nothing that the simulator does not know", unknown, set())
done()
