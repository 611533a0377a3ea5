"""The runner behind ./test: jobs, their results, and one last line.

A job is a build or one test program, script or fuzz target.  Builds come one
after the other; each brings the jobs of what it built, and the next goes on at
a low priority beside them: a core that tests leave idle compiles.  Every single
check counts, so a cmocka program with ten tests adds ten; the output of what
failed is shown when it ends.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import glob
import json
import os
import random
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPUS = len(os.sched_getaffinity(0))
# No job begins after this.  Two quiet cores need half of it.
SECONDS_MAX = 60 * 60
FUZZ_WALL_SECONDS = 40
SCRIPT_SECONDS_MAX = 900        # with what a script builds the first time
TAIL_LINES = 60
# How often it is told what is under way while nothing ends.
NEWS_SECONDS = 30
# The summary lists this many of the most expensive jobs.
DEAREST_N = 20

# How many of a kind run at once.  Scripts wait for four fifths of their time.
AT_ONCE = {"build": 1, "program": CPUS, "script": CPUS + 2}
# The idle share of a second from which on one more job may run, and how many more
# there may be.  After a second with hardly any idle time it is one fewer.
IDLE_PART_MIN = 0.15
MORE_MAX = 4
# What failed there is run once more when nothing else runs, unless it is much:
# a machine that was too busy for a test is told, and is no fault.
# Not what a sanitizer has reported: a race seldom shows itself twice.
REPORTED = re.compile("Sanitizer|runtime error:")
# A test that ends by a failed assertion leaks what it had.
LEAKED = re.compile(r"ERROR: LeakSanitizer.*?SUMMARY: [^\n]* leaked", re.S)
AGAIN = ("unit", "scenes", "peers", "asan", "tsan")
AGAIN_MAX = 16
# Tests write into a tmpfs that has so much room.
MEMORY_FOLDER_BYTES = 6 << 30
# What takes long begins first: seconds on two quiet cores, where it is many.
LONG = {"harvest_batch": 130, "harvest_stream": 100, "harvest_jetstream": 50,
        "harvest_jetstream_real": 40,
        "harvest_door": 120, "console": 200, "console_items": 120,
        "broker": 95, "urlfrontier_java": 90, "ledger": 60, "sim": 30,
        "urlfrontier_streams": 50, "urlfrontier_cluster": 40,
        "urlfrontier": 40, "realtime_kills": 35, "grpc_clients": 40,
        "harvest_roots": 90, "harvest_kills": 90, "harvest_bluesky": 80,
        "console_more": 80, "doors": 60, "script_limits": 60,
        "script_hostile": 50, "harvest": 40, "harvest_web": 40,
        "console_harvests": 70, "console_external": 90,
        "harvest_broker": 60, "harvest_canaries": 40,
        "harvest_addresses": 30, "urlfrontier_cancel": 30,
        "realtime_flow": 30, "store_verbs": 28, "urlfrontier_node": 27,
        "urlfrontier_power": 25, "change": 24, "urlfrontier_forward": 23,
        "items_event_stream": 26, "stream_engine": 20, "crawl_control": 20}
# Whole crawls that sanitizers see: threads, memory, recovery.
WATCHED = ("crawl_small", "crawl_resume", "crawl_seeds")
# Scripts that set the program under ASan before bad clients and servers.
WATCHERS = ("hostile", "urlfrontier_hostile")
# Those whose "conformance:" lines are shown at the end.
COUNTED = ("unit", "scenes", "peers")
TIDY = ("tidy", "planted faults")

Result = collections.namedtuple("Result", "stage name state")

# Something to run: run.finish() tells what came of it, and the action returns
# the jobs that can be done now.
Job = collections.namedtuple("Job", "stage name kind action")


def has_report(text):
    """Of a sanitizer, about more than a failed assertion."""
    if "[  FAILED  ]" in text:
        text = LEAKED.sub("", text)
    return REPORTED.search(text)


class Run:
    """What was asked for, and what came of it.  Jobs report from threads."""

    def __init__(self, options):
        self.options = options
        self.stages = stages_for(self)
        self.results = []
        self.jobs = []            # (job, seconds, CPU seconds) of what ended
        self.again = []           # (job, its results) of what failed
        self.alone = False        # nothing else runs
        self.passed_alone = []    # jobs, at their second try
        self.counts = []          # of other people's cases
        self.known = self.ended = 0             # jobs
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.builds = os.environ.get("ARGIOPE_BUILDS", ROOT)
        self.postgresql = None    # the folder of a cluster to copy

    def finish(self, job, fine, checks, seconds=0.0, text="", more=""):
        """
        `checks`: [(state, name, reason)] that it told, a state being "pass",
        "fail" or "skip"; a job that told none is one itself, and so is one that
        failed without a check that did.  `text`: all that it said.
        """
        states = [state for state, _, _ in checks]
        if not states or not (fine or "fail" in states):
            states.append("pass" if fine else "fail")
            checks = checks + [(states[-1], job.name, "")]
        lines = []
        for state, name, reason in checks:
            if state != "pass" or self.options.verbose:
                word = {"pass": "ok", "fail": "NOT OK", "skip": "skip"}[state]
                lines.append(f"          {word:6} {job.stage}/{name}")
                lines += [f"                 {reason}"] if reason else []
        if "fail" in states:
            said = text.rstrip().splitlines()
            if len(said) > TAIL_LINES:
                lines.append(f"      | ... {len(said) - TAIL_LINES} lines more")
            lines += ["      | " + line for line in said[-TAIL_LINES:]]
        word = "NOT OK" if "fail" in states else \
            "skip" if set(states) == {"skip"} else "ok"
        results = [Result(job.stage, name, state) for state, name, _ in checks]
        with self.lock:
            self.ended += 1
            self.jobs.append((job, seconds, used.cpu))
            if word == "NOT OK" and job.stage in AGAIN and \
                    job.kind != "build" and not has_report(text) and \
                    not self.alone:
                self.again.append((job, results))
            else:
                self.results += results
            self.counts += re.findall(r"^conformance: (.*)$", text, re.M) \
                if job.stage in COUNTED else []
            lines.append(f"{self.ended:4}/{self.known:<4} {word:6} {job.stage}/"
                         f"{job.name}  {seconds:.1f} s, {used.cpu:.1f} of CPU" +
                         more)
            print("\n".join(lines), flush=True)

    def note(self, text):
        with self.lock:
            print(" " * 10 + text, flush=True)

    def left(self):
        return SECONDS_MAX - (time.monotonic() - self.began)

    def folder(self, name):
        return os.path.join(self.builds, name)

    def wants(self, stage, name):
        """Is this test of that stage among what the caller named?"""
        if not self.options.names:
            return not (self.options.quick and name in NOT_QUICK)
        for pattern in self.options.names:
            if pattern == stage or \
                    fnmatch.fnmatchcase(f"{stage}/{name}", pattern) or \
                    fnmatch.fnmatchcase(name, pattern):
                return True
        return False

    def has(self, stage):
        return stage in self.stages


alive = set()                     # the sessions of what runs
used = threading.local()          # used.cpu: seconds of the thread's job
used.cpu = 0.0


def output_of(command, timeout, cwd=ROOT, env=None, apart=False):
    """
    Run in a session of its own; whatever it leaves behind is ended.  Returns
    (exit code, output, seconds); `apart`: standard error comes last.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, cwd=cwd, env=dict(os.environ, **(env or {})),
            stdin=subprocess.DEVNULL, stdout=out,
            stderr=err if apart else out, start_new_session=True)
        alive.add(child.pid)
        code, late = ended(child, timeout)
        alive.discard(child.pid)
        said = ""
        for f in (out, err):
            f.seek(0)
            said += f.read().decode(errors="replace")
    return code, said + late, time.monotonic() - began


