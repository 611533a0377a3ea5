"""exporter.py MODULES OUTPUT FILE... -- tweets of API v1.1 out of WARC files.

MODULES is `warcio`, with Python's json, or `fastwarc`, with orjson.  OUTPUT is
`csv`, to standard output; `iterator`, the whole tweets, one a line, printed as
SFM's iterators do; `dumps`, the same faster; or `xlsx=NAME`, into that file.
"""
import csv
import datetime
import json
import sys

SEARCH = "https://api.twitter.com/1.1/search/tweets.json"


def bodies_warcio(path):
    from warcio.archiveiterator import ArchiveIterator
    with open(path, "rb") as f:
        for record in ArchiveIterator(f):
            if record.rec_type == "response" and record.rec_headers.get_header(
                    "WARC-Target-URI").startswith(SEARCH):
                yield record.content_stream().read()


def bodies_fastwarc(path):
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    with open(path, "rb") as f:
        for record in ArchiveIterator(f, record_types=WarcRecordType.response,
                                      auto_decode="all"):
            if record.headers["WARC-Target-URI"].startswith(SEARCH):
                yield record.reader.read()


def tweets(modules, paths):
    if modules == "fastwarc":
        from orjson import loads
    else:
        loads = json.loads
    bodies = globals()["bodies_" + modules]
    return (t for path in paths for body in bodies(path)
            for t in loads(body)["statuses"])


# ---- The exporter ----------------------------------------------------------------

HEAD = """id tweet_url created_at parsed_created_at user_screen_name text
tweet_type coordinates hashtags media urls favorite_count
in_reply_to_screen_name in_reply_to_status_id in_reply_to_user_id lang place
possibly_sensitive retweet_count retweet_or_quote_id
retweet_or_quote_screen_name retweet_or_quote_user_id source user_id
user_created_at user_default_profile_image user_description
user_favourites_count user_followers_count user_friends_count
user_listed_count user_location user_name user_statuses_count user_time_zone
user_urls user_verified""".split()
NOBODY = {"user": {}}


def line(text):
    return text and text.replace("\n", " ").replace("\r", "")


def row(t):
    u, kept, of = t["user"], t.get("retweeted_status"), t.get("quoted_status")
    first, other, own = kept or t, kept or of or NOBODY, t["entities"]
    media = t.get("extended_entities", own).get("media", ())
    links = u.get("entities", {}).get("url", {}).get("urls", ())
    long, place, point = (first.get("extended_tweet", first), t.get("place"),
                          t.get("coordinates"))
    return (
        t["id_str"],
        f"https://twitter.com/{u['screen_name']}/status/{t['id_str']}",
        t["created_at"], datetime.datetime.strptime(
            t["created_at"], "%a %b %d %H:%M:%S %z %Y"), u["screen_name"],
        line(long["full_text"] if "full_text" in long else long["text"]),
        "reply" if t["in_reply_to_status_id"] else "retweet" if kept else
        "quote" if of else "original",
        "%f %f" % tuple(point["coordinates"]) if point else None,
        " ".join([h["text"] for h in first["entities"]["hashtags"]]),
        " ".join([m["media_url_https"] for m in media]) if media else None,
        " ".join([x["expanded_url"] or "" for x in own["urls"]]),
        first["favorite_count"], t["in_reply_to_screen_name"],
        t["in_reply_to_status_id"], t["in_reply_to_user_id"], t.get("lang"),
        place["full_name"] if place else None, t.get("possibly_sensitive"),
        t["retweet_count"], other.get("id_str"),
        other["user"].get("screen_name"), other["user"].get("id_str"),
        t["source"], u["id_str"], u["created_at"], u["default_profile_image"],
        line(u["description"]), u["favourites_count"], u["followers_count"],
        u["friends_count"], u["listed_count"], line(u["location"]),
        line(u["name"]), u["statuses_count"], u["time_zone"],
        " ".join([x["expanded_url"] for x in links if x["expanded_url"]]),
        u["verified"])


def write_csv(found):
    sys.stdout.reconfigure(newline="", encoding="utf-8")
    writer = csv.writer(sys.stdout)
    writer.writerow(HEAD)
    writer.writerows(map(row, found))


# ---- Other outputs ---------------------------------------------------------------

def write_items(found):
    for tweet in found:
        json.dump(tweet, sys.stdout)
        sys.stdout.write("\n")


def write_items_at_once(found):
    """In C: json.dump() is Python, a write for each token."""
    for tweet in found:
        sys.stdout.write(json.dumps(tweet) + "\n")


def write_xlsx(found, path):
    import xlsxwriter
    book = xlsxwriter.Workbook(path, {
        "constant_memory": True, "strings_to_formulas": False,
        "strings_to_urls": False, "strings_to_numbers": False})
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, HEAD)
    for i, tweet in enumerate(found):
        cells = list(row(tweet))
        cells[3] = cells[3].isoformat()
        sheet.write_row(i + 1, 0, cells)
    book.close()


def main():
    modules, output, *paths = sys.argv[1:]
    found = tweets(modules, paths)
    if output == "csv":
        write_csv(found)
    elif output == "iterator":
        write_items(found)
    elif output == "dumps":
        write_items_at_once(found)
    elif output.startswith("xlsx="):
        write_xlsx(found, output[5:])
    else:
        sys.exit(f"exporter.py: no output {output}")


main()
