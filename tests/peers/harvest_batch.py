"""`argiope harvest run` for each type that ends by itself, against the
simulator: whole, what is new, killed and taken up, with faults; no secret is in
any file.

Mostly harvests wait: for delays, rates and other tries.  So some types run at
once, each in a process, a folder and a simulator of its own (--alone).

Arguments behind the program's name: --items N, for longer lists, and names, in
place of all.
"""
import argparse
import base64
import collections
import concurrent.futures
import csv
import glob
import gzip
import re
import sys
import urllib.parse

from peer import *
from simulated import Platforms

# Items in each list: a few pages for most types; flickr_user makes two calls for
# each photo.
ITEMS = 150
ITEMS_OF = {"flickr_user": 60, "twitter_academic_search": 400,
            "a refused token": 400}
# What takes long begins first.
NAMES = ("feed_entries", "flickr_user", "a rate", "twitter_academic_search",
         "bluesky_author_feed", "flickr_photo", "twitter_user_timeline_2",
         "twitter_user_timeline", "youtube_channel", "mastodon_account",
         "youtube_comments", "mastodon_hashtag", "tumblr_blog_posts",
         "weibo_timeline", "weibo_search", "twitter_search",
         "twitter_search_2", "json_api with a key", "json_api with a token",
         "json_api without", "a refused token")
AT_ONCE = 4
PART_SECONDS_MAX = 600

parser = argparse.ArgumentParser()
parser.add_argument("program", nargs="?")
parser.add_argument("names", nargs="*")
parser.add_argument("--items", type=int)
parser.add_argument("--alone", action="store_true")
options = parser.parse_args()


# ---- Each in a process of its own ------------------------------------------------

def part(name):
    """(what it said, its exit code)."""
    place = os.path.join(PLACE, name.replace(" ", "_"))
    os.mkdir(place)
    began = time.monotonic()
    child = start([sys.executable, __file__, program(), name, "--alone",
                   "--items", str(options.items or ITEMS_OF.get(
                       name, ITEMS))], cwd=place, text=True,
                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said, _ = child.communicate(timeout=PART_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        # It ends what it has begun.
        child.terminate()
        said, _ = child.communicate()
    with lock:
        print(said, end="", flush=True)
        note(f"{name}: {time.monotonic() - began:.1f} s")
    check(f"{name}: to its end", child.returncode == 0, child.returncode)


def all_parts():
    wanted = [n for n in NAMES if not options.names or n in options.names or
              n.split(" ")[0] in options.names]
    check("there are such types", wanted, options.names)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(part, wanted))
    python = python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
                         "setuptools<80")
    if python is None:
        skip("warcio", "it cannot be installed from the package index")
        done()
    every = sorted(glob.glob("*/*/posts/20*/**/*.warc.gz", recursive=True))
    code, out, err = run(python, "-m", "warcio.cli", "check", *every)
    check("warcio check", code == 0 and every, (out + err)[-500:])
    done()


if not options.alone:
    all_parts()

sim = Platforms("--items", str(options.items))
csv.field_size_limit(1 << 30)
TWITTER, FLICKR, TUMBLR, WEIBO, YOUTUBE, BLUESKY, FEEDS, MASTODON = HOSTS = (
    "api.twitter.com", "api.flickr.com", "api.tumblr.com", "api.weibo.com",
    "www.googleapis.com", "public.api.bsky.app", "feeds.example",
    "private.example")
DECLARED = "forum.example", "issues.example", "articles.example"


# ---- Harvests ------------------------------------------------------------------

def put(name, what):
    path = os.path.join(PLACE, name + ".json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
              "w") as f:
        json.dump(what, f)
    return path


def words(place, *more):
    led = ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                   for h in HOSTS + DECLARED)
    return [program(), "harvest", "run", *more, "--into", place + "/posts",
            "--data", place + "/data", "--set", "fetch.resolve=" + led,
            "--set", "fetch.ca_file=" + sim.ca, "--json"]


said = collections.Counter()