def ended(child, timeout):
    """Wait, end what is left of the session, and count what it has used."""
    fd = os.pidfd_open(child.pid)
    in_time = select.select([fd], [], [], max(1, timeout))[0]
    os.close(fd)
    # The number is not another's before wait4().
    end_group(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    used.cpu += usage.ru_utime + usage.ru_stime
    return (child.returncode, "") if in_time else \
        (-1, f"\n(ended after {timeout:.0f} s)\n")


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- Building --------------------------------------------------------------

@functools.lru_cache
def private_libraries():
    """What tools/deps.sh has built: a build folder belongs to one set."""
    prefix = subprocess.run([f"{ROOT}/tools/deps.sh", "--prefix"], text=True,
                            capture_output=True, check=True).stdout.strip()
    stamp = os.path.join(prefix, "stamp")
    return open(stamp).read() if os.path.exists(stamp) else ""


def quick_tools():
    """
    For all that is built here, by scripts too.  Some hundred programs are
    linked, which LLD does in a fifth of the time of Binutils.  Scripts build
    the program anew, in other folders: a compiler cache knows the objects.
    """
    if shutil.which("ld.lld"):
        os.environ.setdefault("CC_LD", "lld")
    if shutil.which("ccache"):
        place = subprocess.run(["ccache", "--get-config", "cache_dir"],
                               text=True, capture_output=True).stdout.strip()
        # Scenes set LC_ALL, which is of no concern to objects.
        os.environ.update(CCACHE_DIR=place, CCACHE_BASEDIR=ROOT,
                          CCACHE_NOHASHDIR="1", CCACHE_DEPEND="1",
                          CCACHE_SLOPPINESS="locale")


def named(compiler):
    """CC of a build.  Meson itself sees a cache for its default compiler."""
    cache = ["ccache"] if shutil.which("ccache") else []
    return {"CC": shlex.join(cache + [compiler])} if compiler else {}


def configure(run, job, folder, options, compiler=None):
    """A build folder with these options; a failure ends the job."""
    path = run.folder(folder)
    env = named(compiler)
    # Ninja does not see a folder that came or went; the list of them does.
    folders = sorted(f for depth in ("*", "*/*")
                     for f in glob.glob(f"{ROOT}/{depth}/meson.build"))
    want = json.dumps([options, env, os.environ.get("CC_LD"),
                       shutil.which("ccache"), private_libraries(), folders])
    note = os.path.join(path, ".options")
    have = open(note).read() if os.path.exists(note) else None
    command = ["ninja", "-C", path, "build.ninja"]
    if have != want:
        if os.path.isdir(os.path.join(path, "meson-private")):
            shutil.rmtree(path)
        command = ["meson", "setup", path, ROOT] + options
    code, text, seconds = output_of(command, 300, env=env)
    if code != 0:
        run.finish(job, False, [], seconds, text)
        return False
    with open(note, "w") as f:
        f.write(want)
    return True


def build(run, job, folder, options, targets=(), compiler=None):
    """Configure and build; True when it is there."""
    path = run.folder(folder)
    began = time.monotonic()
    if not configure(run, job, folder, options, compiler):
        return False
    # The tests beside it come first.
    code, text, _ = output_of(
        ["nice", "ninja", "-C", path, "-j", str(CPUS)] + list(targets),
        run.left(), env=named(compiler))
    run.finish(job, code == 0, [], time.monotonic() - began,
               failures_of(text))
    return code == 0


def failures_of(text):
    """Of ninja's output what tells the reader something."""
    at = text.find("FAILED:")
    return text[at:] if at >= 0 else text


def targets_of(path, kind="executable"):
    """The names of that kind, as ninja knows them."""
    code, text, _ = output_of(["meson", "introspect", path, "--targets"], 60)
    return sorted(os.path.relpath(f, path) for t in json.loads(text)
                  if t["type"] == kind for f in t["filename"]) \
        if code == 0 else []


def program_of(path):
    """The program in a build folder, or None where the tree has none."""
    for place in ("argiope", "daemon/argiope", "cli/argiope"):
        if os.access(os.path.join(path, place), os.X_OK):
            return os.path.join(path, place)
    return None


# ---- Unit tests -------------------------------------------------------------

CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.M)
SKIPPED = 77                    # a program's exit code


