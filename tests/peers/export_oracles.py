"""Exports of random items against Python's json, csv and re; and against twarc
and twarc-csv, from which SFM makes its tables."""
import calendar
import copy
import datetime
from xml.sax.saxutils import escape

import social_warc as warc
import xlsx
from export_peer import *

if python_with("twarc-csv-1", "twarc==2.14.0", "twarc-csv==0.7.2",
               "pandas==2.3.3"):
    sys.path.append(os.environ["PYTHONPATH"])
SEED = int(os.environ.get("SEED", "1"))
TWEETS = 1500
rng = warc.generator(SEED)


# ---- Twitter v1 ------------------------------------------------------------------

tweets = [warc.tweet1(rng, n) for n in range(TWEETS)]
warc.write("one.warc.gz", [
    warc.record(warc.SEARCH, warc.pack({"statuses": tweets[i:i + 100]},
                                       i % 200 == 0))
    for i in range(0, TWEETS, 100)])
warc.write("lines.warc.gz", [warc.record(warc.FILTER, b"".join(
    warc.pack(t) + b"\r\n" for t in tweets))])
want = [json.dumps(t) for t in tweets]
same_lines("json_full is what Python's json writes",
           export("json_full", "one.warc.gz").decode().splitlines(), want)
same_lines("... also of lines",
           export("json_full", "lines.warc.gz").decode().splitlines(), want)

rows = [json.loads(line) for line in
        export("json", "one.warc.gz").decode().splitlines()]


spaced = [list(rows[0])] + [
    [v.replace("T", " ") if k == "parsed_created_at" else v
     for k, v in row.items()] for row in rows]
for form, dialect in (("csv", "excel"), ("tsv", "excel-tab")):
    same_lines(f"{form} is what Python's csv writes",
               export(form, "one.warc.gz").split(b"\r\n"),
               written_csv(spaced, dialect).split(b"\r\n"))

for jobs in ("1", "3"):
    same(f"the same bytes with {jobs} threads", export(
        "csv", "one.warc.gz", "lines.warc.gz", "one.warc.gz", "--jobs", jobs),
        export("csv", "one.warc.gz", "lines.warc.gz", "one.warc.gz"))

# ---- html and xlsx of the same rows ----------------------------------------------

cells = read_csv(export("csv", "one.warc.gz"))
same_lines("html is read by a parser", read_html(export("html", "one.warc.gz")),
           shown_in_html(cells))

export("xlsx", "one.warc.gz", "--into", "sheets")
with open("sheets/sheets_001.xlsx", "rb") as f:
    book = f.read()


same_lines("xlsx is read by the standard library",
           [[a, b, c, unescaped(v) if c == "s" else v]
            for a, b, c, v in xlsx.cells(book)], cells_of(rows))
openpyxl = module("openpyxl", "xlsx against openpyxl")
if openpyxl:
    same_lines("xlsx is read by openpyxl", read_xlsx(openpyxl, book),
               cells_of(rows))
if shutil.which("ssconvert"):
    code, _, err = run("ssconvert", "sheets/sheets_001.xlsx", "sheet.csv")
    with open("sheet.csv", "rb") as f:
        made = read_csv(f.read())
    same_lines("xlsx is read by a spreadsheet program",
               [row[0] for row in made], [row[0] for row in cells])
    same_lines("... which computes nothing",
               [list(map(unescaped, row[4:7])) for row in made],
               [row[4:7] for row in cells])
else:
    skip("xlsx against a spreadsheet program", "ssconvert is not installed")

json2csv = module("twarc.json2csv", "tables of v1 against twarc")
if json2csv:
    def plain(v):
        return v.isoformat() if hasattr(v, "isoformat") else v
    want = [dict(zip(json2csv.get_headings(), map(plain, json2csv.get_row(
        t, excel=True)))) for t in tweets]
    same_lines("tables of v1 are twarc's", rows, want)


# ---- Twitter v2 ------------------------------------------------------------------

pages = [warc.page2(rng, 50 * i, 50) for i in range(20)]
warc.write("two.warc.gz", [warc.record(warc.RECENT, warc.pack(p))
                           for p in pages])
expansions = module("twarc.expansions", "tweets of v2 against twarc")
flat = []
if expansions:
    for p in copy.deepcopy(pages):
        flat += expansions.ensure_flattened(p)
    same_lines("flattened tweets of v2 are twarc's",
               export("json_full", "two.warc.gz").decode().splitlines(),
               [json.dumps(t) for t in flat])


def cell(x):
    """Numbers as numbers: pandas writes 10.0 where another row has none."""
    try:
        number = float(x) if len(x) < 16 else x
        return number if number == number else x
    except ValueError:
        return x


converter = expansions and module("dataframe_converter",
                                  "tables of v2 against twarc-csv")
if converter:
    made = converter.DataFrameConverter(allow_duplicates=True)
    made.columns = [c for c in made.columns
                    if c != "public_metrics.bookmark_count"]
    frame = made.process(copy.deepcopy(flat))
    same_lines("tables of v2 are twarc-csv's",
               [[cell(c) for c in row] for row in
                read_csv(export("csv", "two.warc.gz"))],
               [[cell(c) for c in row] for row in
                read_csv(frame.to_csv(index=False).encode())])


