"""`argiope harvest run` for Mastodon, against the simulator: whole, incremental,
interrupted, killed at any moment; its files in the hands of others.
"""
import base64
import collections
import csv
import glob
import gzip
import hashlib
import re
import signal
import urllib.parse

from peer import *
from simulated import Platforms

HOST = "mastodon.example"
sim = Platforms("--items", "600")
world = sim.world(HOST)
ada, bob = (next(a for a in world["accounts"] if a["name"] == n)
            for n in ("ada", "bob"))
csv.field_size_limit(1 << 30)


def credentials(name, **keys):
    path = os.path.join(PLACE, name + ".json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
              "w") as f:
        json.dump(keys, f)
    return path


def words(kind, into, *more, host=HOST, keys=None, data="data"):
    if keys is None:
        keys = credentials(host, instance="https://" + host)
    order = [] if kind is None else [kind, "--credentials-file", keys]
    return [program(), "harvest", "run", *order, "--into", into, "--data",
            data, "--set", f"fetch.resolve={host}:443:127.0.0.1:{sim.port}",
            "--set", f"fetch.ca_file={sim.ca}", "--json", *more]


def harvest(kind, into, *more, **where):
    """The exit code, the summary, and what was said."""
    code, out, err = run(*words(kind, into, *more, **where))
    return code, json.loads(out) if out.strip() else {}, err


def warcs(into):
    return sorted(glob.glob(into + "/20[0-9][0-9]/*/*/*/*.warc.gz"))


def answers(into):
    """{target URI: how many answers of it there are}, of those with 200."""
    found = collections.Counter()
    for path in warcs(into):
        with gzip.open(path) as f:
            text = f.read()
        for record in re.split(rb"(?=^WARC/1\.1\r\n)", text, flags=re.M):
            if b"\r\nWARC-Type: response\r\n" in record[:200] and \
                    b"\r\n\r\nHTTP/1.1 200" in record[:2000]:
                found[re.search(rb"WARC-Target-URI: (\S+)",
                                record)[1].decode()] += 1
    return found


def ids(into, name, *more):
    """The posts in a CSV export, by id."""
    shutil.rmtree(name, ignore_errors=True)
    code, out, err = ours("archive", "export", "csv", into, "--into", name,
                          *more)
    if code != 0:
        check(f"{name}: exported", False, out + err)
    found = []
    for path in sorted(glob.glob(name + "/*.csv")):
        with open(path, newline="", encoding="utf-8-sig") as f:
            found += [r for r in csv.DictReader(f)]
    return found


def is_sound(name, into):
    code, out, err = ours("archive", "check", "--strict", into)
    check(f"{name}: archive check", code == 0, out[-400:] + err)


def asked():
    return [x["path"] + "?" + x.get("query", "") for x in sim.log()]


# ---- Whole, then what is new -------------------------------------------------------

ACCOUNTS = [w for n in ("ada", "bob", "cleo", "eve") for w in ("--seed", n)]
told = {a["name"]: a for a in world["accounts"]}
wanted = sum(len(told[n]["posts"]) for n in ("ada", "bob", "cleo", "eve"))
code, out, err = harvest("mastodon_account", "whole", *ACCOUNTS, "--seed",
                         "dora", "--seed", "nobody")
same("whole: exit code", code, 0)
same("whole: its items", out["items"], wanted)
same("whole: seeds that are not there", {n["code"]: n["seed"]
     for n in out["notes"]}, {"uid_suspended": "5", "token_not_found": "6"})
same("whole: nothing waits", out["warcs_waiting"], 0)
is_sound("whole", "whole")
rows_n = len(ids("whole", "whole-csv"))
same("whole: as many rows as posts", rows_n, wanted)
for path in warcs("whole"):
    hour = re.search(r"-(\d{4})(\d{2})(\d{2})(\d{2})\d{7}-", path).groups()
    check("whole: the file is where SFM looks for it",
          os.path.dirname(path).endswith("/".join(hour)), path)
    check("whole: others may read it", os.stat(path).st_mode & 0o444 == 0o444)