def tests_of(path):
    """Meson's tests in a build folder."""
    code, text, _ = output_of(["meson", "introspect", path, "--tests"], 60)
    return json.loads(text) if code == 0 else []


def suites_of(test):
    return [s.split(":")[-1] for s in test["suite"]]


@functools.lru_cache(None)
def own_tmp():
    """
    The command prefix that gives a test program a tmpfs of its own at /tmp, so
    that it does not wait for a disk; [] if that cannot be mounted, or if the
    builds are below /tmp.
    """
    place = memory_folder(False)
    builds = os.environ.get("ARGIOPE_BUILDS", ROOT)
    if place is None or any(os.path.realpath(f).startswith("/tmp/")
                            for f in (ROOT, builds)):
        return []
    wrap = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"', "sh"]
    works = shutil.which("unshare") and subprocess.run(
        wrap + ["true"], capture_output=True).returncode == 0
    return wrap if works else []


def unit_test(run, job, path, test, patience, wrap, env):
    """One test program, as `meson test` runs it; its cmocka tests count."""
    command = test["cmd"]
    if run.options.quick and job.name in QUICK_ARGS:
        command = command[:1] + QUICK_ARGS[job.name]
    code, text, seconds = output_of(
        own_tmp() + list(wrap) + command, test["timeout"] * patience,
        cwd=test["workdir"] or path, apart=True,
        env={"ARGIOPE_SOURCE": ROOT, **test["env"], **(env or {}),
             "ARGIOPE_POSTGRESQL_KEPT": run.postgresql,
             **({"TMPDIR": "/tmp"} if own_tmp() else {}),
             "MALLOC_PERTURB_": str(random.randint(1, 255))})
    states = {}
    for word, name in CMOCKA.findall(text):
        if states.get(name) != "fail":
            states[name] = {"OK": "pass", "FAILED": "fail",
                            "SKIPPED": "skip"}[word]
    checks = [(state, f"{job.name}.{name}",
               reason_of(text, name) if state == "skip" else "")
              for name, state in states.items()]
    if code == SKIPPED:
        checks.append(("skip", job.name, text.strip().split("\n")[-1]))
    run.finish(job, code in (0, SKIPPED), checks, seconds,
               text + (f"\n(exit code {code})" if code else ""))


