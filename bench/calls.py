"""What a page at full speed takes in wake-ups, context switches, memory and
texts, over all threads: what a longer crawl has more of than a shorter one, by
page.  count_calls.c counts, preloaded into the program.
"""
import collections
import glob
import os
import shutil

import bench

PAGES = (5000, 20000)
KINDS = ("eventfd writes", "malloc", "printf", "scanf")


def counted(site, pages):
    """Calls by thread and kind, and the process's context switches."""
    out = bench.fresh("calls", in_memory=True)
    report = os.path.join(out, "report")
    bench.measure(
        ["env", f"COUNT_CALLS={report}",
         "LD_PRELOAD=" + bench.tool("libcount_calls.so"), bench.program(),
         "crawl", "--quiet", "--data", f"{out}/data", "--warc-dir",
         f"{out}/warc", "--max-pages", str(pages), site["SITE"] +
         "/index.html"])
    calls, switches = collections.Counter(), [0, 0]
    for path in glob.glob(report + ".*"):
        with open(path) as f:
            rows = [line.rsplit(None, 4) if i else line.split()
                    for i, line in enumerate(f)]
        switches = [a + int(b) for a, b in zip(switches, rows[0][1:])]
        for thread, *numbers in rows[1:]:
            for kind, n in zip(KINDS, numbers):
                calls[thread, kind] += int(n)
    shutil.rmtree(out, ignore_errors=True)
    if not calls:
        bench.stop("nothing was counted: was the library preloaded?")
    return calls, switches


def section(site, o):
    """Medians of --rounds, and what was asked for."""
    found, switched = collections.defaultdict(list), [[], []]
    more = PAGES[1] - PAGES[0]
    for _ in range(o.rounds):
        few, few_switches = counted(site, PAGES[0])
        many, many_switches = counted(site, PAGES[1])
        for key in set(few) | set(many):
            found[key].append((many[key] - few[key]) / more)
        for values, a, b in zip(switched, few_switches, many_switches):
            values.append((b - a) / more)
    middle = {key: bench.median(values) for key, values in found.items()}
    threads = sorted({thread for thread, _ in middle})
    rows = [[thread] + [f"{middle.get((thread, kind), 0):.2f}"
                        for kind in KINDS] for thread in threads
            if any(middle.get((thread, kind), 0) >= 0.005 for kind in KINDS)]
    sums = {kind: sum(middle.get((thread, kind), 0) for thread in threads)
            for kind in KINDS}
    rows.append(["all"] + [f"{sums[kind]:.2f}" for kind in KINDS])
    wanted, unwanted = (bench.median(values) for values in switched)
    lines = [bench.judge("eventfd writes a page", sums[KINDS[0]], 0.2),
             bench.judge("context switches a page, of their own will", wanted,
                         0.5)]
    lines += [bench.judge(f"{kind} a page", sums[kind], 0)
              for kind in KINDS[1:]]
    lines.append(f"- context switches a page because another had to run: "
                 f"{unwanted:.2f}")
    return "\n\n".join([
        "### Calls of a page\n\nThe synthetic site, in memory; per page, over "
        f"the last {more:,} of {PAGES[1]:,}; {o.rounds} rounds.",
        bench.table(["thread", *KINDS], rows), "\n".join(lines)])
