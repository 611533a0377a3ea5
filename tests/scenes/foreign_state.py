"""
What a data directory is put together from: log, index, archive and the rest,
each of some moment of some copy.  Random combinations from a seed; each either
works, or is refused with a message whose command brings back every reported
capture that the archive still holds.  No number stands for two URLs.

    foreign_state.py PROGRAM URL PAIRS SEED

Moments: a crawl killed, gone on with and killed again, closed, a second crawl;
from one of them a copy that lives a life of its own, its original away.
"""
import glob, gzip, json, os, random, re, shutil, signal, subprocess, sys, time

program, url, pairs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), \
    int(sys.argv[4])
PARTS = "log", "index", "archive", "rest"
HOME = os.path.abspath("d")
failures = 0


def say(good, what, detail=""):
    global failures
    failures += not good
    print(("ok " if good else "not ok ") + what)
    if not good and detail:
        print("".join("    " + line + "\n" for line in detail.splitlines()[:30]))
    sys.stdout.flush()


def run(*words, seconds=120):
    return subprocess.run([program, *words], capture_output=True, text=True,
                          timeout=seconds)


def reported(text):
    """(crawl, number, URL) of each capture that a crawl's --json told."""
    out, crawl = [], None
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        crawl = event.get("crawl", crawl)
        if event.get("event") == "item":
            out.append((crawl, event["seq"], event["url"]))
    return out


def crawl(words, kill_after=None):
    """Run a crawl; with kill_after, kill -9 behind so many captures."""
    with open("events", "w") as out:
        child = subprocess.Popen([program, "crawl", *words, "--json"],
                                 stdout=out, stderr=subprocess.PIPE)
        while kill_after is not None and child.poll() is None:
            with open("events") as seen:
                if seen.read().count('"event":"item"') >= kill_after:
                    child.send_signal(signal.SIGKILL)
                    break
            time.sleep(0.01)
        error = child.communicate()[1]
    with open("events") as seen:
        text = seen.read()
    code = child.returncode
    if code not in (0, -9):
        sys.exit(f"the crawl failed: {code} {error.decode()}")
    return set(reported(text))


def members(path):
    """(crawl, number, URL) of the whole members of a WARC file."""
    data = open(path, "rb").read()
    out, at = [], 0
    while at < len(data):
        got = gzip_member(data, at)
        if got is None:
            break
        text, at = got
        number = re.search(rb"^Argiope-Capture:([^\r\n]*)", text, re.M | re.I)
        uri = re.search(rb"^WARC-Target-URI: *([^\r\n]*)", text, re.M | re.I)
        out.append((text, number, uri))
    return out


def gzip_member(data, at):
    import zlib
    d = zlib.decompressobj(31)
    try:
        text = d.decompress(data[at:])
    except zlib.error:
        return None
    return (text, len(data) - len(d.unused_data)) if d.eof else None


def archived(data):
    """What the archive tells of captures: crawl, number -> set of URLs."""
    return archived_twice(data)[0]


def archived_twice(data):
    """... and what is there twice: a number, or a crawl's URL."""
    got = run("archive", "reindex", "--json", "--data", data)
    out, twice, urls = {}, [], set()
    for line in got.stdout.splitlines():
        e = json.loads(line)
        key, url = (e["crawl"], e["seq"]), (e["crawl"], e["url"])
        if key in out or url in urls:
            twice.append((key, e["url"]))
        out.setdefault(key, set()).add(e["url"])
        urls.add(url)
    return out, twice


def archived_anywhere(data):
    """As archived(), of .open files too; of a copy, since they get names."""
    shutil.rmtree("look", ignore_errors=True)
    os.makedirs("look/archive")
    for path in glob.glob(data + "/archive/**/*.warc.gz*", recursive=True) + \
            glob.glob(data + "/archive/.argiope/crawl-*/*.warc.gz.open"):
        if "quarantine" in path or path.endswith(".cdxj"):
            continue
        name = os.path.basename(path).removesuffix(".open")
        shutil.copy(path, "look/archive/" + name)
    return archived("look")


# --- moments -----------------------------------------------------------------

class Moment:
    def __init__(self, name, line, told):
        self.name, self.line, self.told = name, line, set(told)
        self.path = os.path.abspath("moment-" + name)
        shutil.copytree(HOME, self.path, symlinks=True)


