"""What the scripts of this folder share: servers, crawls, checks, a cache.

A script runs in a folder of its own with $ARGIOPE naming the program.  What it
started is ended, by its id, when it ends.  Loopback only.
"""
import atexit
import glob
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("ARGIOPE_SOURCE",
                        os.path.dirname(os.path.dirname(HERE)))
PLACE = os.getcwd()
POSTGRESQL = next(iter(sorted(glob.glob(
    "/usr/share/doc/postgresql-doc-*/html"))),
    "/usr/share/doc/postgresql-doc-15/html")
CPPREFERENCE = "/usr/share/cppreference/doc/html"

os.environ["LC_ALL"] = "C"
os.environ["PATH"] += ":/usr/sbin:/sbin"
for name in ("XDG_DATA_HOME", "STATE_DIRECTORY"):
    os.environ.pop(name, None)


def suite(name):
    """The path of a file of conformance data; see tests/suite.h."""
    if "ARGIOPE_SUITES" in os.environ:
        return os.path.join(os.environ["ARGIOPE_SUITES"], name)
    places = [os.path.join(SOURCE, "tests", "suites", name),
              os.path.join(SOURCE, "..", "shared", "suites", name)]
    return next(filter(os.path.exists, places), places[-1])


children = []
failures = []
lock = threading.RLock()
ports_given = set()


# ---- Results, from any thread --------------------------------------------------

def check(name, fine, why=""):
    """One line; `why` explains a failure, a list is shown by its first."""
    if isinstance(why, (list, tuple, set)):
        some = sorted(map(str, why))
        why = f"{len(some)}: " + ", ".join(some[:5])
    why = " ".join(str(why).split())[:600]
    with lock:
        if fine:
            print(f"ok {name}", flush=True)
        else:
            failures.append(name)
            print(f"not ok {name}" + (f" - {why}" if why else ""), flush=True)
    return bool(fine)


def same(name, got, want):
    return check(name, got == want, f"{got!r} is not {want!r}")


def skip(name, why):
    print(f"skip {name} - {why}", flush=True)


def note(text):
    print(f"# {text}", flush=True)


def done():
    sys.exit(1 if failures else 0)


def program():
    """What is tested."""
    found = os.environ.get("ARGIOPE") or (sys.argv + [""])[1]
    if not os.access(found, os.X_OK):
        sys.exit("ARGIOPE must name the program")
    return os.path.abspath(found)


def program_under_asan():
    """That of ARGIOPE_ASAN, or of build-asan when it is not older than ours."""
    found = os.environ.get("ARGIOPE_ASAN")
    if not found:
        found = os.path.join(SOURCE, "build-asan", "daemon", "argiope")
        if not os.path.exists(found) or \
                os.path.getmtime(found) < os.path.getmtime(program()):
            return None
    return found if os.access(found, os.X_OK) else None


def built(path):
    """A program of the build folder, ARGIOPE_BUILD or the one above it."""
    place = os.environ.get("ARGIOPE_BUILD", os.path.dirname(program()))
    found = [os.path.join(p, path) for p in (place, os.path.dirname(place))]
    return next((f for f in found if os.path.exists(f)), found[0])


def need(name, *programs, files=()):
    """Without these the script has nothing to say: skipped by name."""
    for p in programs:
        if shutil.which(p) is None:
            skip(name, f"{p} is not installed")
            sys.exit(0)
    for f in files:
        if not os.path.exists(f):
            skip(name, f"{f} is not there")
            sys.exit(0)


# ---- Processes ---------------------------------------------------------------

def start(command, **more):
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
    children.append(child)
    return child


