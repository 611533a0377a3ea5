#!/usr/bin/env python3
"""A worker of Argiope: worker.py URL TASK [once].  It counts the words of an item's text."""
import json, os, sys, urllib.request

URL, TASK, ONCE = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3:] == ["once"]

def run(item):      # The task: item in, mutations out.  What it raises is a failure.
    words = item["data"]["text"].split()
    return [{"op": "updateData", "id": item["id"], "rev": item["rev"], "data": {**item["data"], "title": words[0]}},
            {"op": "updateMetadata", "metadata": {"words": len(words)}}]

def ask(path, **body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("ARGIOPE_TOKEN", "")}
    with urllib.request.urlopen(urllib.request.Request(URL + path, json.dumps(body).encode(), headers), timeout=90) as r:
        return json.load(r)

def end(lease, item):
    try:
        return {"lease": lease, "outcome": "success", "mutations": run(item)}
    except Exception as e:
        return {"lease": lease, "outcome": "failure", "error": {"class": "permanent", "message": f"{type(e).__name__}: {e}"}}

leases = [None]
while leases or not ONCE:
    leases = ask("/worker/claim", worker=f"py-{os.getpid()}", tasks=[TASK], max=10, wait_ms=0 if ONCE else 20000)["leases"]
    for lease, item in [(x["lease"], x["item"]) for x in leases]:
        result = {"status": "conflict", "current": {"items": {}}}
        while result["status"] == "conflict":
            item = result["current"]["items"].get(item["id"], item)
            result = ask("/worker/complete", completions=[end(lease, item)])["results"][0]
        print(item["id"], result["status"], flush=True)