def harvest(place, *more, seconds=120):
    """(exit code, summary, what was said)."""
    code, out, err = run(*words(place, *more), seconds=seconds)
    said[out + err] += 1
    return code, json.loads(out) if out.strip() else {}, err


def warcs(place):
    return sorted(glob.glob(place + "/posts/20*/**/*.warc.gz",
                            recursive=True))


def answers(place, status=b"200"):
    """{target URI: how many answers of that status}."""
    found = collections.Counter()
    for path in warcs(place):
        with gzip.open(path) as f:
            text = f.read()
        for record in re.split(rb"(?=^WARC/1\.1\r\n)", text, flags=re.M):
            if b"\r\nWARC-Type: response\r\n" in record[:200] and \
                    b"\r\n\r\nHTTP/1.1 " + status in record[:3000]:
                found[re.search(rb"WARC-Target-URI: (\S+)",
                                record)[1].decode()] += 1
    return found


def descriptions(place):
    """Of each WARC file the metadata record behind its warcinfo, or None."""
    found = []
    for path in warcs(place):
        with gzip.open(path) as f:
            records = re.split(rb"(?=^WARC/1\.1\r\n)", f.read(), flags=re.M)
        about = records[2] if len(records) > 2 else b""
        found.append(json.loads(about.split(b"\r\n\r\n")[1])
                     if b"WARC-Target-URI: urn:argiope:json_api" in about and
                     b"WARC-Type: metadata" in about else None)
    return found


def exported(place, form):
    """Answers that are no JSON are archived, too; 70 tells them."""
    shutil.rmtree(place + "/" + form, ignore_errors=True)
    code, out, err = ours("archive", "export", form, place + "/posts",
                          "--into", place + "/" + form)
    check(f"{place}: exported as {form}", code in (0, 70 if place.endswith(
        "-faults") else 0), out + err)
    return sorted(glob.glob(f"{place}/{form}/*.*"))


def rows_of(place):
    n = 0
    for path in exported(place, "csv"):
        with open(path, newline="", encoding="utf-8-sig") as f:
            n += sum(1 for _ in csv.DictReader(f))
    return n


def items_of(place):
    found = []
    for path in exported(place, "json_full"):
        with open(path, encoding="utf-8") as f:
            found += [json.loads(line) for line in f]
    return found


# ---- What each type is -----------------------------------------------------------

class Type:
    """`order`: words; `ids`: what the simulator has; `change` makes more of it;
    `id_of`: of an item as it is exported, None: there is no export.  Items
    that come twice: `overlap` in a run for what is new, `pages` in a whole one.
    `again`: answers that are asked for once more, as an empty last page is.
    """

    def __init__(self, kind, host, order, keys, ids, change=None, id_of=None,
                 name=None, overlap=0, pages=0, again=0, paths="/*"):
        self.kind, self.host, self.order, self.ids = kind, host, order, ids
        self.keys, self.change, self.id_of = keys, change, id_of
        self.name, self.paths = name or kind, paths
        self.overlap, self.pages, self.again = overlap, pages, again

    def words(self):
        if not self.keys:
            return [self.kind, *self.order]
        return [self.kind, *self.order, "--credentials-file",
                put(self.name, self.keys)]


def at(host, *path):
    """What the world of that host has there, a list found by its name."""
    found = sim.world(host)
    for p in path:
        if isinstance(found, list):
            found = next(x for x in found if p in (
                x.get("name"), x.get("handle")))
        else:
            found = found[p]
    return found


def add(host, to, n=45):
    return lambda: sim.own("change", {"host": host, "add": {
        **({"account": to} if to else {}), "n": n}})


def seeds(*names):
    return [w for n in names for w in ("--seed", n)]


def uids(*names):
    return [w for n in names for w in ("--uid", n)]


def recent(ids):
    """Of tweets those of the last seven days."""
    since = int((time.time() - 7 * 86400) * 1000) - 1288834974657
    return [i for i in ids if int(i) >> 22 >= since]


twitter = at(TWITTER, "credentials")
v1 = {k: twitter[k] for k in ("consumer_key", "consumer_secret",
                              "access_token", "access_token_secret")}