def reason_of(text, test):
    """What a test said before it skipped itself."""
    at = text.find(f"[ RUN      ] {test}\n")
    end = text.find(f"[  SKIPPED ] {test}")
    said = text[at:end].splitlines()[1:] if 0 <= at < end else []
    return said[-1] if said else ""


def unit_jobs(run, stage, folder, patience, wrap=(), env=None, suite=None):
    """`patience`: by how much what meson allows them is multiplied."""
    path = run.folder(folder)
    return [Job(stage, test["name"], "program", functools.partial(
                unit_test, path=path, test=test, patience=patience, wrap=wrap,
                env=env))
            for test in tests_of(path)
            if "tidy" not in suites_of(test) and
            (not suite or suite in suites_of(test)) and
            run.wants(stage, test["name"])]


def same_addresses():
    """TSan of gcc 12 dislikes much randomness; where allowed, take it away."""
    works = shutil.which("setarch") and subprocess.run(
        ["setarch", "-R", "true"], capture_output=True).returncode == 0
    return ["setarch", "-R"] if works else []


ASAN = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:"
                        "strict_string_checks=1:abort_on_error=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
# A race inside RocksDB is known by the stack of its write (tests/tsan.supp),
# so TSan must still have that stack; by default it forgets it soon.
TSAN = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:"
                        "history_size=5:"
                        f"suppressions={ROOT}/tests/tsan.supp"}
# ASan sees the calls of PostgreSQL in the tests of os/ and of the store, and what
# is done with its answers with SQLite; stage unit has all of them.
NOT_ASAN = ("*_random_postgresql", "*_kill_postgresql", "*_model_postgresql",
            "[!ds]*_postgresql", "s[!t]*_postgresql")
# These builds find the same faults as -O2 -g in less time.  GCC builds with -O1,
# clang with -O0: clang optimizes the sanitizers' checks, too, and needs three
# times as long for -O1, while the tests run only a third longer without.  The
# linker's -O0 merges no strings, which saves a sixth of its time.
SANITIZED = ["-Ddebug=true", "-Dc_args=-g1",
             "-Dc_link_args=-Wl,-O0"]


def watched_jobs(run, stage, folder, env):
    program = program_of(run.folder(folder))
    return script_jobs(run, stage, program, same_addresses(), env,
                       [s for s in scripts_of("scenes")
                        if name_of(s) in WATCHED]) if program else []


RELEASED = ["-Dwerror=true"]


def build_program(run, job):
    """What scripts run, all but the unit tests, so that they begin soon."""
    path = run.folder("build-test")
    if not configure(run, job, "build-test", RELEASED):
        return []
    targets = [t for t in targets_of(path) + targets_of(path, "custom")
               if not t.endswith("_test")]
    if not build(run, job, "build-test", RELEASED, targets):
        return []
    program = program_of(path)
    jobs = []
    for stage in ("scenes", "peers"):
        if run.has(stage):
            jobs += script_jobs(run, stage, program, (), {},
                                [s for s in scripts_of(stage)
                                 if not (run.has("asan") and
                                         name_of(s) in WATCHERS)])
    return jobs


def build_tests(run, job):
    return unit_jobs(run, "unit", "build-test", 4) \
        if build(run, job, "build-test", RELEASED) else []


