"""`argiope archive export` against what Social Feed Manager's exporters wrote.

The suite has WARCs, the messages that SFM's exporters were given, and the files
that they wrote of them.  Each message becomes a command line; files must be
equal byte for byte.  Where SFM failed, the case has a check of its own.
"""
from peer import *
from sfm_suite import *

need("archive_export", files=[SUITE + "/expected/INDEX.json"])
A = program()
FORMATS = ("csv", "tsv", "json", "json_full", "dehydrate", "xlsx")
# What only a message can say: seeds without an owner, missing fields, look-ups.
MESSAGES = {"seed-uid-null", "no-warcs", "only-missing-warc", "neither", "both",
            "no-segment-size", "date-null", "seed-without-uid", "bad-format"}
# Ours reads the host's newer name, too; filters streams of v2 by account; and
# leaves out no rows because one has a field without a column.
OTHERWISE = {"twitter1-rest/x-com", "twitter2-stream/seeds",
             "twitter2-rest/extra-column"}
# SFM's workbooks of v2 have 25,000 rows, whatever the size of segments.
OTHER_SEGMENTS = {"twitter2-rest/segment-4/xlsx"}


def command(case):
    """The words after `archive export` for a case's message."""
    m = case["message"]
    words = [m["format"], "--type", m["type"], "--into", place(case)]
    for seed in m.get("seeds", []):
        words += ["--uid", seed["uid"]]
    for name, option in (("item_date_start", "--since"),
                         ("item_date_end", "--until"),
                         ("segment_size", "--segment")):
        if m.get(name):
            words += [option, str(m[name])]
    if m.get("dedupe"):
        words.append("--dedupe")
    if m["format"] == "xlsx" and "MAX_DATAFRAME_ROWS" in case["environment"]:
        words += ["--segment", case["environment"]["MAX_DATAFRAME_ROWS"]]
    return words + [without_x_com(os.path.join(SUITE, w))
                    for w in case["warcs"]]


def place(case):
    return os.path.join(PLACE, case["case"].split("/")[0],
                        case["message"]["id"])