bearer = {"bearer_token": twitter["bearer_token"]}
app = {k: twitter[k] for k in ("consumer_key", "consumer_secret")}
flickr = {k: at(FLICKR, k) for k in ("key", "secret")}
youtube = {"key": at(YOUTUBE, "key")}
tumblr = {"api_key": at(TUMBLR, "key")}
weibo = {"access_token": at(WEIBO, "token")}
mastodon = {"instance": "https://" + MASTODON,
            "access_token": at(MASTODON, "tokens")["user"]}


def tweets(who="ada"):
    return at(TWITTER, "accounts", who, "tweets")


def described(name):
    return f"{SOURCE}/examples/json_api/{name}.json"


def photos(*who):
    return [p for w in who for p in at(FLICKR, "people", w, "photos")]


def comments(video):
    return at(YOUTUBE, "comments")[video]


DISCUSSED = max(at(YOUTUBE, "comments"), key=lambda v: len(comments(v)))

TYPES = [
    Type("mastodon_account", MASTODON, seeds("ada", "bob"), mastodon,
         lambda: at(MASTODON, "accounts", "ada", "posts") +
         at(MASTODON, "accounts", "bob", "posts"), add(MASTODON, "ada"),
         lambda x: x["id"], paths="/api/*"),
    Type("mastodon_hashtag", MASTODON, seeds("cats"), mastodon,
         lambda: at(MASTODON, "tags", "cats"), None, lambda x: x["id"]),
    Type("bluesky_author_feed", BLUESKY, seeds("ada.example", "bob.example"),
         {}, lambda: at(BLUESKY, "accounts", "ada.example", "feed") +
         at(BLUESKY, "accounts", "bob.example", "feed"),
         add(BLUESKY, "ada.example"), lambda x: x["post"]["uri"], overlap=200),
    Type("feed_entries", FEEDS, seeds(*("https://feeds.example/" + f for f in (
         "rss.xml", "moved.xml", "none.xml", "private/rss.xml"))), {},
         lambda: [i for f in ("/rss.xml", "/atom.xml")
                  for i in at(FEEDS, f)], add(FEEDS, "/rss.xml", 7),
         lambda x: x["entry_id"], overlap=1 << 30),
    Type("youtube_channel", YOUTUBE, seeds("@ada", "@bob", "@eve"), youtube,
         lambda: at(YOUTUBE, "channels", "ada", "videos") +
         at(YOUTUBE, "channels", "bob", "videos"), add(YOUTUBE, "ada"),
         lambda x: x["id"], overlap=50),
    Type("youtube_comments", YOUTUBE, seeds(DISCUSSED), youtube,
         lambda: comments(DISCUSSED), lambda: sim.own("change", {
             "host": YOUTUBE, "comment": {"video": DISCUSSED, "n": 30}}),
         # A thread comes with a few of its replies, and whole when one is new.
         lambda x: x["id"], overlap=1 << 30, pages=10),
    Type("tumblr_blog_posts", TUMBLR, uids("ada", "blog.example"), tumblr,
         lambda: at(TUMBLR, "blogs", "ada", "posts") +
         at(TUMBLR, "blogs", "blog.example", "posts"), add(TUMBLR, "ada", 15),
         lambda x: x.get("id_string") or str(x["id"]), overlap=150, pages=150),
    Type("flickr_user", FLICKR, seeds("bob & co", "ada"), flickr,
         lambda: photos("bob & co", "ada"), add(FLICKR, "ada"),
         lambda x: x["id"]),
    Type("flickr_photo", FLICKR, uids(*photos("bob & co")), flickr,
         lambda: photos("bob & co"), None, lambda x: x["id"]),
    Type("weibo_timeline", WEIBO, [], weibo, lambda: at(WEIBO, "timeline"),
         None, lambda x: x["idstr"], again=1),
    Type("weibo_search", WEIBO, seeds("cats", "猫和狗"), weibo,
         lambda: at(WEIBO, "topics", "cats")[-200:] +
         at(WEIBO, "topics", "猫和狗")[-200:], None, lambda x: x["idstr"]),
    Type("twitter_search", TWITTER, seeds("cats"), v1,
         lambda: recent(at(TWITTER, "searches", "cats")), None,
         lambda x: x["id_str"]),
    Type("twitter_user_timeline", TWITTER, seeds("ada", "bob"), v1,
         lambda: tweets() + tweets("bob"), add(TWITTER, "ada"),
         lambda x: x["id_str"]),
    Type("twitter_search_2", TWITTER, seeds("from:ada"), bearer,
         lambda: recent(tweets()), add(TWITTER, "ada"), lambda x: x["id"]),
    Type("twitter_academic_search", TWITTER, seeds("from:ada"), app,
         tweets, None, lambda x: x["id"]),
    Type("twitter_user_timeline_2", TWITTER, seeds("ada", "bob"), app,
         lambda: tweets() + tweets("bob"), add(TWITTER, "ada"),
         lambda x: x["id"]),
    Type("json_api", "forum.example", seeds("cats", "owls") + [
         "--api", described("forum")], {"key": at("forum.example", "key")},
         lambda: at("forum.example", "lists", "cats") +
         at("forum.example", "lists", "owls"), add("forum.example", "cats"),
         name="json_api with a key"),
    Type("json_api", "issues.example", seeds("birds") + [
         "--api", described("issues")],
         {"token": at("forum.example", "token")},
         lambda: at("forum.example", "lists", "birds"),
         add("issues.example", "birds"), name="json_api with a token"),
    Type("json_api", "articles.example", ["--api", described("articles")], {},
         lambda: at("forum.example", "lists", "articles"), None,
         name="json_api without"),
]