same("whole: a state for each account that has posts",
     len(json.load(open("whole/state.json"))["__main__"]), 3)

sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 45}})
sim.own("forget", {})
code, out, err = harvest("mastodon_account", "whole", *ACCOUNTS, "--option",
                         "incremental=true")
same("incremental: exit code", code, 0)
same("incremental: only what is new", out["items"], 45)
pages = [p for p in asked() if "/statuses" in p]
check("incremental: few pages", len(pages) <= 8, pages)
is_sound("incremental", "whole")
same("incremental: all posts, each once", len({r["uri"] for r in ids(
     "whole", "more-csv")}), wanted + 45)
code, out, err = harvest("mastodon_account", "whole", *ACCOUNTS, "--option",
                         "incremental=true")
same("nothing new: a success", (code, out["items"]), (0, 0))

code, out, err = ours("harvest", "list", "--json", "--data", "data")
same("they are listed", [h["state"] for h in json.loads(out)["harvests"]],
     ["completed success"] * 3)
first = json.loads(out)["harvests"][0]["id"]
code, out, err = ours("harvest", "show", first, "--json", "--data", "data")
shown = json.loads(out)
same("one is shown: found", sum(c["n"] for c in shown["found"]["counts"]),
     wanted)
with open(warcs("whole")[0], "rb") as f:
    digest = hashlib.sha1(f.read()).hexdigest()
same("one is shown: its file", [(w["sha1"], w["placed"])
                                for w in shown["warcs"]], [(digest, True)])
code, out, err = ours("harvest", "show", first, "--data", "data")
check("... as text", code == 0 and "uid_suspended" in out, out)
code, out, err = ours("harvest", "list", "--open", "--data", "data")
check("none is open", "There is no harvest" in out, out)

# ---- A hashtag, and a limit ---------------------------------------------------------

cats = sim.world(HOST)["tags"]["cats"]
code, out, err = harvest("mastodon_hashtag", "cats", "--seed", "cats")
same("a hashtag: its items", (code, out["items"]), (0, len(cats)))
same("a hashtag: as many rows", len(ids("cats", "cats-csv")), len(cats))
code, out, err = harvest("mastodon_hashtag", "few", "--seed", "cats",
                         "--option", "limit=30")
check("a limit ends it after a page", code == 0 and
      30 <= out["items"] < len(cats) and
      any(n["code"] == "limit_reached" for n in out["notes"]), out)

# ---- Interrupted, and killed ---------------------------------------------------------

SLOW = {"match": {"path": "/api/*"}, "fault": {"stall": 60, "at": 0}}


def start_slow(kind, into, *more):
    sim.faults(SLOW)
    return start(words(kind, into, *more), stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, text=True)


def statuses():
    return sum("/statuses" in p for p in asked())


wanted = len(sim.world(HOST)["accounts"][0]["posts"])
sim.own("forget", {})
child = start_slow("mastodon_account", "paused", "--seed", "ada")
check("interrupted: it is under way", wait_until(lambda: statuses() >= 4, 20))
child.send_signal(signal.SIGINT)
out, err = child.communicate(timeout=30)
same("interrupted: exit code", child.returncode, 75)
same("interrupted: what it is", json.loads(out)["state"], "paused")
check("interrupted: its files are there", warcs("paused"))
is_sound("interrupted", "paused")
sim.faults()
code, out, err = harvest(None, "paused", "--resume")
same("taken up: exit code", code, 0)
same("taken up: all items", out["items"], wanted)
check("taken up: it says so", any(n["code"] == "harvest_resumed"
                                  for n in out["notes"]))
pages = collections.Counter(asked())
same("taken up: no request came twice", {p: n for p, n in pages.items()
                                         if n > 1}, {})
is_sound("taken up", "paused")
same("taken up: each post once", len(ids("paused", "paused-csv")), wanted)
code, out, err = harvest(None, "paused", "--resume")
same("nothing is left to take up", code, 66)