def export(words):
    done = subprocess.run([A, "archive", "export", *words],
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def compare(case):
    """One line for each case that SFM finished."""
    code, _, err = export(command(case))
    got = files_in(place(case))
    want = {f["name"]: load(f["stored"]) for f in case["files"]}
    missing = any("nowhere" in w for w in case["warcs"])
    damaged = "warc_damaged" in err
    if code != (66 if missing else 70 if damaged else 0):
        return check(case["case"], False, f"exit code {code}: {err}")
    if set(got) != set(want):
        return check(case["case"], False,
                     f"files {sorted(got)}, not {sorted(want)}")
    wrong = [f"{name} {first_difference(got[name], data)}"
             for name, data in want.items()
             if not is_equal(case, got[name], data)]
    return check(case["case"], not wrong, " ".join(wrong))


def compare_all():
    passed = total = 0
    os.mkdir("warcs")
    for case in cases():
        variation = case["case"].split("/")[1]
        warcs = [os.path.join(SUITE, w) for w in case["warcs"]
                 if "nowhere" not in w]
        if variation in MESSAGES or case["exception"] or \
                case["case"] in OTHER_SEGMENTS or \
                case["case"].rsplit("/", 1)[0] in OTHERWISE or \
                case["message"]["format"] not in FORMATS:
            continue
        if not all(map(os.path.exists, warcs)):
            skip(case["case"], "its WARCs are not there")
            continue
        total += 1
        passed += compare(case)
    note(f"conformance: {passed} of {total} of SFM's exports")


# ---- Where SFM failed ----------------------------------------------------------

def synthetic(name):
    return os.path.join(SUITE, "warcs", "synthetic", name + ".warc.gz")


def rows(words):
    """Rows of a JSON table on standard output, exit code, warnings."""
    code, out, err = export(["json", *words])
    return [json.loads(line) for line in out.splitlines()], code, err


def improved():
    table, code, err = rows([synthetic("twitter1-fault-no-hashtags")])
    same("an item that lacks a field keeps its other cells",
         [(r["id"][-2:], r["favorite_count"]) for r in table],
         [("01", 2), ("40", None), ("02", 4)])
    check("... and a warning names it", code == 0 and "item_field_missing: "
          "favorite_count is missing in 1 item: 700000000000000040" in err, err)
    table, code, _ = rows([synthetic("twitter1-fault-retweet-null")])
    same("retweeted_status null", [(code, r["tweet_type"], r["hashtags"])
                                   for r in table][1], (0, "retweet", ""))
    code, out, _ = export(["csv", synthetic("twitter1-fault-surrogate")])
    check("a lone surrogate is U+FFFD in csv",
          code == 0 and "lone \ufffd surrogate".encode() in out, out)
    table, code, err = rows([synthetic("twitter1-fault-latin1")])
    same("bytes that are no UTF-8 are U+FFFD",
         (code, [r["text"] for r in table]),
         (70, ["plain ascii", "caf\ufffd"]))
    check("... and are told of", "bytes that are no UTF-8" in err, err)
    table, code, _ = rows([synthetic("twitter1-fault-pretty")])
    same("JSON on several lines", (code, len(table)), (0, 2))
    table, code, err = rows([synthetic("twitter1-fault-no-created-at"),
                             "--since", "2016-06-02"])
    same("an item without a date passes",
         (code, [r["parsed_created_at"] is None for r in table]),
         (0, [False, True, False]))
    table, code, _ = rows([synthetic("twitter1-fault-x-com")])
    same("x.com is twitter.com", (code, len(table)), (0, 1))
    place = os.path.join(PLACE, "sheets")
    code, _, err = export(["xlsx", synthetic("twitter1-longcell"), "--into",
                           place])
    check("cells that are cut are told of", code == 0 and "cell_truncated: a "
          "cell of more than 32,767 characters: 700000000000000047" in err,
          err)
    code, _, err = export(["xlsx", synthetic("twitter2-rest-a"), "--into",
                           place, "--segment", "10"])
    check("sheets of v2 have segments, too", code == 0 and
          len(files_in(place)) == 4, err)
    code, _, err = export(["html", synthetic("twitter2-rest-a")])
    check("v2 as html", code == 65 and "no html form" in err, err)
    code, out, err = export(["html", synthetic("weibo-a")])
    check("others as html", code == 0 and out.count(b"<tr>") == 17, err)
    code, _, err = export(["pdf", synthetic("twitter1-rest-a")])
    check("an unknown format", code == 64 and "csv, tsv" in err, err)
    v2 = ["--type", "twitter_search_2"]
    table, code, _ = rows([*v2, synthetic("twitter2-rest-b")])
    same("x.com is twitter.com for API v2", (code, [r["text"] for r in table
         if "x.com" in r["text"]]), (0, ["from api.x.com"]))
    table, code, _ = rows([*v2, synthetic("twitter2-fault-extra-column")])
    same("a field without a column", (code, [r["text"] for r in table]),
         (0, ["good", "has note_tweet", "good too"]))
    table, code, err = rows([*v2, synthetic("twitter2-fault-no-created-at")])
    check("a tweet of v2 without a date", code == 0 and len(table) == 2 and
          "created_at is missing in 1 item: 66" in err, err)
    table, code, _ = rows([synthetic("twitter2-fault-author-url-empty")])
    same("a profile without addresses",
         (code, [r["author.entities.url.urls"] for r in table]), (0, [None]))
    table, code, _ = rows(["--type", "twitter_filter_stream", "--uid", "2002",
                           synthetic("twitter2-stream-a")])
    same("accounts of a stream of v2", (code, {r["author_id"] for r in table}),
         (0, {"2002"}))
    code, out, _ = export(["dehydrate", synthetic("twitter2-stream-rules"),
                           synthetic("twitter2-rest-b"), "--dedupe"])
    same("answers of v2 by their addresses", (code, len(out.splitlines())),
         (0, 7))
    table, code, err = rows([synthetic("flickr-fail"), "--uid", "3001@N01"])
    same("a photo that is gone", (code, len(table)), (0, 1))
    table, code, err = rows([synthetic("flickr-fault-taken-zero")])
    same("a month that is not known", (code, table[0]["date_taken"]),
         (0, None))
    check("... is told of", "dates.taken is missing in 1 item" in err, err)
    table, code, _ = rows([synthetic("tumblr-fault-no-excerpt")])
    same("a link without an excerpt",
         (code, [r["post_text"] for r in table][1]), (0, None))
    table, code, _ = rows([synthetic("tumblr-fault-no-response")])
    same("an error of Tumblr", (code, table), (0, []))
    table, code, _ = rows([synthetic("weibo-fault-rate-limit-status")])
    same("a limit call of Weibo", (code, table), (0, []))
    table, code, _ = rows([synthetic("weibo-fault-deleted")])
    same("a weibo that was deleted",
         (code, [r["screen_name"] for r in table][1]), (0, None))
    code, _, err = export(["csv", synthetic("weibo-a"),
                           synthetic("tumblr-a")])
    check("two tables in one export", code == 65 and
          "weibo_timeline" in err and "tumblr_blog_posts" in err, err)
    code, out, err = export(["dehydrate", synthetic("weibo-a"),
                             synthetic("tumblr-a")])
    same("... but ids of both", (code, len(out.splitlines())), (0, 34))
    table, code, err = rows([synthetic("twitter1-filter-truncated")])
    check("a cut WARC: what came whole is exported", code == 70 and table and
          "warc_damaged: the record ends before its end" in err, err)


def items():
    """The items are those of json_full, whatever type they are of."""
    for case in cases():
        kind, variation, form = case["case"].split("/")
        if variation == "all" and form == "json_full":
            warcs = [without_x_com(os.path.join(SUITE, w))
                     for w in case["warcs"]]
            done = subprocess.run([A, "archive", "items", *warcs],
                                  capture_output=True)
            same(f"items of {kind}", first_difference(done.stdout, load(
                case["files"][0]["stored"])), "the same")


compare_all()
improved()
items()
done()
