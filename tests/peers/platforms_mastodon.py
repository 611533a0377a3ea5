"""Mastodon.py, as it is, lists the simulated world and finds the same posts."""
import os
import socket

from peer import check, done, python_with, same, skip, wait_until
from simulated import Platforms

PACKAGE = "Mastodon.py==2.3.3"
if "MASTODON_IS_HERE" not in os.environ:
    python = python_with("mastodon-1", PACKAGE)
    if python is None:
        skip("platforms_mastodon", f"{PACKAGE} cannot be had from PyPI")
        done()
    os.environ["MASTODON_IS_HERE"] = "1"
    os.execv(python, [python, __file__])

from mastodon import Mastodon, MastodonNotFoundError, \
    MastodonRatelimitError, MastodonUnauthorizedError, StreamListener

HOST = "mastodon.example"
sim = Platforms("--items", "400")
os.environ["REQUESTS_CA_BUNDLE"] = sim.ca
connect_to = socket.getaddrinfo


def getaddrinfo(host, port, *args, **more):
    """The platforms' names lead to the simulator."""
    if str(host).endswith(".example"):
        host, port = "127.0.0.1", sim.port
    return connect_to(host, port, *args, **more)


socket.getaddrinfo = getaddrinfo


def client(host=HOST, token=None):
    return Mastodon(api_base_url=f"https://{host}", access_token=token,
                    ratelimit_method="throw", request_timeout=20)


def ids(posts):
    return {str(p.id) for p in posts}


def raised(error, call, *args, **more):
    try:
        call(*args, **more)
    except error as e:
        return e
    return None


def forward(first, m):
    """A list from its oldest page on."""
    found, page = [], first
    while page:
        found += page
        page = m.fetch_previous(page)
    return found


world = sim.world(HOST)
m = client()
same("the version", m.instance().version, "4.5.0")

# ---- Accounts --------------------------------------------------------------------

for told in world["accounts"]:
    name = told["name"] + ("@elsewhere.example" if told["remote"] else "")
    account = m.account_lookup(name)
    same(f"{name}: the id", str(account.id), told["id"])
    if told["suspended"]:
        check(f"{name} is suspended", account.suspended)
        same(f"{name} shows nothing", m.account_statuses(account.id), [])
        continue
    found = m.fetch_remaining(m.account_statuses(account.id, limit=40))
    same(f"{name}: all posts, the newest first", ids(found),
         set(told["posts"]))
    same(f"{name}: each once", len(found), len(told["posts"]))
    first = m.account_statuses(account.id, limit=40, min_id="1")
    found = forward(first, m)
    same(f"{name}: all posts, the oldest first", ids(found),
         set(told["posts"]))
    same(f"{name}: each once, again", len(found), len(told["posts"]))
    check(f"{name}: by that account", all(
        str(p.account.id) == told["id"] for p in found))

ada = m.account_lookup("ada")
posts = m.fetch_remaining(m.account_statuses(ada.id, limit=40))
quiet = m.fetch_remaining(m.account_statuses(
    ada.id, limit=40, exclude_reblogs=True, exclude_replies=True))
same("without boosts and replies", ids(quiet), {
    str(p.id) for p in posts if p.reblog is None and
    p.in_reply_to_account_id in (None, ada.id)})
check("there are some of each", any(p.reblog for p in posts) and
      any(p.in_reply_to_id for p in posts) and
      any(p.media_attachments for p in posts) and
      any(p.card for p in posts) and any(p.edited_at for p in posts))
check("dates and ids agree", all(
    abs((int(p.id) >> 16) / 1000 - p.created_at.timestamp()) < 0.002
    for p in posts))

# ---- Hashtags ----------------------------------------------------------------------

for name, told in world["tags"].items():
    found = m.fetch_remaining(m.timeline_hashtag(name, limit=40))
    same(f"#{name}, the newest first", ids(found), set(told))
    found = forward(m.timeline_hashtag(name, limit=40, min_id="1"), m)
    same(f"#{name}, the oldest first", ids(found), set(told))
    check(f"#{name} is among their tags", all(
        name in [t.name for t in p.tags] for p in found))
found = m.fetch_remaining(m.timeline_hashtag("cats", local=True, limit=40))
own = {i for a in world["accounts"] if not a["remote"] for i in a["posts"]}
same("posts of its own accounts", ids(found), set(world["tags"]["cats"]) & own)
found = m.fetch_remaining(m.timeline_hashtag("cats", only_media=True,
                                             limit=40))
check("posts with media", found and all(p.media_attachments for p in found))

# ---- A stream ------------------------------------------------------------------------


class Listener(StreamListener):
    def __init__(self):
        self.new, self.gone, self.begun = [], [], False

    def on_update(self, status):
        self.new.append(str(status.id))

    def on_delete(self, status_id):
        self.gone.append(str(status_id))

    def handle_heartbeat(self):
        self.begun = True


listener = Listener()
handle = client(token=world["tokens"]["user"]).stream_hashtag(
    "cats", listener, run_async=True)
check("a stream begins", wait_until(lambda: listener.begun))
cats = world["tags"]["cats"]
sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 40}})
sim.own("change", {"host": HOST, "delete": cats[0]})
wait_until(lambda: listener.gone)
same("new posts come by it", listener.new,
     sim.world(HOST)["tags"]["cats"][len(cats) - 1:])
same("and deletes", listener.gone, [cats[0]])
handle.close()

# ---- Errors ----------------------------------------------------------------------------

check("an account that is not there", raised(
    MastodonNotFoundError, m.account_lookup, "nobody"))
check("an instance that wants a token", raised(
    MastodonUnauthorizedError, client("private.example").account_lookup,
    "ada"))
user = sim.world("private.example")["tokens"]["user"]
check("... and takes it", client("private.example", user).account_lookup(
    "ada").id)
check("a token that is wrong", raised(
    MastodonUnauthorizedError, client(token="wrong").account_lookup, "ada"))
same("a closed timeline", client("closed.example").timeline_hashtag("cats"),
     [])
sim.own("budget", {"limit": 2})
m.account_lookup("ada")
same("what is left of the budget", (m.ratelimit_limit, m.ratelimit_remaining),
     (2, 1))
check("its end is a date ahead", m.ratelimit_reset > 0)
m.account_lookup("ada")
check("a budget that is used up", raised(
    MastodonRatelimitError, m.account_lookup, "ada"))
sim.own("budget", {"limit": 0})
unknown = {x["path"] for x in sim.log() if not x["known"]}
same("it asked nothing that the simulator does not know", unknown, set())
done()
