"""`argiope harvest run` for streams, against the simulator: followed, ended in
order and taken up, killed and taken up; no event is missing.  Arguments behind
the program's name: the types, in place of all.
"""
import collections
import glob
import re
import signal
import sys

from peer import *
from simulated import Platforms

sim = Platforms("--items", "100")
TWITTER, STREAM, MASTODON, JETSTREAM, JETSTREAM2 = HOSTS = (
    "api.twitter.com", "stream.twitter.com", "private.example",
    "jetstream2.us-east.bsky.network", "jetstream.us-east.bsky.network")
POST = "app.bsky.feed.post"


def put(name, what):
    path = os.path.join(PLACE, name + ".json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
              "w") as f:
        json.dump(what, f)
    return path


def words(place, *more):
    led = ",".join(f"{h}:443:127.0.0.1:{sim.port}" for h in HOSTS)
    return [program(), "harvest", "run", *more, "--into", place + "/posts",
            "--data", place + "/data", "--set", "fetch.resolve=" + led,
            "--set", "fetch.ca_file=" + sim.ca, "--json"]


def at(host, *path):
    found = sim.world(host)
    for p in path:
        found = next(x for x in found if x["name"] == p) if isinstance(
            found, list) else found[p]
    return found


def add(host, n):
    account = "ada.example" if "bsky" in host else "ada"
    sim.own("change", {"host": host, "add": {"account": account, "n": n}})


def posts(host):
    """What a stream shows; Mastodon's leave boosts out."""
    if "bsky" in host:
        return [f"at://{e['did']}/{POST}/{e['rkey']}"
                for e in at(host, "events")
                if e["collection"] == POST and not e["deleted"]]
    return at(host, "public") if host == MASTODON else \
        at(host, "accounts", "ada", "tweets")


def streams():
    return sum("streaming" in x["path"] or "statuses/" in x["path"] or
               "subscribe" in x["path"] or
               x["path"].endswith("search/stream") for x in sim.log())


def address(frame):
    """Of the post in a message of either protocol."""
    frame = frame.get("payload", frame)
    return f"at://{frame['did']}/{POST}/{frame.get('commit', frame)['rkey']}"


twitter = at(TWITTER, "credentials")
v1 = {k: twitter[k] for k in ("consumer_key", "consumer_secret",
                              "access_token", "access_token_secret")}
ada = at(TWITTER, "accounts", "ada", "id")
TYPES = {
    "mastodon_stream": (MASTODON, [], {
        "instance": "https://" + MASTODON,
        "access_token": at(MASTODON, "tokens", "user")}, lambda x: x["id"]),
    "twitter_sample": (TWITTER, [], v1, lambda x: x["id_str"]),
    "twitter_filter": (TWITTER, ["--seed", json.dumps({"follow": ada})], v1,
                       lambda x: x["id_str"]),
    "twitter_filter_stream": (TWITTER, ["--seed", json.dumps(
        {"rule": "from:ada", "tag": "one"})],
        {"bearer_token": twitter["bearer_token"]}, lambda x: x["id"]),
    "bluesky_jetstream": (JETSTREAM, [], {}, address),
    "bluesky_jetstream v2": (JETSTREAM2, ["--option", "protocol=v2"], {},
                             address),
}


def warcs(place):
    return sorted(glob.glob(place + "/posts/20*/**/*.warc.gz",
                            recursive=True))


def items(place, id_of):
    shutil.rmtree(place + "/json", ignore_errors=True)
    code, out, err = ours("archive", "export", "json_full", "--honour-deletes",
                          "no", place + "/posts", "--into", place + "/json")
    same(f"{place}: exported, and nothing is damaged", code, 0)
    found = []
    for path in sorted(glob.glob(place + "/json/*.*")):
        with open(path, encoding="utf-8") as f:
            found += [id_of(json.loads(line)) for line in f]
    return found