# ---- Weibo ------------------------------------------------------------------------

LINKS = re.compile(r"(http://t.cn/[a-zA-z0-9]+)")
TOPIC = re.compile(r"#[\w\\\s\u4e00-\u9fff]+#")
CHARACTERS = ("#", "#", "#", " ", "a", "_", ".", "\\", "\u8bdd", "\uff0c",
              "\U0001F600", "\u00e9", "\u0663", "\u1c5a", "\u2160", "\u00bd",
              "\u3000", "\x85", "\x1c", "\u200b", "\u180e", "\u0301",
              "\n", "http://t.cn/", "http://t", "cn/", "b`^c", "[1]")
texts = ["".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(30)))
         for _ in range(3000)]
warc.write("weibo.warc.gz", [warc.record(warc.WEIBO, warc.pack({"statuses": [
    {"mid": str(i), "text": t, "created_at": "Thu Jun 02 12:00:00 +0800 2016"}
    for i, t in enumerate(texts)]}))])
weibos = [json.loads(line) for line in
          export("json", "weibo.warc.gz").decode().splitlines()]
same_lines("topics are those that Python's re finds",
           [r["topics"] for r in weibos],
           [", ".join(t[1:-1] for t in TOPIC.findall(t)) for t in texts])
same_lines("links are those that Python's re finds",
           [[r["url1"], r["url2"]] for r in weibos],
           [(LINKS.findall(t)[:2] + ["", ""])[:2] for t in texts])


# ---- Feeds ------------------------------------------------------------------------

def element(name, more=""):
    return f"<{name}{more}>{escape(words(), QUOTES)}</{name}>"


def words():
    return CONTROLS.sub("", warc.text(rng)).replace("\uffff", "").strip() \
        or "x"


QUOTES = {'"': "&quot;"}
RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>f</title><link>https://f.example/</link><language>en</language>%s
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<title>f</title><id>f</id><updated>2020-01-01T00:00:00Z</updated>%s</feed>"""


def rss_item(n):
    return "<item>" + "".join(rng.sample((
        f"<guid isPermaLink='false'>g{n}</guid>", element("title"),
        f"<link>https://f.example/{n}</link>", element("description"),
        element("content:encoded"), element("dc:creator"),
        # feedparser leaves out one that comes again.
        element("category") + f"<category>c{n}</category>",
        f"<enclosure url='https://f.example/{n}.mp3' length='1'"
        " type='audio/mpeg'/>",
        f"<pubDate>Wed, {n % 28 + 1:02} Oct 2002 13:00:00 -0430</pubDate>"),
        9)) + "</item>"


def atom_entry(n):
    return "<entry>" + "".join(rng.sample((
        f"<id>urn:{n}</id>", element("title"),
        f"<link href='https://f.example/{n}?a=1&amp;b=2'/>",
        element("summary"), element("content", " type='html'"),
        f"<author>{element('name')}<uri>u</uri></author>",
        f"<published>2020-02-{n % 28 + 1:02}T01:02:03Z</published>",
        "<updated>2020-03-01T01:02:03+01:00</updated>",
        f'<category term="{escape(words(), QUOTES)}"/>',
        f"<link rel='enclosure' href='https://f.example/{n}.mp3'/>"),
        10)) + "</entry>"


def one_line(s):
    return s and s.replace("\r", "").replace("\n", " ")


def seconds(date):
    return date and int(datetime.datetime.fromisoformat(date).timestamp())


def of_ours(e):
    return (e["entry_id"], e["url"], e["title"], e["author"],
            seconds(e["published"]), seconds(e["updated"]), e["summary"],
            e["content"], e["categories"], e["enclosures"])


def of_feedparser(e):
    return (e.get("id"), e.get("link"), one_line(e.get("title")),
            one_line(e.get("author")),
            # Asked for another way it gives one for the other.
            *(calendar.timegm(e[k]) if k in dict.keys(e) else None
              for k in ("published_parsed", "updated_parsed")),
            one_line(e.get("summary")),
            one_line(e["content"][0]["value"]) if "content" in e else None,
            ", ".join(t["term"] for t in e.get("tags", [])),
            " ".join(x["href"] for x in e.get("enclosures", [])))


feedparser = module("feedparser", "feeds against feedparser")
if feedparser:
    for name, form, item, kind in (
            ("RSS", RSS, rss_item, "application/rss+xml"),
            ("Atom", ATOM, atom_entry, "application/atom+xml")):
        feed = form % "".join(map(item, range(200)))
        warc.write("feed.warc.gz", [warc.record(
            "https://f.example/feed", feed.encode(), content_type=kind)])
        read = feedparser.parse(feed.encode(), sanitize_html=False,
                                resolve_relative_uris=False)
        same_lines(f"entries of {name} are feedparser's", [
            of_ours(json.loads(line)) for line in
            export("json", "feed.warc.gz").decode().splitlines()],
            list(map(of_feedparser, read.entries)))
done()