# ---- Each of them ------------------------------------------------------------------

def check_items(what, t, place, summary, wanted, overlap=0):
    """The items are the simulator's, each once but for pages that overlap."""
    if t.id_of is None:
        same(f"{what}: as many items", summary["items"], len(wanted))
        return
    got = collections.Counter(t.id_of(x) for x in items_of(place))
    missing = set(wanted) - set(got)
    check(f"{what}: no item is missing", not missing, missing)
    check(f"{what}: none is another's", not set(got) - set(wanted),
          set(got) - set(wanted))
    # A post may be in two lists.
    twice = sum(n - 1 for n in got.values()) - len(wanted) + len(set(wanted))
    check(f"{what}: each once", twice <= overlap, (twice, len(got)))
    same(f"{what}: as many rows", rows_of(place), sum(got.values()))


def is_sound(what, place):
    code, out, err = ours("archive", "check", "--strict", place + "/posts")
    check(f"{what}: archive check", code == 0, out[-400:] + err)


def each_once(what, t, place):
    twice = {u: n for u, n in answers(place).items() if n > 1}
    check(f"{what}: each answer is archived once",
          sum(n - 1 for n in twice.values()) <= t.again, twice)


def harvest_whole(t):
    what, place = t.name + ", whole", t.name.replace(" ", "_") + "-whole"
    wanted = t.ids()
    code, out, err = harvest(place, *t.words())
    if not same(f"{what}: exit code", code, 0):
        note(f"{out} {err}")
        return
    same(f"{what}: nothing waits", out["warcs_waiting"], 0)
    check_items(what, t, place, out, wanted, t.pages)
    each_once(what, t, place)
    is_sound(what, place)
    if t.change is None:
        return
    what = t.name + ", what is new"
    t.change()
    new = set(t.ids()) - set(wanted)
    code, out, err = harvest(place, *t.words(), "--option",
                             "incremental=true")
    if not same(f"{what}: exit code", code, 0):
        note(f"{out} {err}")
        return
    check(f"{what}: what is new, and little else", len(new) <=
          out.get("items", 0) <= len(new) + t.overlap, (len(new), out))
    check_items(what, t, place, {"items": len(wanted) + out["items"]},
                t.ids(), t.overlap)
    is_sound(what, place)


def revisits(place):
    """[(profile, status)] of the newest file's records, and its responses."""
    with gzip.open(warcs(place)[-1]) as f:
        records = re.split(rb"(?=^WARC/1\.1\r\n)", f.read(), flags=re.M)
    found = [re.search(rb"WARC-Profile: \S+/(\S+).*?\r\n\r\nHTTP/1.1 (\d+)", r,
                       re.S) for r in records if b"WARC-Type: revisit" in r]
    return [(m[1].decode(), int(m[2])) for m in found], sum(
        b"\r\nWARC-Type: response" in r for r in records)