def build_tsan(run, job):
    """Only the programs of suite "threads", and argiope itself."""
    options = SANITIZED + ["-Doptimization=1", "-Db_sanitize=thread"]
    folder = run.folder("build-tsan")
    if not configure(run, job, "build-tsan", options):
        return []
    wanted = unit_jobs(run, "tsan", "build-tsan", 12, same_addresses(), TSAN,
                       "threads")
    if not wanted and not any(run.wants("tsan", s) for s in WATCHED):
        return []
    targets = [os.path.relpath(test["cmd"][0], folder)
               for test in tests_of(folder) if "threads" in suites_of(test)]
    if not build(run, job, "build-tsan", options,
                 targets + ["daemon/argiope"]):
        return []
    return wanted + watched_jobs(run, "tsan", "build-tsan", TSAN)


def build_clang(run, job):
    """
    All of it by the second compiler, for its warnings, its sanitizers and
    libFuzzer at once; for stage fuzz alone, its targets.
    """
    options = SANITIZED + ["-Doptimization=0", "-Dfuzz=true", "-Dwerror=true",
                           "-Db_lundef=false", "-Dbench=false"]
    fine = configure(run, job, "build-asan", options, "clang")
    targets = [t for t in targets_of(run.folder("build-asan"))
               if t.endswith("_fuzz") and
               run.wants("fuzz", t[:-len("_fuzz")])] if fine else []
    fine = fine and build(run, job, "build-asan", options,
                          () if run.has("asan") else targets, "clang")
    jobs = []
    if fine and run.has("asan"):
        jobs = [j for j in unit_jobs(run, "asan", "build-asan", 10,
                                     same_addresses(), ASAN)
                if run.options.names or
                not any(fnmatch.fnmatchcase(j.name, n) for n in NOT_ASAN)]
        jobs += watched_jobs(run, "asan", "build-asan", ASAN)
    if fine and run.has("fuzz"):
        jobs += fuzz_jobs(run, [t[:-len("_fuzz")] for t in targets])
    program = program_of(run.folder("build-test"))
    if run.has("asan") and run.has("peers") and program:
        env = {"ARGIOPE_ASAN": program_of(run.folder("build-asan"))}
        jobs += script_jobs(run, "peers", program, (), env if fine else {},
                            [s for s in scripts_of("peers")
                             if name_of(s) in WATCHERS])
    return jobs


def tidy(run, job):
    tool = {"tidy": ["tidy", ROOT], "planted faults": ["tidy_test.py"]}
    code, text, seconds = output_of(
        [sys.executable, os.path.join(ROOT, "tools", tool[job.name][0])] +
        tool[job.name][1:], 120)
    run.finish(job, code == 0, [], seconds, text)


# ---- Fuzzing ----------------------------------------------------------------

def seeds_of(run, name):
    """Folders of inputs: ours, what crashed once, and others' seeds."""
    found = [os.path.join(ROOT, "tests", kind, name)
             for kind in ("corpus", "repro")]
    table = os.path.join(ROOT, "tests", "corpus", "seeds.txt")
    place = unpacked_seeds(run)
    for line in open(table) if os.path.exists(table) and place else ():
        words = line.split("#")[0].split()
        if words and words[0] == name:
            found += [os.path.join(place, w) for w in words[1:]]
    return [f for f in found if os.path.isdir(f)]


def unpacked_seeds(run):
    """Where others' seeds stand, or None; the first call unpacks them."""
    suites = os.environ.get("ARGIOPE_SUITES",
                            os.path.join(ROOT, "..", "shared", "suites"))
    archive = os.path.join(suites, "fuzz-seeds.tar.xz")
    place = os.path.join(run.folder("build-asan"), "seeds")
    if not os.path.exists(archive):
        return None
    if not os.path.isdir(place):
        shutil.rmtree(place + ".new", ignore_errors=True)
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(place + ".new", filter="data")
            else:
                tar.extractall(place + ".new")
        os.rename(place + ".new", place)
    return place


