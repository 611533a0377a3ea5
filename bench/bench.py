"""What the benches share: the programs, the server, the measuring, the report.

A bench prints one section of Markdown; with --into FILE it also takes the place
of that section in FILE, which is how RESULTS.md is made.  Folders that a run
needs are made in $ARGIOPE_BENCH (by default argiope-bench in the temporary
folder), outside of the repository, and emptied again.
"""
import argparse
import atexit
import datetime
import functools
import json
import os
import platform
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TICKS = os.sysconf("SC_CLK_TCK")
CPUS = sorted(os.sched_getaffinity(0))

# The order of the sections in RESULTS.md.
SECTIONS = ("crawl", "kill9", "kills", "polite", "frontier_fill",
            "start", "urlfrontier", "urlfrontier_large", "realtime", "items",
            "harvest", "external", "steps", "archives")


def say(text):
    print(text, file=sys.stderr, flush=True)


def stop(text):
    say(f"bench: {text}")
    sys.exit(69)


# ---- Folders and programs ----------------------------------------------------

def work_folder():
    path = os.environ.get("ARGIOPE_BENCH") or os.path.join(
        tempfile.gettempdir(), "argiope-bench")
    os.makedirs(path, exist_ok=True)
    os.environ["ARGIOPE_BENCH"] = path
    return path


def fresh(name, in_memory=False):
    """An empty folder of that name in the work folder, or in a tmpfs."""
    path = os.path.join(memory_folder() if in_memory else work_folder(), name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


@functools.lru_cache(None)
def memory_folder():
    """A folder in a tmpfs; it goes when the bench ends."""
    path = tempfile.mkdtemp(prefix="argiope-bench-", dir="/dev/shm")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def build_folder():
    return os.environ.get("ARGIOPE_BUILD") or os.path.join(ROOT, "build")


@functools.lru_cache(None)
def program():
    """argiope: $ARGIOPE, else what ./run builds."""
    path = os.environ.get("ARGIOPE")
    if not path:
        subprocess.run([os.path.join(ROOT, "run"), "version"], check=True,
                       stdout=subprocess.DEVNULL)
        for place in ("daemon", "cli", "."):
            path = os.path.join(build_folder(), place, "argiope")
            if os.access(path, os.X_OK):
                break
    if not os.access(path, os.X_OK):
        stop(f"{path} is no program; set ARGIOPE")
    return os.path.abspath(path)


@functools.lru_cache(None)
def tool(name, place="bench"):
    """A program of bench/, or of another folder, that makes load or measures it:
    beside $ARGIOPE, else of this tree as it is now."""
    folder = os.path.dirname(program())
    for beside in (f"{folder}/../{place}", f"{folder}/{place}", folder):
        path = os.path.abspath(os.path.join(beside, name))
        if os.environ.get("ARGIOPE") and os.access(path, os.X_OK):
            return path
    # Built once is not enough: it may be of an older commit.
    subprocess.run(["ninja", "-C", build_folder(), f"{place}/{name}"],
                   check=True, stdout=subprocess.DEVNULL)
    return os.path.join(build_folder(), place, name)


@functools.lru_cache(None)
def build_measured(name, place):
    """A program of another folder in which our own code is measured: it is of
    the same build as program()."""
    folder = os.path.dirname(os.path.dirname(program()))
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        stop(f"{program()} has no build folder, in which {name} is made")
    subprocess.run(["ninja", "-C", folder, f"{place}/{name}"], check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(folder, place, name)


def version():
    done = subprocess.run([program(), "version"], capture_output=True,
                          text=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short",
                             "HEAD"], capture_output=True, text=True)
    word = done.stdout.split()[1] if done.stdout.split()[1:] else "?"
    return f"{word} {commit.stdout.strip()}".strip()


# ---- What runs beside us ---------------------------------------------------------

children = []


def start(command, **more):
    """A child that is ended with us, whatever happens."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
    children.append(child)
    return child


def start_with_input(command):
    """The same with a pipe to it and one from it."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    children.append(child)
    return child


def end(child, seconds=5):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child in children:
        children.remove(child)


@atexit.register
def end_all():
    for child in list(children):
        end(child)


def be_interruptible():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))