def unchanged_feeds(t):
    """What the collection has is a revisit, where it is asked for what is new:
    304, and the same body again."""
    place, seed = "feed-unchanged", "https://feeds.example/rss.xml"
    order = [t.kind, "--seed", seed]
    new = [*order, "--option", "incremental=true"]
    same("a feed: exit code", harvest(place, *order)[0], 0)
    same("a feed, unchanged: exit code", harvest(place, *new)[0], 0)
    same("a feed, unchanged: a revisit", revisits(place),
         ([("server-not-modified", 304)], 0))
    state = place + "/posts/state.json"
    with open(state) as f:
        left = json.load(f)
    for section in left.values():
        for key in [k for k in section if not k.endswith(".seen")]:
            del section[key]
    with open(state, "w") as f:
        json.dump(left, f)
    code, out, err = harvest(place, *new)
    same("a feed, the same body: nothing is new", (code, out.get("items")),
         (0, 0))
    same("a feed, the same body: a revisit", revisits(place),
         ([("identical-payload-digest", 200)], 0))
    same("a feed, all of it again: exit code", harvest(place, *order)[0], 0)
    same("a feed, all of it again: a response", revisits(place), ([], 1))
    is_sound("a feed", place)
    same("a feed: rows", rows_of(place), 2 * len(at(FEEDS, "/rss.xml")))


def requests():
    return [x for x in sim.log() if not x["path"].startswith("/robots")]