def make_moments():
    moments, told = [], set()

    def keep(name, line):
        moments.append(Moment(name, line, told))

    base = ["--data", HOME]
    told |= crawl([url, *base, "--name", "one"], 12)
    keep("a1", "A")
    told |= crawl(["--resume", *base], 12)
    keep("a2", "A")
    told |= crawl(["--resume", *base])
    keep("a3", "A")
    # From here the copy lives its own life, the original put away.
    told_b = set(told)
    shutil.copytree(HOME, "other")
    told |= crawl([url + "page/1", *base, "--name", "two"], 8)
    keep("a4", "A")
    told |= crawl(["--resume", *base])
    keep("a5", "A")
    shutil.rmtree(HOME)
    os.rename("other", HOME)
    told = told_b
    told |= crawl([url + "page/9", *base, "--name", "three"], 8)
    keep("b4", "B")
    told |= crawl(["--resume", *base])
    keep("b5", "B")
    shutil.rmtree(HOME)
    return moments


# --- pairs -------------------------------------------------------------------

def put_together(parts):
    shutil.rmtree(HOME, ignore_errors=True)
    os.mkdir(HOME)
    for part, moment in parts.items():
        if part != "rest":
            shutil.copytree(f"{moment.path}/{part}", f"{HOME}/{part}")
            continue
        for name in os.listdir(moment.path):
            if name not in PARTS:
                shutil.copy(f"{moment.path}/{name}", f"{HOME}/{name}")


def command_of(text):
    found = re.search(r"`argiope ([^`]*)`", text)
    return found and found.group(1).split()


def look(parts, name):
    put_together(parts)
    sound = len({m.name for m in parts.values()}) == 1
    held = archived_anywhere(HOME)
    told = {}
    for m in [parts["archive"]]:
        for c, seq, u in m.told:
            if u in held.get((c, seq), ()):
                told[c, seq] = u
    before = dict(told)
    got = run("crawl", "--resume", "--data", HOME, "--json")
    # 66, 69: nothing is left to go on with.
    verdict = "works"
    if got.returncode == 70:
        verdict = "refused"
        words = command_of(got.stderr)
        if not words or "reindex" not in words or "--rebuild" not in words:
            return say(False, f"{name}: the message names the command",
                       got.stderr)
        again = run(*words)
        if again.returncode not in (0, 65):
            return say(False, f"{name}: the command works",
                       got.stderr + again.stdout + again.stderr)
        more = run("crawl", "--resume", "--data", HOME, "--json")
        if more.returncode not in (0, 66, 69):
            return say(False, f"{name}: then it goes on",
                       got.stderr + again.stderr + more.stderr)
        got = more
    elif got.returncode not in (0, 66, 69):
        return say(False, f"{name}: exit code {got.returncode}", got.stderr)
    if sound and verdict != "works":
        return say(False, f"{name}: a sound directory is refused", got.stderr)
    after, twice = archived_twice(HOME)
    for c, seq, u in reported(got.stdout):
        if (c, seq) in before and before[c, seq] != u:
            twice.append((c, seq))
    # The data directory's knowledge, not only the files.
    status = run("status", "--data", HOME, "--json")
    lost = [k for k, u in before.items() if u not in after.get(k, ())]
    known = {(c["id"], c["counts"]["items"])
             for c in json.loads(status.stdout)["crawls"]} \
        if status.returncode == 0 else set()
    detail = f"parts {sorted((p, m.name) for p, m in parts.items())}\n" \
        f"{verdict}: lost {lost[:5]} twice {twice[:5]} status {known}\n" + \
        got.stderr
    counted = {}
    for c, seq in after:
        counted[c] = counted.get(c, 0) + 1
    short = [c for c, n in counted.items()
             if dict(known).get(c, 0) < n]
    say(not lost and not twice and not short and status.returncode == 0,
        f"{name}: {verdict}", detail + f" short {short}")
    return verdict


def main():
    print(f"# seed {seed}")
    rng = random.Random(seed)
    moments = make_moments()
    counts = {}
    for m in moments:
        v = look({p: m for p in PARTS}, f"all of {m.name}")
        counts[v] = counts.get(v, 0) + 1
    for i in range(pairs):
        # One or two of the parts are of another moment.
        base, other = rng.sample(moments, 2)
        parts = {p: base for p in PARTS}
        for p in rng.sample(PARTS, rng.choice((1, 1, 2))):
            parts[p] = other
        name = " ".join(f"{p}={parts[p].name}" for p in PARTS)
        v = look(parts, f"{i + 1}: {name}")
        counts[v] = counts.get(v, 0) + 1
    print("#", counts)
    sys.exit(failures > 0)


main()
