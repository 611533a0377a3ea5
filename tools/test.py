"""The runner behind ./test: stages, their results, and one last line.

A stage builds something and yields results: (name, "pass" | "fail" | "skip",
seconds, text).  Every single check counts, so a cmocka program with ten tests
adds ten; the output of what failed is shown at once.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPUS = len(os.sched_getaffinity(0))
# No stage begins after this, and a scene ends by then.  Two quiet cores need
# less than 30 minutes.
SECONDS_MAX = 45 * 60
FUZZ_WALL_SECONDS = 60
SCENE_SECONDS_MAX = 300
TAIL_LINES = 60

Result = collections.namedtuple("Result", "stage name state seconds text")


class Run:
    """What was asked for, and what came of it."""

    def __init__(self, options):
        self.options = options
        self.results = []
        self.seconds = collections.OrderedDict()
        self.counts = []          # of other people's cases
        self.began = time.monotonic()
        self.builds = os.environ.get("ARGIOPE_BUILDS", ROOT)

    def add(self, stage, name, state, seconds=0.0, text=""):
        self.results.append(Result(stage, name, state, seconds, text))
        word = {"pass": "ok", "fail": "NOT OK", "skip": "skip"}[state]
        if state != "pass" or seconds >= 0.001 or self.options.verbose:
            took = f"  {seconds:.1f} s" if seconds >= 0.05 else ""
            print(f"  {word:6} {stage}/{name}{took}", flush=True)
        if state == "fail" and text:
            lines = text.rstrip().splitlines()
            if len(lines) > TAIL_LINES:
                lines = [f"... {len(lines) - TAIL_LINES} lines more"] + \
                    lines[-TAIL_LINES:]
            print("".join(f"      | {line}\n" for line in lines), end="",
                  flush=True)
        elif state == "skip" and text:
            print(f"         {text.strip().splitlines()[-1]}", flush=True)

    def left(self):
        return SECONDS_MAX - (time.monotonic() - self.began)

    def folder(self, name):
        return os.path.join(self.builds, name)

    def wants(self, stage, name):
        """Is this test of that stage among what the caller named?"""
        if not self.options.names:
            return True
        for pattern in self.options.names:
            if pattern == stage or \
                    fnmatch.fnmatchcase(f"{stage}/{name}", pattern) or \
                    fnmatch.fnmatchcase(name, pattern):
                return True
        return False

    def whole(self, stage):
        """Was the stage asked for as such?"""
        return not self.options.names or stage in self.options.names


def output_of(command, timeout, cwd=ROOT, env=None):
    """Run in a session of its own; whatever it leaves behind is ended."""
    began = time.monotonic()
    full = dict(os.environ, **(env or {}))
    child = subprocess.Popen(command, cwd=cwd, env=full,
                             stdin=subprocess.DEVNULL, text=True,
                             errors="replace", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, _ = child.communicate(timeout=max(1, timeout))
        code = child.returncode
    except subprocess.TimeoutExpired:
        end_group(child.pid)
        text, _ = child.communicate()
        text += f"\n(ended after {timeout:.0f} s)\n"
        code = -1
    end_group(child.pid)
    return code, text, time.monotonic() - began


def end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- Building --------------------------------------------------------------

def configure(run, stage, folder, options, compiler=None):
    """A build folder with these options; a failure is one result."""
    path = run.folder(folder)
    env = {"CC": compiler} if compiler else {}
    # Ninja does not see a folder that came or went; the list of them does.
    folders = sorted(f for depth in ("*", "*/*")
                     for f in glob.glob(f"{ROOT}/{depth}/meson.build"))
    want = json.dumps([options, compiler, os.environ.get("PKG_CONFIG_PATH"),
                       folders])
    note = os.path.join(path, ".options")
    have = open(note).read() if os.path.exists(note) else None
    command = ["ninja", "-C", path, "build.ninja"]
    if have != want:
        if os.path.isdir(os.path.join(path, "meson-private")):
            shutil.rmtree(path)
        command = ["meson", "setup", path, ROOT] + options
    code, text, seconds = output_of(command, 300, env=env)
    if code != 0:
        run.add(stage, "configure", "fail", seconds, text)
        return False
    with open(note, "w") as f:
        f.write(want)
    return True


def build(run, stage, folder, options, targets=(), compiler=None):
    """Configure and build; a failure is one result.  True when it is there."""
    path = run.folder(folder)
    env = {"CC": compiler} if compiler else {}
    began = time.monotonic()
    print(f"  building {os.path.relpath(path, ROOT)}", flush=True)
    if not configure(run, stage, folder, options, compiler):
        return False
    code, text, seconds = output_of(
        ["ninja", "-C", path, "-j", str(CPUS)] + list(targets), run.left(),
        env=env)
    seconds = time.monotonic() - began
    if code != 0:
        run.add(stage, "build", "fail", seconds, failures_of(text))
        return False
    run.add(stage, "build", "pass", seconds)
    return True


def failures_of(text):
    """Of ninja's output what tells the reader something."""
    at = text.find("FAILED:")
    return text[at:] if at >= 0 else text