def harvest_killed(t):
    """Killed five times."""
    what, place = t.name + ", killed", t.name.replace(" ", "_") + "-killed"
    sim.own("forget", {})
    sim.faults({"match": {"host": t.host, "to": 60},
                "fault": {"stall": 50, "at": 0}})
    child = start(words(place, *t.words()), stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
    kills, told = 0, 0
    for _ in range(5):
        told = len(requests()) + random.choice((1, 2, 3))
        wait_until(lambda: len(requests()) >= told or
                   child.poll() is not None, 30, 0.01)
        time.sleep(random.random() * 0.06)
        if child.poll() is not None:
            break
        child.kill()
        said["".join(child.communicate())] += 1
        kills += 1
        child = start(words(place, "--resume"), stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    sim.faults()
    said[out + err] += 1
    summary = json.loads(out) if out.strip() else {}
    note(f"{what}: {kills} kills, {summary.get('replayed')} answers read "
         f"again, of {summary.get('answers')}")
    if child.returncode == 66 or summary.get("state") is None:
        # The first kill came before it had begun, or the last behind its end.
        code, summary, err = harvest(place, *t.words())
        same(f"{what}: it goes anew", code, 0)
    else:
        same(f"{what}: exit code", child.returncode, 0)
        each_once(what, t, place)
        check_items(what, t, place, summary, t.ids(), t.pages)
        if t.kind == "json_api":
            with open(t.order[-1]) as f:
                api = json.load(f)
            check(f"{what}: each file begins with the description",
                  descriptions(place) and all(d == api for d in
                                              descriptions(place)))
    is_sound(what, place)


def harvest_faulty(t):
    what, place = t.name + ", faults", t.name.replace(" ", "_") + "-faults"
    plan = [{"status": 503}, {"body": "html"}, {"cut": 40},
            {"close": "before"}]
    if t.kind == "feed_entries":
        plan = [{"status": 503}, {"close": "before"}]
    elif t.kind not in ("tumblr_blog_posts", "twitter_search",
                        "weibo_timeline", "weibo_search"):
        # Twitter names no seconds; without a date it is a minute.
        plan.append({"status": 429, "reset": 1} if t.host == TWITTER else
                    {"status": 429, "reset": "none", "retry_after": "1"})
    sim.own("forget", {})
    sim.faults(*({"match": {"host": t.host, "path": t.paths, "nth": n},
                  "fault": f} for n, f in zip((1, 3, 4, 6, 8), plan)))
    code, out, err = harvest(place, *t.words())
    sim.faults()
    if not same(f"{what}: exit code", code, 0):
        note(f"{out} {err}")
        return
    check_items(what, t, place, out, t.ids(), t.pages)
    is_sound(what, place)


# ---- Secrets -------------------------------------------------------------------------

def forms(secret):
    """As it may stand in a file."""
    yield secret.encode()
    yield urllib.parse.quote(secret, safe="").encode()
    for lead in (b"", b"x", b"xx"):
        text = base64.b64encode(lead + secret.encode())
        yield text[4 if lead else 0:len(text) // 4 * 4 - 4]


def contents(place):
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                text = f.read()
            yield path, text
            if name.endswith((".gz", ".open")):
                with gzip.open(path) as f:
                    try:
                        yield path, f.read()
                    except (EOFError, OSError):
                        pass
    yield "what was said", "\n".join(said).encode()


def leaks(place, secrets):
    wanted = [f for s in secrets for f in forms(s) if len(f) >= 8]
    return [(path, f[:4]) for path, text in contents(place) for f in wanted
            if f in text]


def harvest_of(t):
    for what in harvest_whole, harvest_killed, harvest_faulty:
        what(t)
    if t.kind == "feed_entries":
        unchanged_feeds(t)
    place = t.name.replace(" ", "_")
    secrets = [v for k, v in t.keys.items() if k != "instance"]
    for what in "whole", "killed", "faults":
        same(f"{t.name}, {what}: no file has a secret",
             leaks(f"{place}-{what}", secrets), [])
    if secrets:
        with open(f"{place}-whole/planted", "w") as f:
            f.write("a " + base64.b64encode(
                (":" + secrets[0]).encode()).decode())
        check(f"{t.name}: one that was planted is found",
              leaks(place + "-whole", secrets))


# ---- The application's token, and counted budgets -----------------------------------

def harvest_with_tokens():
    """One is let go of when it is refused, and another is asked for once."""
    t = next(t for t in TYPES if t.kind == "twitter_academic_search")
    sim.own("forget", {})
    sim.faults({"match": {"host": TWITTER, "path": "/2/*", "nth": 3},
                "fault": {"credential": "expires"}})
    code, out, err = harvest("tokens", *t.words())
    sim.faults()
    asked = [(x["path"].rsplit("/", 1)[1], x["status"]) for x in requests()]
    same("a token that is refused: exit code", code, 0)
    check_items("a token that is refused", t, "tokens", out, t.ids())
    same("a token that is refused: asked for anew, once",
         asked.count(("token", 200)), 2)
    same("a token that is refused: the call comes again",
         asked.count(("all", 401)), 1)
    same("the tokens are in no file", [
        path for path, text in contents("tokens") if b"Bearer A" in text or
        b"access_token" in text], [])


def harvest_by_rate():
    """Calls of a process before count."""
    with open(described("forum")) as f:
        api = {**json.load(f), "rate": {"calls": 2, "seconds": 6}}
    order = ["json_api", *seeds("owls"), "--api", put("slow", api),
             "--credentials-file", put("slow-key", {
                 "key": at("forum.example", "key")})]
    sim.own("forget", {})
    began = time.monotonic()
    for _ in range(3):
        code, out, err = harvest("slow", *order)
        same("a rate: exit code", code, 0)
    calls, took = len(requests()), time.monotonic() - began
    check("a rate: calls wait for it over a restart", calls >= 3 and
          took >= 6 * ((calls - 1) // 2), (calls, took))


sim.own("budget", {"limit": 1000000})
parts = {"a rate": harvest_by_rate, "a refused token": harvest_with_tokens,
         **{t.name: lambda t=t: harvest_of(t) for t in TYPES}}
same("each has its part", set(parts), set(NAMES))
parts[options.names[0]]()

unknown = {(x["host"], x["path"]) for x in sim.log() if not x["known"]}
same("nothing was asked that the simulator does not know",
     {x for x in unknown if x[0] != FEEDS}, set())
done()