def end(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(3)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@atexit.register
def end_all():
    for child in reversed(children):
        end(child)


signal.signal(signal.SIGTERM, lambda *a: sys.exit(143))


def wait_until(test, seconds=10.0, step=0.05):
    """
    Call test() until it returns something true, for at most `seconds`; return
    its last result.  The pause between calls grows from `step` to three times
    that: most calls are requests to a daemon, and several scripts run at once.
    """
    until, longest = time.monotonic() + seconds, 3 * step
    while time.monotonic() < until:
        found = test()
        if found:
            return found
        time.sleep(step)
        step = min(1.2 * step, longest)
    return test()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fixed_port():
    """
    One that no client's end gets by chance, so that a server can come back; each
    once.
    """
    while True:
        port = random.randrange(15000, 32000)
        if port in ports_given:
            continue
        ports_given.add(port)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def certificate(name="tls", host="localhost"):
    """(certificate, key) of a host that nobody signed; wants openssl."""
    crt, key = (os.path.join(PLACE, name + end) for end in (".crt", ".key"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", crt,
         "-days", "2", "-subj", "/CN=" + host, "-addext",
         "subjectAltName=DNS:" + host], check=True, capture_output=True)
    return crt, key


# ---- A good web server -------------------------------------------------------

NGINX = """
{user}daemon off;
master_process off;
pid {place}/pid;
error_log {place}/error.log warn;
events {{ worker_connections 1024; }}
http {{
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  log_format uris '$status $request_method $request_uri $http_user_agent';
  access_log {place}/access.log uris;
  keepalive_requests 1000000;
  client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;
  fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4;
  scgi_temp_path {place}/t5;
  server {{
    listen 127.0.0.1:{port}{ssl};
    root {root};
    absolute_redirect off;
    {more}
  }}
}}
"""


class Nginx:
    def __init__(self, name, root, more="", tls=False, host="localhost"):
        self.place = os.path.join(PLACE, name)
        self.port = free_port()
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/"
        self.log = os.path.join(self.place, "access.log")
        os.makedirs(self.place)
        if tls:
            crt, key = certificate(self.place + "/tls", host)
            more += f"ssl_certificate {crt}; ssl_certificate_key {key};"
        conf = os.path.join(self.place, "nginx.conf")
        with open(conf, "w") as f:
            f.write(NGINX.format(
                place=self.place, port=self.port, root=root, more=more,
                ssl=" ssl" if tls else "",
                user="user root;\n" if os.geteuid() == 0 else ""))
        self.child = start(["nginx", "-p", self.place, "-c", conf],
                           stderr=subprocess.DEVNULL)
        if not wait_until(lambda: listens(self.port)):
            sys.exit(f"nginx does not start: {open(conf).read()}")

    def requests(self, agent=""):
        """[(status, URI)] since the last clear()."""
        with open(self.log, errors="replace") as f:
            lines = [line.split(" ", 3) for line in f]
        return [(int(x[0]), x[2]) for x in lines if agent in x[3]]

    def fetched(self):
        """The URIs that were answered with 200, but for robots.txt."""
        return {uri for status, uri in self.requests()
                if status == 200 and uri != "/robots.txt"}

    def clear(self):
        open(self.log, "w").close()


# ---- Ours ----------------------------------------------------------------------

class Crawl:
    """A finished `argiope crawl --json`: its code, events, costs."""

    def __init__(self, args, data, seconds=60, env=None, resume=False,
                 executable=None):
        self.data = os.path.join(PLACE, data)
        told = os.path.join(PLACE, data.replace("/", "-") +
                            ("-resumed" if resume else ""))
        self.out, self.err = told + ".events", told + ".stderr"
        command = [executable or program(), "crawl", "--json", "--data",
                   self.data] + (["--resume"] if resume else []) + list(args)
        self.began = time.monotonic()
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.child = start(command, stdout=out, stderr=err,
                               env=dict(os.environ, **(env or {})))
        self.seconds_max = seconds
        self.code = self.rss_kib = None

    def runs(self):
        """Without taking its end, which wait() wants to see."""
        return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG |
                         os.WNOWAIT) is None

    def wait(self):
        """Its own end, or ours by force; the peak memory is the kernel's."""
        until = self.began + self.seconds_max
        self.killed = False
        while True:
            pid, status, use = os.wait4(self.child.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() > until:
                self.killed = True
                self.child.send_signal(signal.SIGKILL)
                until = time.monotonic() + 10
            time.sleep(0.02)
        self.seconds = time.monotonic() - self.began
        self.code = self.child.returncode = os.waitstatus_to_exitcode(status)
        self.rss_kib = use.ru_maxrss
        return self

    def events(self, kind=None):
        """All events, or those of one kind; a line cut by a kill is left."""
        found = []
        with open(self.out, errors="replace") as f:
            for line in f:
                if line.endswith("\n"):
                    found.append(json.loads(line))
        return [e for e in found if kind in (None, e["event"])]

    def last(self):
        events = self.events()
        return events[-1] if events else {}

    def urls(self):
        return {e["url"] for e in self.events("item")}

    def said(self):
        return open(self.err, errors="replace").read()

    def warcs(self):
        return sorted(glob.glob(self.data + "/archive/**/*.warc.gz",
                                recursive=True))


def crawl(args, data, **more):
    return Crawl(args, data, **more).wait()


def run(*command, seconds=60, **more):
    """(code, standard output, standard error) of a command."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", capture_output=True,
                              timeout=seconds, **more)
    except subprocess.TimeoutExpired as e:
        return -9, (e.stdout or b"").decode(errors="replace"), \
            f"ended after {seconds} s"
    return done.returncode, done.stdout, done.stderr


def ours(*args, **more):
    return run(program(), *args, **more)


def archive_is_sound(name, data):
    code, out, err = ours("archive", "check", "--strict", "--data", data)
    return check(name, code == 0, f"exit code {code}: {out[-400:]} {err}")


def rows(data, everything=False):
    """The records of its archive, as `archive ls --json` tells them."""
    code, out, err = ours("archive", "ls", "--json", "--data", data,
                          *(["--all"] if everything else []))
    return [json.loads(line) for line in out.splitlines()]


# ---- Other people's tools, kept between runs -----------------------------------

# A registry that cannot be reached is told soon: the script skips itself.
INSTALL_SECONDS_MAX = 60
NPM = ["--silent", "--fetch-retries=2", "--fetch-retry-mintimeout=1000",
       "--fetch-retry-maxtimeout=5000", "--fetch-timeout=20000"]


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(
        os.environ.get("HOME") or "/tmp", ".cache")
    place = os.path.join(home, "argiope", "peers")
    os.makedirs(place, exist_ok=True)
    return place


def kept(name, build):
    """A folder of that name in the cache; `build(folder)` makes it once."""
    place = os.path.join(cache(), name)
    if not os.path.isdir(place):
        fresh = f"{place}.{os.getpid()}"
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
        try:
            build(fresh)
            os.rename(fresh, place)
        except (OSError, subprocess.SubprocessError) as e:
            note(f"{name}: {e} {getattr(e, 'stderr', '') or ''}"[:500])
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return place if os.path.isdir(place) else None


# A program that runs for a moment is compiled without optimizations, which
# takes a third less.
GO_FLAGS = ("-gcflags=all=-N -l",)


def go_environment(**more):
    """
    For the go tool.  All programs share what was downloaded and compiled, also
    before a build's time was up.
    """
    work = cache() + "/go"
    return dict(os.environ, GOPATH=work + "/path", GOCACHE=work + "/built",
                GOFLAGS="-mod=mod -modcacherw", **more)


def python_with(name, *packages):
    """A python that has these packages of the package index, or None."""
    def build(place):
        # Nothing in it may name the folder that it is built in.
        subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                        "--disable-pip-version-check", "--retries", "2",
                        "--timeout", "10", "--target", place + "/site"] +
                       list(packages), check=True, capture_output=True,
                       text=True, timeout=INSTALL_SECONDS_MAX)

    place = kept("python-" + name, build)
    if place is None:
        return None
    os.environ["PYTHONPATH"] = place + "/site"
    return sys.executable


def node_with(name, *packages):
    """A folder with these packages in node_modules, or None."""
    if shutil.which("npm") is None:
        return None

    def build(place):
        with open(place + "/package.json", "w") as f:
            f.write('{"private": true}\n')
        subprocess.run(["npm", "install", "--no-audit", "--no-fund",
                        "--ignore-scripts"] + NPM + list(packages),
                       cwd=place, check=True, capture_output=True, text=True,
                       timeout=INSTALL_SECONDS_MAX)

    return kept("node-" + name, build)


def npm_package(name, version):
    """The folder of one package as it was published, or None."""
    if shutil.which("npm") is None:
        return None

    def build(place):
        subprocess.run(["npm", "pack"] + NPM + [f"{name}@{version}"],
                       cwd=place, check=True, capture_output=True, text=True,
                       timeout=INSTALL_SECONDS_MAX)
        for packed in glob.glob(place + "/*.tgz"):
            subprocess.run(["tar", "-C", place, "-xzf", packed], check=True)
            os.unlink(packed)

    place = kept(f"npm-{name}-{version}", build)
    return place and place + "/package"


def grpc_js():
    """A folder of modules with @grpc/grpc-js, or None."""
    packages = {"@grpc/grpc-js": "1.12.6",
                "@js-sdsl/ordered-map": "4.4.2"}
    modules = PLACE + "/node_modules/"
    for name, version in packages.items():
        place = npm_package(name, version)
        if place is None:
            return None
        os.makedirs(os.path.dirname(modules + name), exist_ok=True)
        os.symlink(place, modules + name)
    # What it wants for reflection and channelz only.
    os.makedirs(modules + "@grpc/proto-loader", exist_ok=True)
    with open(modules + "@grpc/proto-loader/index.js", "w") as f:
        f.write("")
    return modules


# ---- A site, and faults ----------------------------------------------------------

def small_site(place, pages, words=60):
    """Pages that link to seven others each; the names of all of them."""
    os.makedirs(place)
    for i in range(pages):
        with open(f"{place}/{i}.html", "w") as f:
            f.write(f"<title>page {i}</title>" + "".join(
                f"<a href={(i * 5 + k) % pages}.html>{k}</a> "
                for k in range(1, 8)) + f"page {i} tells " * words)
    return [f"{i}.html" for i in range(pages)]


def faults():
    """The library of faults.c, or None where there is no compiler."""
    library = os.path.join(PLACE, "faults.so")
    code, _, err = run("cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-O1",
                       "-Wall", "-o", library, HERE + "/faults.c", "-ldl")
    if code != 0:
        note(err[:500])
    return library if code == 0 else None


def captures(data):
    """{sequence: [URL]} of an archive, and the URLs in order."""
    found = {}
    for r in rows(data):
        if r.get("seq") and r.get("hop", 0) == 0:
            found.setdefault(r["seq"], []).append(r["requested_url"])
    return found


def lost(reported, stored):
    """What was reported and is not in the archive exactly once, as it was."""
    return [(s, u, stored.get(s)) for s, u in reported.items()
            if stored.get(s) != [u]]
