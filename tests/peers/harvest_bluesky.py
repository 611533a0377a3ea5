"""Harvests of simulated Bluesky: whole, incremental, killed and taken up, under
each fault, and two at a time that share a budget; what was archived is what the
simulator has."""
import glob
import json
import os
import signal
import time

from peer import PLACE, check, done, ours, program, same, skip, start, \
    wait_until
from simulated import Platforms

if ours("harvest", "run", "--help")[0] != 0:
    skip("harvest_bluesky", "there is no argiope harvest")
    done()

HOST = "public.api.bsky.app"
FEED = "/xrpc/app.bsky.feed.getAuthorFeed"
sim = Platforms("--items", "900", "--seconds", "900", name="bluesky")
world = {a["handle"]: a for a in sim.world(HOST)["accounts"]}
ADA = "ada.example"


def command(name, *more):
    place = os.path.join(PLACE, name)
    return [program(), "harvest", "run", *more, "--into", place + "/posts",
            "--data", place + "/data", "--set",
            f"fetch.resolve={HOST}:443:127.0.0.1:{sim.port}",
            "--set", "fetch.ca_file=" + sim.ca]


def harvest(name, *more, seconds=90):
    """(code, all that it said)."""
    code, out, err = ours(*command(name, "bluesky_author_feed", *more)[1:],
                          seconds=seconds)
    return code, out + err


def archived(name, *more):
    """Addresses of the posts in its WARC files, in their order.  Answers that
    are no JSON are archived, too; an export tells them by 70."""
    warcs = sorted(glob.glob(f"{PLACE}/{name}/posts/**/*.warc.gz",
                             recursive=True))
    code, out, err = ours("archive", "export", "json", "--honour-deletes",
                          "no", *more, *warcs)
    if code not in (0, 70):
        check(f"{name}: export", False, err)
    return [json.loads(line)["uri"] for line in out.splitlines()]


def state(name):
    with open(f"{PLACE}/{name}/posts/state.json") as f:
        return json.load(f)["__main__"]


def feed(handle=ADA):
    """The simulator's, the newest first."""
    return next(a["feed"] for a in sim.world(HOST)["accounts"]
                if a["handle"] == handle)[::-1]


# ---- Whole, and what was new -----------------------------------------------------

code, said = harvest("whole", *(x for a in world for x in ("--seed", a)))
same("a whole harvest succeeds", code, 0)
harvested = [a for a in world.values() if a["status"] == "fine"]
same("each post, once and in its place", archived("whole"),
     [uri for a in harvested for uri in a["feed"][::-1]])
for handle, status, word in (
        ("dora.example", "suspended", "was taken down"),
        ("gus.example", "suspended", "is deactivated"),
        ("hal.example", "unauthorized", "is blocked")):
    check(f"{handle} is a warning", f"token_{status}" in said and
          word in said, said)
same("states are of those that have posts", set(state("whole")), {
    a["did"] + ".since" for a in harvested if a["feed"]})
before = len(archived("whole"))
sim.own("forget", {})
sim.own("change", {"host": HOST, "add": {"account": ADA, "n": 130}})
more = ("--seed", ADA, "-o", "incremental=true")
code, said = harvest("whole", *more)
same("an incremental harvest asks for what is new", (code, len(sim.log())),
     (0, 1 + 2))
new = archived("whole")[before:]
check("... and gets it", new == feed()[:len(new)] and 130 <= len(new) <= 200,
      len(new))
sim.own("forget", {})
harvest("whole", *more)
same("where nothing is new, it asks for one page", len(sim.log()), 2)
code, said = harvest("limit", "--seed", ADA, "-o", "limit=150")
same("a limit ends behind its page", (code, archived("limit")),
     (0, feed()[:len(archived("limit"))]))
check("... and is told", "limit_reached" in said and
      150 <= len(archived("limit")) <= 200, said)
code, said = harvest("replies", "--seed", ADA, "-o",
                     "filter=posts_with_media")
check("a filter leaves out", 0 < len(archived("replies")) < 400 and
      list(state("replies")) == [world[ADA]["did"] +
                                 ".posts_with_media.since"], said)

# ---- Killed ------------------------------------------------------------------------

sim.faults({"match": {"path": FEED, "from": 2}, "fault": {"stall": 200,
                                                         "at": 10}})