def targets_of(path, suffix):
    code, text, _ = output_of(["meson", "introspect", path, "--targets"], 60)
    if code != 0:
        return []
    return sorted(t["name"] for t in json.loads(text)
                  if t["type"] == "executable" and t["name"].endswith(suffix))


def program_of(path):
    """The program in a build folder, or None where the tree has none."""
    for place in ("argiope", "daemon/argiope", "cli/argiope"):
        if os.access(os.path.join(path, place), os.X_OK):
            return os.path.join(path, place)
    return None


# ---- Unit tests -------------------------------------------------------------

CMOCKA = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.M)


def tests_of(path):
    """The names and suites of meson's tests in a build folder."""
    code, text, _ = output_of(["meson", "introspect", path, "--tests"], 60)
    return json.loads(text) if code == 0 else []


def count_program(run, stage, name, entry):
    """One test program's line of meson's log becomes its cmocka tests."""
    text = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    ok = entry["result"] in ("OK", "EXPECTEDFAIL")
    if stage == "unit":
        run.counts += re.findall(r"^conformance: (.*)$", text, re.M)
    states = {}
    for word, test in CMOCKA.findall(text):
        state = {"OK": "pass", "FAILED": "fail", "SKIPPED": "skip"}[word]
        if states.get(test) != "fail":
            states[test] = state
    failed = any(s == "fail" for s in states.values())
    for test, state in states.items():
        if state != "fail":
            reason = reason_of(text, test) if state == "skip" else ""
            run.add(stage, f"{name}.{test}", state, 0.0, reason)
    for test, state in states.items():
        if state == "fail":
            run.add(stage, f"{name}.{test}", "fail", 0.0, "")
    if entry["result"] == "SKIP":
        run.add(stage, name, "skip", 0.0, text)
    elif not states or (not ok and not failed):
        run.add(stage, name, "pass" if ok else "fail", 0.0,
                f"{text}\n({entry['result']})")
        return
    if failed:
        print("".join(f"      | {line}\n" for line in
                      text.rstrip().splitlines()[-TAIL_LINES:]), end="",
              flush=True)


def reason_of(text, test):
    """What a test said before it skipped itself."""
    at = text.find(f"[ RUN      ] {test}\n")
    end = text.find(f"[  SKIPPED ] {test}")
    said = text[at:end].splitlines()[1:] if 0 <= at < end else []
    return said[-1] if said else ""