def fuzz(run, job, seconds):
    path, name = run.folder("build-asan"), job.name
    corpus = os.path.join(path, "corpus", name)
    crashes = os.path.join(path, "found", name)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(crashes, exist_ok=True)
    command = [os.path.join(path, name + "_fuzz"),
               f"-max_total_time={seconds}", "-rss_limit_mb=1500",
               "-timeout=10", "-print_final_stats=1", "-max_len=65536",
               f"-artifact_prefix={crashes}/", corpus] + seeds_of(run, name)
    code, text, took = output_of(command, seconds + 120, env={
        "UBSAN_OPTIONS": "print_stacktrace=1"})
    runs = re.search(r"number_of_executed_units: (\d+)", text)
    cover = re.findall(r"cov: (\d+)", text) or ["?"]
    # libFuzzer's progress is no news.
    text = re.sub(r"^#\d+\t.*\n", "", text, flags=re.M)
    # A target that ran nothing has shown nothing.
    runs = int(runs[1]) if runs else 0
    run.finish(job, code == 0 and runs > 0, [], took, text,
               f", {runs} runs, {cover[-1]} edges")


def fuzz_jobs(run, names):
    seconds = run.options.fuzz_seconds or max(1, min(
        20, FUZZ_WALL_SECONDS * CPUS // max(1, len(names))))
    unpacked_seeds(run)
    return [Job("fuzz", name, "program",
                functools.partial(fuzz, seconds=seconds))
            for name in names]


# ---- Scenes and peers --------------------------------------------------------

TAP = re.compile(r"^(ok|not ok|skip)\b[ \t:-]*(?:\d+[ \t:-]+)?(.*)$")


def script_results(text):
    """The TAP-like lines of a script: [(state, name)]."""
    found = []
    for line in text.splitlines():
        match = TAP.match(line)
        if not match:
            continue
        word, name = match[1], match[2].strip() or "unnamed"
        if word == "skip" or (word == "ok" and
                              re.search(r"# *skip", name, re.I)):
            found.append(("skip", name))
        else:
            found.append(("pass" if word == "ok" else "fail", name))
    return found


@functools.lru_cache(None)
def memory_folder(runs_programs):
    """A tmpfs that has room for what tests write, or None: a fifth of their CPU
    time was the disk's."""
    place = "/dev/shm"
    try:
        at = os.statvfs(place)
        with open("/proc/meminfo") as f:
            free = re.search(r"MemAvailable: *(\d+) kB", f.read())
    except OSError:
        return None
    room = min(at.f_bavail * at.f_frsize, int(free[1]) << 10 if free else 0)
    fits = room >= MEMORY_FOLDER_BYTES and not (
        runs_programs and at.f_flag & os.ST_NOEXEC)
    return place if fits else None


def script(run, job, path, program, wrap, env):
    place = tempfile.mkdtemp(prefix=f"argiope-{job.name}-",
                             dir=memory_folder(True))
    code, text, seconds = output_of(
        list(wrap) + ["bash", path],
        min(SCRIPT_SECONDS_MAX, max(30, run.left())), cwd=place,
        env={"ARGIOPE": program, "ARGIOPE_SOURCE": ROOT,
             "ARGIOPE_BUILD": os.path.dirname(program),
             "TMPDIR": place, "SCENE_TMP": place, **env})
    checks = [(state, f"{job.name}: {name}", "")
              for state, name in script_results(text)]
    if code != 0:
        text += f"\n(exit code {code})"
    elif not checks:
        text += "\n(it checked nothing)"
    run.finish(job, code == 0 and checks, checks, seconds, text)
    shutil.rmtree(place, ignore_errors=True)


def scripts_of(stage):
    return sorted(glob.glob(os.path.join(ROOT, "tests", stage, "*.sh")))


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def script_jobs(run, stage, program, wrap, env, scripts):
    return [Job(stage, name_of(s), "script", functools.partial(
                script, path=s, program=program, wrap=wrap, env=env))
            for s in scripts if run.wants(stage, name_of(s))]


# ---- The whole --------------------------------------------------------------

STAGES = {
    "tidy": "style, arrows between layers, dead files",
    "unit": "unit tests, gcc, as released, -Werror",
    "scenes": "stories told to the real program",
    "asan": "unit tests and crawls, clang, -Werror, ASan and UBSan",
    "tsan": "tests of suite threads and crawls under TSan",
    "fuzz": "libFuzzer, a short while for each target",
    "peers": "against other people's clients and servers",
}
QUICK = ("tidy", "unit", "scenes")
# --quick has two minutes: it leaves out what takes half a minute by itself,
# and gives the simulator some of its seeds.
NOT_QUICK = ("ledger", "store_verbs", "urlfrontier_forward", "kills", "reindex",
             "signals", "recrawl", "schedule")
QUICK_ARGS = {"sim": ["--seeds", "20"]}
# In this order; the name is that of the first of the stages that is wanted.
# Tests with threads mostly wait, so they run during the longest build; ASan's
# tests and fuzzing, which keep all cores busy, come last.
BUILDS = ((build_program, ("scenes", "peers")), (build_tests, ("unit",)),
          (build_tsan, ("tsan",)), (build_clang, ("asan", "fuzz")))


def known_names():
    """What can be named without building: files tell the tests."""
    names = collections.OrderedDict((stage, []) for stage in STAGES)
    for folder, _, files in os.walk(ROOT):
        if os.path.relpath(folder, ROOT).startswith(("build", ".git")):
            continue
        for f in sorted(files):
            if f.endswith("_test.c"):
                names["unit"].append(f[:-len("_test.c")])
            elif f.endswith("_fuzz.c"):
                names["fuzz"].append(f[:-len("_fuzz.c")])
    for stage in ("scenes", "peers"):
        names[stage] = [os.path.splitext(os.path.basename(s))[0]
                        for s in scripts_of(stage)]
    return names


def stages_for(run):
    """Which stages can hold what was named."""
    options = run.options
    if not options.names:
        return [s for s in STAGES if not options.quick or s in QUICK]
    names = known_names()
    names["asan"] = names["tsan"] = names["unit"] + list(WATCHED)
    chosen = [s for s in STAGES if s in options.names or
              any(p.startswith(s + "/") for p in options.names) or
              any(run.wants(s, n) for n in names[s])]
    return [s for s in chosen if not options.quick or s in QUICK]


def jobs_for(run):
    """The builds, and what can be done without them."""
    jobs = [Job("tidy", name, "program", tidy) for name in TIDY
            if run.has("tidy")]
    for action, stages in BUILDS:
        wanted = [s for s in stages if run.has(s)]
        if wanted:
            jobs.append(Job(wanted[0], "build", "build", action))
    return jobs


def attempt(run, job):
    """A job's new jobs; whatever goes wrong is its failure."""
    used.cpu = 0.0
    try:
        if run.left() > 0:
            return job.action(run, job) or []
        run.finish(job, False, [], 0, f"{SECONDS_MAX} s are used up")
    except Exception:
        run.finish(job, False, [], 0, traceback.format_exc())
    return []


class Room:
    """How many jobs may run at once, by what the processors have to do."""

    def __init__(self):
        self.more = 0
        self.at, self.idle, self.all = time.monotonic(), *self.times()

    @staticmethod
    def times():
        """(time idle or waiting for a disk, all time) of all processors."""
        with open("/proc/stat") as f:
            spent = [int(n) for n in f.readline().split()[1:9]]
        return spent[3] + spent[4], sum(spent)

    def look(self):
        if time.monotonic() < self.at + 1:
            return
        idle, spent = self.times()
        part = (idle - self.idle) / max(1, spent - self.all)
        self.at, self.idle, self.all = time.monotonic(), idle, spent
        if part >= IDLE_PART_MIN:
            self.more = min(self.more + 1, MORE_MAX)
        elif part < IDLE_PART_MIN / 5:
            self.more = max(self.more - 1, 0)

    def has(self, kind, running):
        count = collections.Counter(j.kind for j in running)
        if kind == "build":
            return count[kind] < AT_ONCE[kind]
        most = AT_ONCE["program"] + AT_ONCE["script"] + self.more
        return count[kind] < AT_ONCE[kind] + self.more and \
            count["program"] + count["script"] < most


def work(run, jobs):
    """All of them and those that they bring, the longest first."""
    running, run.known, room = {}, len(jobs), Room()
    told = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(
            MORE_MAX + sum(AT_ONCE.values())) as pool:
        try:
            while jobs or running:
                room.look()
                for job in sorted(jobs, key=lambda j: -LONG.get(j.name, 0)):
                    if room.has(job.kind, running.values()):
                        jobs.remove(job)
                        running[pool.submit(attempt, run, job)] = job
                done, _ = concurrent.futures.wait(
                    running, 1, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    jobs += future.result()
                    run.known += len(future.result())
                if done:
                    told = time.monotonic()
                elif time.monotonic() >= told + NEWS_SECONDS:
                    told = time.monotonic()
                    run.note("under way: " + ", ".join(
                        f"{j.stage}/{j.name}" for j in running.values()))
        except BaseException:
            while concurrent.futures.wait(running, 0.1).not_done:
                for pid in list(alive):
                    end_group(pid)
            raise


def run_again(run):
    """What failed beside others, one by one."""
    run.alone = True
    few = len(run.again) <= AGAIN_MAX
    for job, results in run.again:
        at = len(run.results)
        if few:
            run.note(f"once more, alone: {job.stage}/{job.name}")
            run.known += 1
            attempt(run, job)
        else:
            run.results += results
        if all(r.state != "fail" for r in run.results[at:]):
            run.passed_alone.append(job)


def dearest(run):
    """What a shorter run would have to save."""
    for what, key in ("CPU seconds", 2), ("seconds", 1):
        print(f"\nmost {what}:")
        for j in sorted(run.jobs, key=lambda j: -j[key])[:DEAREST_N]:
            print(f"  {j[key]:8.1f}  {j[0].stage}/{j[0].name}")


def table(run):
    print(f"\n{'stage':10} {'passed':>7} {'failed':>7} {'skipped':>8} "
          f"{'seconds':>8} {'CPU':>8} {'builds':>8}")
    for stage in run.stages:
        states = [r.state for r in run.results if r.stage == stage]
        jobs = [j for j in run.jobs if j[0].stage == stage]
        print(f"{stage:10} {states.count('pass'):7} {states.count('fail'):7} "
              f"{states.count('skip'):8} {sum(j[1] for j in jobs):8.1f} "
              f"{sum(j[2] for j in jobs):8.1f} "
              f"{sum(j[2] for j in jobs if j[0].kind == 'build'):8.1f}")
    took = time.monotonic() - run.began
    print(f"\nin {took / 60:.1f} minutes, "
          f"{sum(j[2] for j in run.jobs) / 60:.1f} of CPU.  The seconds are "
          "those of jobs, which overlap;\nCPU is what they used, and of that "
          "their builds")
    dearest(run)
    if run.counts:
        print("\nconformance:")
        print("".join(f"  {line}\n" for line in sorted(run.counts)), end="")
    failed = [r for r in run.results if r.state == "fail"]
    if failed:
        print("\nfailed:")
        for r in failed:
            print(f"  {r.stage}/{r.name}")
    if run.passed_alone:
        print("\nfailed beside others, passed alone:")
        for job in run.passed_alone:
            print(f"  {job.stage}/{job.name}")
    skipped = [r for r in run.results if r.state == "skip"]
    if skipped:
        print("\nskipped:")
        for r in skipped:
            print(f"  {r.stage}/{r.name}")


def main():
    parser = argparse.ArgumentParser(prog="./test", description=__doc__,
                                     usage="./test [option...] [NAME...]")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="a stage, a test, or stage/test; * matches")
    parser.add_argument("--quick", action="store_true",
                        help=f"only {', '.join(QUICK)}, without what takes "
                        "long")
    parser.add_argument("--list", action="store_true",
                        help="print the stages and the tests, run nothing")
    parser.add_argument("--fuzz-seconds", type=int, metavar="N",
                        help="for each fuzz target (default: 2 to 20)")
    parser.add_argument("--verbose", action="store_true",
                        help="a line for every single check")
    run = Run(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if run.options.list:
        for stage, names in known_names().items():
            print(f"{stage:8} {STAGES[stage]}")
            for name in names:
                print(f"           {name}")
        return 0
    for stage in run.stages:
        print(f"{stage:8} {STAGES[stage]}", flush=True)
    if run.options.quick and not run.options.names:
        print(f"left out: {', '.join(NOT_QUICK)}", flush=True)
    quick_tools()
    # Not through a wrapper, such as pyenv's, that costs more than most calls.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + \
        os.environ["PATH"]
    # A new cluster costs a second of CPU: it is made once.
    place = memory_folder(False) or tempfile.gettempdir()
    os.environ["ARGIOPE_POSTGRESQL_FOLDER"] = place
    run.postgresql = tempfile.mkdtemp(prefix="argiope-pg-kept-", dir=place)
    try:
        work(run, jobs_for(run))
        run_again(run)
    finally:
        shutil.rmtree(run.postgresql, ignore_errors=True)
    table(run)
    count = collections.Counter(r.state for r in run.results)
    if not run.results:
        print("\nnothing has that name; ./test --list tells the names")
        count["fail"] = 1
    print(f"\n{count['pass']} passed, {count['fail']} failed" +
          (f", {count['skip']} skipped" if count["skip"] else ""))
    return 1 if count["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