sim.own("forget", {})
child = start(command("killed", "bluesky_author_feed", "--seed", ADA))
wait_until(lambda: len(sim.log()) >= 6, 60)
child.send_signal(signal.SIGKILL)
child.wait()
sim.faults()
before = len(sim.log())
code, out, err = ours(*command("killed", "--resume")[1:], seconds=90)
same("after a kill it is taken up", code, 0)
same("nothing is missing, and nothing twice", archived("killed"), feed())
check("nothing that was archived is asked for again",
      len(sim.log()) - before <= 2 + 11 - (before - 2), len(sim.log()))

# ---- Interrupted ---------------------------------------------------------------------

sim.faults({"match": {"path": FEED, "from": 2}, "fault": {"stall": 200,
                                                         "at": 10}})
child = start(command("stopped", "bluesky_author_feed", "--seed", ADA))
time.sleep(1.5)
child.send_signal(signal.SIGINT)
same("an interrupt ends it in order", child.wait(30), 75)
sim.faults()
code, out, err = ours(*command("stopped", "--resume")[1:], seconds=90)
same("... and it goes on", (code, archived("stopped")), (0, feed()))

# ---- Faults --------------------------------------------------------------------------

WHOLE = {
    "a 503": {"status": 503},
    "a 429 that says when": {"status": 429, "reset": 1},
    "a connection that is closed before": {"close": "before"},
    "... within the head": {"close": "head"},
    "... behind the head": {"close": "body"},
    "a body that is cut": {"cut": 500},
    "a chunk that is cut": {"cut": 500, "chunked": True},
    "a wrong length": {"length": 5},
    "HTML with 200": {"body": "html"},
    "pretty JSON": {"body": "pretty"},
    "no body": {"body": "empty"},
    "a page in another order": {"page": "reordered"},
    "an item of 4 MiB": {"big": 4 << 20},
    "a stall": {"stall": 1500, "at": 100},
}
for n, (what, fault) in enumerate(WHOLE.items()):
    sim.faults({"match": {"path": FEED, "nth": 3}, "fault": fault})
    code, said = harvest(f"fault{n}", "--seed", ADA)
    check(f"{what}: each post once", code == 0 and
          set(archived(f"fault{n}", "--dedupe")) == set(feed()) and
          len(archived(f"fault{n}")) == len(feed()), said)
for n, page in enumerate(("duplicate", "overlap", "empty")):
    sim.faults({"match": {"path": FEED, "nth": 3}, "fault": {"page": page}})
    code, said = harvest(f"page{n}", "--seed", ADA)
    found = archived(f"page{n}")
    # A page without entries takes the place of one that has some.
    lost = len(set(feed()) - set(found))
    check(f"page {page}: all that was sent, and the end", code == 0 and
          lost <= (1 if page == "empty" else 0), (lost, said))
sim.faults({"match": {"path": FEED, "from": 3}, "fault": {"page": "loop"}})
code, said = harvest("loop", "--seed", ADA, seconds=120)
check("a cursor that loops is a failure", code == 69 and
      "unknown_error" in said and "leads nowhere" in said, said)
check("... without a state", not os.path.exists(
    f"{PLACE}/loop/posts/state.json") or state("loop") == {})
sim.faults({"match": {"path": FEED, "nth": 2},
            "fault": {"suspend": "bob.example"}})
code, said = harvest("suspended", "--seed", ADA, "--seed", "bob.example")
# Until then Ada's list had what she has reposted of Bob.
found = set(archived("suspended"))
check("an account that goes meanwhile is a warning", code == 0 and
      "token_suspended" in said and found >= set(feed()) and all(
          world["bob.example"]["did"] in p for p in found - set(feed())), said)
sim.faults()
sim.own("change", {"host": HOST, "rename": {"account": "cleo.example",
                                            "to": "cleopatra.example"}})
code, said = harvest("renamed", "--uid", world["cleo.example"]["did"])
same("an account is known by its DID", (code, archived("renamed")),
     (0, feed("cleopatra.example")))

# ---- A budget that two share --------------------------------------------------------

sim.own("budget", {"limit": 1000000})
sim.own("forget", {})
both = [start(command(f"two{n}", "bluesky_author_feed", "--seed", ADA))
        for n in (1, 2)]
same("two harvests at a time", [c.wait(90) for c in both], [0, 0])
same("... each of which is whole", [archived(f"two{n}") for n in (1, 2)],
     [feed(), feed()])
unknown = {x["path"] for x in sim.log() if not x["known"]}
same("nothing was asked that the simulator does not know", unknown, set())
done()