def unit_tests(run, stage, folder, multiplier, wrap=(), env=None,
               suite=None):
    path = run.folder(folder)
    names = []
    for test in tests_of(path):
        suites = [s.split(":")[-1] for s in test["suite"]]
        if "tidy" in suites or (suite and suite not in suites):
            continue
        if run.wants(stage, test["name"]):
            names.append(test["name"])
    if not names:
        return
    log = os.path.join(path, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    command = list(wrap) + [
        "meson", "test", "-C", path, "--no-rebuild", "-t", str(multiplier),
        "--num-processes", str(CPUS)]
    full = dict(os.environ, **(env or {}))
    if not full.get("ARGIOPE_SOURCE"):
        full["ARGIOPE_SOURCE"] = ROOT
    child = subprocess.Popen(command + names, env=full, cwd=ROOT, text=True,
                             errors="replace", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    tail = []
    for line in child.stdout:
        tail.append(line)
        match = re.match(r" *(\d+/\d+) (.*?) +([A-Z]+) +([\d.]+)s", line)
        if match:
            print(f"  {match[1]:>6} {stage}: {match[2]} {match[3]} "
                  f"{match[4]} s", flush=True)
    child.wait()
    if not os.path.exists(log):
        run.add(stage, "meson test", "fail", 0.0, "".join(tail[-40:]))
        return
    seen = set()
    with open(log) as f:
        for line in f:
            entry = json.loads(line)
            name = entry["name"].split(" / ")[-1].split(":")[-1]
            seen.add(name)
            count_program(run, stage, name, entry)
    for name in set(names) - seen:
        run.add(stage, name, "fail", 0.0, "meson ran it, but logged nothing")


def same_addresses():
    """TSan of gcc 12 dislikes much randomness; where allowed, take it away."""
    works = shutil.which("setarch") and subprocess.run(
        ["setarch", "-R", "true"], capture_output=True).returncode == 0
    return ["setarch", "-R"] if works else []


ASAN = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:"
                        "strict_string_checks=1:abort_on_error=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
TSAN = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:"
                        f"suppressions={ROOT}/tests/tsan.supp"}
# Whole crawls by a program that watches itself: threads, memory, recovery.
WATCHED = ("crawl_small", "crawl_resume", "crawl_seeds")


def watched_scenes(run, stage, folder, env):
    program = program_of(run.folder(folder))
    for script in scripts_of("scenes"):
        name = os.path.splitext(os.path.basename(script))[0]
        if program and name in WATCHED and run.wants(stage, name):
            run_script(run, stage, script, program, same_addresses(), env)


def stage_unit(run):
    if build(run, "unit", "build-test", ["-Dwerror=true"]):
        unit_tests(run, "unit", "build-test", 2)


def stage_asan(run):
    if build(run, "asan", "build-asan",
             ["-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined"]):
        unit_tests(run, "asan", "build-asan", 6, wrap=same_addresses(),
                   env=ASAN)
        watched_scenes(run, "asan", "build-asan", ASAN)


def stage_tsan(run):
    options = ["-Dbuildtype=debugoptimized", "-Db_sanitize=thread"]
    folder = run.folder("build-tsan")
    # Only the programs of suite "threads" are built, and argiope itself.
    if not configure(run, "tsan", "build-tsan", options):
        return
    targets = {}
    for test in tests_of(folder):
        if any(s.split(":")[-1] == "threads" for s in test["suite"]):
            targets[test["name"]] = os.path.relpath(test["cmd"][0], folder)
    if not targets:
        return
    targets["argiope"] = "daemon/argiope"
    if build(run, "tsan", "build-tsan", options, targets.values()):
        unit_tests(run, "tsan", "build-tsan", 8, wrap=same_addresses(),
                   env=TSAN, suite="threads")
        watched_scenes(run, "tsan", "build-tsan", TSAN)


def stage_clang(run):
    build(run, "clang", "build-clang",
          ["-Dwerror=true", "-Dbuildtype=debugoptimized"], compiler="clang")


def stage_tidy(run):
    code, text, seconds = output_of(
        [sys.executable, os.path.join(ROOT, "tools", "tidy"), ROOT], 60)
    run.add("tidy", "tidy", "pass" if code == 0 else "fail", seconds, text)
    code, text, seconds = output_of(
        [sys.executable, os.path.join(ROOT, "tools", "tidy_test.py")], 60)
    run.add("tidy", "tidy finds planted faults",
            "pass" if code == 0 else "fail", seconds, text)


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
    place = os.path.join(run.folder("build-fuzz"), "seeds")
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


def fuzz_one(run, name, seconds):
    path = run.folder("build-fuzz")
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
    cover = re.findall(r"cov: (\d+)", text)
    # libFuzzer's progress is no news.
    text = re.sub(r"^#\d+\t.*\n", "", text, flags=re.M)
    # A target that ran nothing has shown nothing.
    fine = code == 0 and runs and int(runs[1]) > 0
    return fine, text, took, int(runs[1]) if runs else 0, \
        cover[-1] if cover else "?"


def stage_fuzz(run):
    path = run.folder("build-fuzz")
    options = ["-Dfuzz=true", "-Db_lundef=false",
               "-Dbuildtype=debugoptimized"]
    if not configure(run, "fuzz", "build-fuzz", options, "clang"):
        return
    names = [t[:-len("_fuzz")] for t in targets_of(path, "_fuzz")]
    names = [n for n in names if run.wants("fuzz", n)]
    if not names:
        return
    if not build(run, "fuzz", "build-fuzz", options,
                 [n + "_fuzz" for n in names], compiler="clang"):
        return
    seconds = run.options.fuzz_seconds or max(5, min(
        20, FUZZ_WALL_SECONDS * CPUS // len(names)))
    print(f"  {len(names)} targets, {seconds} s each", flush=True)
    unpacked_seeds(run)
    with concurrent.futures.ThreadPoolExecutor(CPUS) as pool:
        work = {pool.submit(fuzz_one, run, n, seconds): n for n in names}
        for done in concurrent.futures.as_completed(work):
            fine, text, took, runs, cover = done.result()
            name = work[done]
            if fine:
                print(f"         {name}: {runs} runs, {cover} edges",
                      flush=True)
            run.add("fuzz", name, "pass" if fine else "fail", took, text)


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


def run_script(run, stage, path, program, wrap=(), env=None):
    name = os.path.splitext(os.path.basename(path))[0]
    place = tempfile.mkdtemp(prefix=f"argiope-{name}-")
    code, text, took = output_of(
        list(wrap) + ["bash", path],
        min(SCENE_SECONDS_MAX, max(30, run.left())), cwd=place,
        env={"ARGIOPE": program, "ARGIOPE_SOURCE": ROOT,
             "ARGIOPE_BUILD": os.path.dirname(program),
             "TMPDIR": place, "SCENE_TMP": place, **(env or {})})
    run.counts += re.findall(r"^conformance: (.*)$", text, re.M)
    found = script_results(text)
    for state, line in found:
        run.add(stage, f"{name}: {line}", state, 0.0)
    failed = any(state == "fail" for state, _ in found)
    if code == 0 and found and not failed:
        print(f"  ok     {stage}/{name}  {took:.1f} s", flush=True)
    elif failed:
        print("".join(f"      | {line}\n" for line in
                      text.rstrip().splitlines()[-TAIL_LINES:]), end="",
              flush=True)
    elif not found and code == 0:
        run.add(stage, name, "fail", took, text + "\n(it checked nothing)")
    else:
        run.add(stage, name, "fail", took, text + f"\n(exit code {code})")
    shutil.rmtree(place, ignore_errors=True)


def scripts_of(stage):
    return sorted(glob.glob(os.path.join(ROOT, "tests", stage, "*.sh")))


def run_scripts(run, stage):
    scripts = [s for s in scripts_of(stage) if run.wants(
        stage, os.path.splitext(os.path.basename(s))[0])]
    if not scripts:
        return
    folder = run.folder("build-test")
    if not build(run, stage, "build-test", ["-Dwerror=true"]):
        return
    program = program_of(folder)
    if program is None:
        run.add(stage, "program", "fail", 0.0, "the tree builds no argiope")
        return
    watched = program_of(run.folder("build-asan"))
    env = {"ARGIOPE_ASAN": watched} if watched else {}
    for script in scripts:
        run_script(run, stage, script, program, env=env)


def stage_scenes(run):
    run_scripts(run, "scenes")


def stage_peers(run):
    run_scripts(run, "peers")


# ---- The whole ----------------------------------------------------------------

STAGES = collections.OrderedDict([
    ("tidy", (stage_tidy, "style, arrows between layers, dead files")),
    ("unit", (stage_unit, "unit tests, gcc, as released, -Werror")),
    ("scenes", (stage_scenes, "stories told to the real program")),
    ("asan", (stage_asan, "unit tests and crawls under ASan and UBSan")),
    ("tsan", (stage_tsan, "tests of suite threads and crawls under TSan")),
    ("clang", (stage_clang, "all of it by clang, -Werror")),
    ("fuzz", (stage_fuzz, "libFuzzer, a short while for each target")),
    ("peers", (stage_peers, "against other people's clients and servers")),
])
QUICK = ("tidy", "unit", "scenes")


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


def table(run):
    print(f"\n{'stage':10} {'passed':>7} {'failed':>7} {'skipped':>8} "
          f"{'seconds':>8}")
    for stage, seconds in run.seconds.items():
        states = [r.state for r in run.results if r.stage == stage]
        print(f"{stage:10} {states.count('pass'):7} {states.count('fail'):7} "
              f"{states.count('skip'):8} {seconds:8.1f}")
    if run.counts:
        print("\nconformance:")
        print("".join(f"  {line}\n" for line in sorted(run.counts)), end="")
    failed = [r for r in run.results if r.state == "fail"]
    if failed:
        print("\nfailed:")
        for r in failed:
            print(f"  {r.stage}/{r.name}")
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
                        help=f"only {', '.join(QUICK)}")
    parser.add_argument("--list", action="store_true",
                        help="print the stages and the tests, run nothing")
    parser.add_argument("--fuzz-seconds", type=int, metavar="N",
                        help="for each fuzz target (default: 5 to 20)")
    parser.add_argument("--verbose", action="store_true",
                        help="a line for every single check")
    run = Run(parser.parse_args())
    if run.options.list:
        for stage, names in known_names().items():
            print(f"{stage:8} {STAGES[stage][1]}")
            for name in names:
                print(f"           {name}")
        return 0
    for stage in stages_for(run):
        action, title = STAGES[stage]
        print(f"\n== {stage}: {title}", flush=True)
        began = time.monotonic()
        if run.left() < 0:
            run.add(stage, "time", "fail", 0.0,
                    f"{SECONDS_MAX} s are used up; this stage was not run")
        else:
            action(run)
        run.seconds[stage] = time.monotonic() - began
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