class Run:
    """A harvest that goes on; `end` is how: a signal."""

    def __init__(self, place, *more):
        before = streams()
        self.child = start(words(place, *more), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        check(f"{place}: the stream has begun",
              wait_until(lambda: streams() > before or
                         self.child.poll() is not None, 20) and
              self.child.poll() is None)
        time.sleep(0.5)

    def end(self, how):
        self.child.send_signal(how)
        out, err = self.child.communicate(timeout=40)
        return self.child.returncode, json.loads(out) if out.strip() else {}, \
            err


def is_sound(what, place):
    code, out, err = ours("archive", "check", "--strict", place + "/posts")
    check(f"{what}: archive check", code == 0, out[-400:] + err)


def follow(kind, host, order, keys, id_of):
    place = kind.replace(" ", "_")
    order = [kind.split()[0], *order, "--credentials-file", put(place, keys)]
    before = set(posts(host))

    def wanted():
        return [p for p in posts(host) if p not in before]

    run = Run(place, *order)
    add(host, 20)
    time.sleep(1.5)
    code, out, err = run.end(signal.SIGINT)
    same(f"{kind}, ended in order: exit code", code, 75)
    same(f"{kind}, ended in order: its items", out.get("items"),
         len(wanted()))
    same(f"{kind}, ended in order: they are in its files",
         sorted(items(place, id_of)), sorted(wanted()))
    is_sound(kind, place)

    run = Run(place, "--resume")
    add(host, 15)
    time.sleep(8)
    run.end(signal.SIGKILL)
    run = Run(place, "--resume")
    add(host, 10)
    time.sleep(3)
    code, out, err = run.end(signal.SIGINT)
    same(f"{kind}, killed: exit code", code, 75)
    got = collections.Counter(items(place, id_of))
    missing = [p for p in wanted() if p not in got]
    check(f"{kind}, killed: nothing is missing", not missing, missing)
    same(f"{kind}, killed: as many were counted", out.get("items"),
         len(wanted()))
    twice = {p: n for p, n in got.items() if n > 1 and p in wanted()}
    # Those begin a little before what came last.
    check(f"{kind}, killed: nothing of the stream came twice",
          "twitter" not in kind or not twice, twice)
    is_sound(kind + ", killed", place)

    run = Run(place, "--resume")
    add(host, 5)
    time.sleep(1.5)
    code, out, err = run.end(signal.SIGTERM)
    same(f"{kind}, ended by SIGTERM: its items", (code, out.get("items")),
         (75, len(wanted())))


def cut_in_silence(kind):
    """A stream without a line that we end is none that Twitter has ended."""
    host, order, keys, _ = TYPES[kind]
    place = kind + "_cut"
    order = [kind, *order, "--credentials-file", put(place, keys)]
    for i in range(7):
        run = Run(place, *(order if i == 0 else ["--resume"]))
        run.end(signal.SIGKILL if i % 2 else signal.SIGINT)
    run = Run(place, "--resume")
    add(host, 3)
    time.sleep(1.5)
    code, out, err = run.end(signal.SIGINT)
    same(f"{kind}, cut in silence: it goes on", (code, out.get("items")),
         (75, 3))


def exported(place, honour):
    """What comes of the archive: {id: whether an edit is there}."""
    shutil.rmtree(place + "/json", ignore_errors=True)
    code, out, err = ours("archive", "export", "json_full", "--honour-deletes",
                          honour, place + "/posts", "--into", place + "/json")
    same(f"{place}: exported", code, 0)
    found = {}
    for path in sorted(glob.glob(place + "/json/*.*")):
        with open(path, encoding="utf-8") as f:
            for post in map(json.loads, f):
                found[post["id"]] = found.get(post["id"]) or \
                    post["edited_at"] is not None
    return found


def renewed():
    """Streams that end with their file overlap: edits and deletions, which no
    timeline has, are not missed."""
    place = "renewed"
    host, order, keys, _ = TYPES["mastodon_stream"]
    run = Run(place, "mastodon_stream", *order, "--credentials-file",
              put(place, keys), "--set", "warc.rollover_s=2s")
    seen, began = set(posts(host)), streams()
    changed, gone = set(), set()
    for i in range(120):
        add(host, 2)
        new = [p for p in posts(host) if p not in seen]
        seen.update(new)
        for p in new[:1]:
            sim.own("change", {"host": host, "edit": p})
            changed.add(p)
        for p in new[1:]:
            sim.own("change", {"host": host, "delete": p})
            gone.add(p)
        time.sleep(0.1)
    time.sleep(1)
    check(f"renewed: often ({streams() - began} times)",
          streams() - began >= 4)
    code, out, err = run.end(signal.SIGINT)
    same("renewed: exit code", code, 75)
    all_of, kept = exported(place, "no"), exported(place, "yes")
    missing = [p for p in changed if not all_of.get(p)]
    check("renewed: no edit is missing", changed and not missing, missing)
    check("renewed: no deletion is missing", gone and
          not gone & set(kept), gone & set(kept))
    same("renewed: posts and edits count once", out.get("items"),
         len(all_of) + len(changed))
    is_sound("renewed", place)


for kind in sys.argv[2:] or TYPES:
    follow(kind, *TYPES[kind])
if "mastodon_stream" in (sys.argv[2:] or TYPES):
    renewed()
for kind in sys.argv[2:] or TYPES:
    if kind in ("twitter_filter", "twitter_filter_stream"):
        cut_in_silence(kind)
unknown = {(x["host"], x["path"]) for x in sim.log() if not x["known"]}
same("nothing was asked that the simulator does not know", unknown, set())
python = python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
                     "setuptools<80")
if python is None:
    skip("warcio", "it cannot be installed from the package index")
    done()
every = [w for t in sys.argv[2:] or TYPES
         for w in warcs(t.replace(" ", "_"))]
code, out, err = run(python, "-m", "warcio.cli", "check", *every)
check("warcio check", code == 0 and every, (out + err)[-500:])
done()