sim.own("forget", {})
child = start_slow("mastodon_account", "killed", "--seed", "ada")
kills = 0
for upto in (2, 5, 6, 9, 12):
    if not wait_until(lambda: statuses() >= upto or child.poll() is not None,
                      20):
        break
    time.sleep(random.random() * 0.1)
    child.kill()
    child.communicate()
    kills += 1
    child = start(words(None, "killed", "--resume"), stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
out, err = child.communicate(timeout=60)
sim.faults()
same("killed: exit code", child.returncode, 0)
same("killed: five times", kills, 5)
summary = json.loads(out)
same("killed: all items", summary["items"], wanted)
twice = {u: n for u, n in answers("killed").items() if n > 1}
same("killed: each answer is archived once", twice, {})
requests = collections.Counter(asked())
again = sum(n - 1 for n in requests.values())
# A kill may catch two: an answer that is not durable yet, and the call that
# left when it was whole (driver_early.c).
check("killed: only requests under way came again", again <= 2 * kills,
      {p: n for p, n in requests.items() if n > 1})
check("killed: answers were read from the archive", summary["replayed"] > 0)
is_sound("killed", "killed")
same("killed: each post once", len(ids("killed", "killed-csv")), wanted)
same("killed: the state is that of the whole",
     json.load(open("killed/state.json")), {"__main__": {
         f"https://{HOST}.{ada['id']}.min_id":
         sim.world(HOST)["accounts"][0]["posts"][-1]}})

# A short harvest, killed at any moment of its beginning and end.

MOMENTS = 20
began = time.monotonic()
harvest("mastodon_account", "short", "--seed", "bob")
length = time.monotonic() - began
wrong, states = [], collections.Counter()
for moment in range(MOMENTS):
    into = f"moment-{moment}"
    child = start(words("mastodon_account", into, "--seed", "bob", "--option",
                        "incremental=true", data=into + "-data"),
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(length * random.random())
    # The machine may be less busy than it was.
    if child.poll() is not None:
        length *= 0.8
    child.kill()
    child.communicate()
    code, out, err = harvest(None, into, "--resume", data=into + "-data")
    if code == 66:
        # It had not begun, or was over.
        code, out, err = harvest("mastodon_account", into, "--seed", "bob",
                                 "--option", "incremental=true",
                                 data=into + "-data")
        states["anew"] += 1
    else:
        states["taken up"] += 1
    posts = [r["uri"] for r in ids(into, into + "-csv")]
    if code != 0 or sorted(posts) != sorted(set(posts)) or \
            len(posts) != len(bob["posts"]) or out["warcs_waiting"] != 0 or \
            json.load(open(into + "/state.json"))["__main__"] != {
            f"https://{HOST}.{bob['id']}.min_id": bob["posts"][-1]} or \
            ours("archive", "check", "--strict", into)[0] != 0:
        wrong.append((moment, code, out, err[-300:], len(posts)))
check(f"killed at {MOMENTS} moments: all posts once, and their state",
      not wrong, wrong)
note(f"killed at {MOMENTS} moments: {dict(states)}")

# ---- Faults --------------------------------------------------------------------------

sim.own("forget", {})
sim.faults(
    {"match": {"path": "/api/*", "nth": 2}, "fault": {"status": 503}},
    {"match": {"path": "/api/*", "nth": 4}, "fault": {"body": "html"}},
    {"match": {"path": "/api/*", "nth": 6}, "fault": {"cut": 40}},
    {"match": {"path": "/api/*", "nth": 8}, "fault": {
        "status": 429, "reset": "none", "retry_after": "1"}})
code, out, err = harvest("mastodon_account", "faulty", "--seed", "bob")
sim.faults()
same("faults: exit code", code, 0)
same("faults: all items", out["items"], len(bob["posts"]))
check("faults: each was met", len(asked()) > 4, asked())

code, out, err = harvest("mastodon_account", "locked", "--seed", "ada",
                         host="private.example")
same("an instance that wants a token: exit code", code, 69)
same("an instance that wants a token: why", [n["code"] for n in out["notes"]
     if n["level"] == "error"], ["harvest_Unauthorized"])
code, out, err = harvest("mastodon_hashtag", "closed", "--seed", "cats",
                         host="closed.example")
same("a closed timeline: exit code", code, 69)
for name, kind, more, want in (
        ("no such type", "nothing", ["--seed", "a"], 65),
        ("no seed", "mastodon_account", [], 65),
        ("no such option", "mastodon_account", ["--seed", "a", "--option",
                                                "x=1"], 64),
        ("a stream", "mastodon_stream", [], 65)):
    code, out, err = harvest(kind, "refused", *more)
    same(f"{name}: exit code", code, want)
    check(f"{name}: one line says why", err.startswith("argiope: ") and
          err.count("\n") == 1, err)

# ---- Secrets ----------------------------------------------------------------------------

token = sim.world("private.example")["tokens"]["user"]
keys = credentials("private", instance="https://private.example",
                   access_token=token)
secret_data = os.path.join(PLACE, "secret")
code, out, err = harvest("mastodon_account", "secret/posts", "--seed", "ada",
                         host="private.example", keys=keys,
                         data="secret/data")
check("with a token it is a success", code == 0 and out["items"] > 0, out)
sim.faults(SLOW)
sim.own("forget", {})
child = start(words("mastodon_account", "secret/killed", "--seed", "ada",
                    host="private.example", keys=keys, data="secret/data"),
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
wait_until(lambda: statuses() >= 3, 20)
child.kill()
killed_out, killed_err = child.communicate()
sim.faults()


def forms(secret):
    """As it may stand in a file."""
    yield secret.encode()
    yield urllib.parse.quote(secret, safe="").encode()
    for lead in (b"", b"x", b"xx"):
        text = base64.b64encode(lead + secret.encode())
        yield text[4 if lead else 0:len(text) // 4 * 4 - 4]


def contents():
    for folder, _, names in os.walk(secret_data):
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
    yield "what was said", (err + killed_out + killed_err).encode()


found = [(path, form[:4]) for path, text in contents() for form in forms(token)
         if form in text]
same("no file has the token", found, [])
check("the search would find it", any(
    b"REDACTED" in text for path, text in contents()))
code, out, err = harvest(None, "secret/killed", "--resume",
                         host="private.example", data="secret/data")
check("the token survives a crash, sealed", code == 0 and out["items"] > 0,
      (code, out, err))

code, out, err = ours("credential", "put", "private", keys, "--data",
                      "secret/data")
same("a credential is kept by a name", (code, out, err), (0, "", ""))
code, out, err = ours("credential", "list", "--data", "secret/data")
check("... and listed without what is in it", code == 0 and "private" in out
      and token not in out, out)
code, out, err = run(program(), "harvest", "run", "mastodon_account",
                     *words(None, "secret/named", "--seed", "ada",
                            "--credential", "private",
                            host="private.example", data="secret/data")[3:])
check("a harvest takes it", code == 0 and json.loads(out)["items"] > 0, err)
found = [(path, form[:4]) for path, text in contents() for form in forms(token)
         if form in text]
same("no file has the token", found, [])
code, out, err = ours("credential", "delete", "private", "--data",
                      "secret/data")
same("it is deleted", code, 0)
code, out, err = ours("credential", "delete", "private", "--data",
                      "secret/data")
same("... once", code, 66)

# ---- Others' tools ------------------------------------------------------------------------

unknown = {x["path"] for x in sim.log() if not x["known"]}
same("it asked nothing that the simulator does not know", unknown, set())
python = python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
                     "setuptools<80")
if python is None:
    skip("warcio", "it cannot be installed from the package index")
    done()
every = [w for d in ("whole", "cats", "paused", "killed", "faulty",
                     "secret/posts") for w in warcs(d)]
code, out, err = run(python, "-m", "warcio.cli", "check", *every)
check("warcio check", code == 0, (out + err)[-500:])
done()