class Site:
    """nginx with the sites, through server.sh."""

    def __init__(self, cpus=None):
        self.work = work_folder()
        script = os.path.join(HERE, "server.sh")
        done = subprocess.run([script, "start", self.work] +
                              ([cpus] if cpus else []),
                              capture_output=True, text=True)
        if done.returncode != 0:
            stop(done.stderr.strip())
        self.values = dict(line.split("=", 1)
                           for line in done.stdout.splitlines())
        with open(os.path.join(self.work, "nginx.pid")) as f:
            self.pid = int(f.read())
        atexit.register(lambda: subprocess.run([script, "stop", self.work]))

    def __getitem__(self, name):
        return self.values[name]

    def requests(self):
        """How many it has answered; asking is one of them."""
        url = self["SITE"] + "/-/status"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.read().split(b"\n")[2].split()[2])

    def cpu(self):
        return tree_cpu(self.pid)


def tree_cpu(pid):
    """User and system seconds of a process and its children."""
    total = 0
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        pids = [pid] + [int(p) for p in f.read().split()]
    for one in pids:
        with open(f"/proc/{one}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def family(pid):
    """A process and all that descend from it."""
    pids = [pid]
    for one in pids:
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children") as f:
                    pids += [int(p) for p in f.read().split()]
        except OSError:
            pass
    return pids


def family_cpu(pid):
    """User and system seconds of a process and all that descend from it, those
    that have ended and were waited for included."""
    total = 0
    for one in family(pid):
        try:
            with open(f"/proc/{one}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(n) for n in fields[11:15])
    return total / TICKS


def children_mb(pid):
    """Memory of a process's descendants, shared pages by their shares."""
    total = 0
    for one in family(pid)[1:]:
        try:
            with open(f"/proc/{one}/smaps_rollup") as f:
                total += int(re.search(r"Pss:\s*(\d+)", f.read())[1])
        except OSError:
            continue
    return total / 1024


def certificate(folder, names):
    """The paths of a new certificate for these names, and of its key."""
    paths = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-keyout", paths[1], "-out",
        paths[0], "-subj", "/CN=localhost", "-addext",
        f"subjectAltName={names}"], check=True, capture_output=True)
    return paths


def free_ports(n):
    """Ports of loopback that nobody has now."""
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def wait_for_port(port, seconds=10):
    """Until somebody listens there."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                stop(f"nobody listens on port {port}")
            time.sleep(0.05)


class Pages:
    """pages.c: many hosts with endless sites."""

    def __init__(self, hosts=1, size=1000, seconds=600, log=None):
        command = [tool("pages"), "--hosts", str(hosts), "--bytes", str(size),
                   "--seconds", str(seconds), "--port", "0"]
        if log:
            command += ["--log", log]
        self.child = start(command, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline().split()
        if line[:1] != ["port"]:
            stop("pages did not start")
        self.hosts, self.port = hosts, int(line[1])

    def urls(self, path):
        """One seed per host."""
        return [f"http://127.1.{i // 250}.{1 + i % 250}:{self.port}{path}"
                for i in range(self.hosts)]

    def end(self):
        end(self.child)
        self.child.stdout.close()


# ---- Measuring -------------------------------------------------------------------

def busy_seconds():
    """What all processors did since the start: user, nice, system, irq."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    return (v[0] + v[1] + v[2] + v[5] + v[6]) / TICKS


def wait_for_quiet(seconds_max):
    """Until the machine does less than an eighth of one processor; the waited
    seconds."""
    for waited in range(seconds_max):
        before = busy_seconds()
        time.sleep(1)
        if busy_seconds() - before < 0.125:
            return waited
    return seconds_max


def measure(command, seconds=120, cpus=None, log=None, env=None, out=None,
            beside=None):
    """Run it through measure.c; its figures.  What it prints goes to the file
    `out`, what it complains of to `log`; without `out` both to `log`.  `beside`
    is called in a thread meanwhile, with the process above the command."""
    path = os.path.join(work_folder(), "measured.json")
    full = [tool("measure"), "--seconds", str(seconds), "--out", path]
    if cpus:
        full += ["--cpus", cpus]
    with open(log or os.devnull, "w") as errors, \
            open(out or os.devnull, "w") as printed:
        child = start(full + command, stdout=printed if out else errors,
                      stderr=errors, env=dict(os.environ, **(env or {})))
        if beside:
            threading.Thread(target=beside, args=(child.pid,),
                             daemon=True).start()
        child.wait()
        end(child)
    with open(path) as f:
        figures = json.load(f)
    figures["cpu"] = figures["user"] + figures["system"]
    return figures


def disk_bytes(folder):
    """What the files below occupy."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def device_us(folder, n=200):
    """Median of an fdatasync behind 4 KiB, overwriting and appending."""
    path = os.path.join(folder, "device")
    medians = []
    block = os.urandom(4096)
    for append in (False, True):
        fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        if not append:
            os.write(fd, block * n)
            os.fsync(fd)
        took = []
        for i in range(n):
            began = time.monotonic()
            os.pwrite(fd, block, i * 4096)
            os.fdatasync(fd)
            took.append((time.monotonic() - began) * 1e6)
        os.close(fd)
        os.unlink(path)
        medians.append(statistics.median(took))
    return medians


def machine():
    """One line on the machine, for the head of a section."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as f:
        memory = int(f.readline().split()[1]) >> 20
    over, behind = device_us(work_folder())
    today = datetime.datetime.now(datetime.timezone.utc)
    return (f"{today:%Y-%m-%d}, Linux {platform.release()}, {len(CPUS)} cores "
            f"({model}), {memory} GiB; fdatasync {over:.0f} µs overwriting, "
            f"{behind:.0f} µs appending; argiope {version()}.")


# ---- The report ---------------------------------------------------------------------

def table(head, rows, left=1):
    """Markdown; the first `left` columns are text."""
    lines = ["| " + " | ".join(head) + " |",
             "|" + "---|" * left + "---:|" * (len(head) - left)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def judge(what, value, limit, at_most=True, form="{:.2f}"):
    """One line: a figure, what was wanted, and whether it was met."""
    met = value <= limit if at_most else value >= limit
    word = "at most" if at_most else "at least"
    by = "" if met or not limit else f" by {abs(value / limit - 1):.0%}"
    return (f"- {what}: {form.format(value)}, wanted {word} "
            f"{form.format(limit)}: {'met' if met else 'MISSED' + by}")


def options(doc, quick, **numbers):
    """The command line of a bench; its own numbers with their defaults."""
    p = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help=quick)
    p.add_argument("--into", metavar="FILE",
                   help="put the section into this file, too")
    p.add_argument("--raw", metavar="FILE",
                   help="append a line of JSON per measurement")
    for name, (value, text) in numbers.items():
        p.add_argument("--" + name.replace("_", "-"), default=value,
                       type=type(value) if value is not None else str,
                       metavar="X", help=f"{text} (default: {value})")
    return p


def note_raw(o, facts):
    if o.raw:
        with open(o.raw, "a") as f:
            f.write(json.dumps(facts) + "\n")


def publish(o, name, title, text):
    """Print the section, and put it in its place in --into."""
    section = f"<!-- {name} -->\n## {title}\n\n{text.strip()}\n"
    print(section)
    if not o.into:
        return
    old = ""
    if os.path.exists(o.into):
        with open(o.into) as f:
            old = f.read()
    parts = dict(re.findall(r"(?ms)^<!-- (\w+) -->\n(.*?)(?=^<!-- |\Z)", old))
    parts[name] = section.split("\n", 1)[1]
    body = "# Results\n\nMade by the programs of this folder; `DESIGN.md` " \
        "says how to repeat them.\n\n"
    # Sections that no bench makes follow, in their order.
    names = [n for n in SECTIONS if n in parts]
    names += [n for n in parts if n not in SECTIONS]
    body += "\n".join(f"<!-- {n} -->\n{parts[n].strip()}\n" for n in names)
    with open(o.into, "w") as f:
        f.write(body)


def median(values):
    values = list(values)
    return statistics.median(values) if values else float("nan")
