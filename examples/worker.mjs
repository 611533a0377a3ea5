// A worker of Argiope: node worker.mjs URL TASK [once].  It counts the words of an item's text.
const [url, task, once] = process.argv.slice(2);

function run({ id, rev, data }) {   // The task: item in, mutations out.  What it throws is a failure.
  const words = data.text.split(/\s+/).filter(Boolean);
  return [{ op: "updateData", id, rev, data: { ...data, title: words[0] } },
          { op: "updateMetadata", metadata: { words: words.length } }];
}

async function ask(path, body) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ARGIOPE_TOKEN ?? ""}` };
  const answer = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function end(lease, item) {
  try { return { lease, outcome: "success", mutations: run(item) }; }
  catch (e) { return { lease, outcome: "failure", error: { class: "permanent", message: `${e.name}: ${e.message}` } }; }
}

for (let leases = [null]; leases.length > 0 || !once;) {
  ({ leases } = await ask("/worker/claim", { worker: `js-${process.pid}`, tasks: [task], max: 10, wait_ms: once ? 0 : 20000 }));
  for (let { lease, item } of leases) {
    let result;
    do {
      item = result?.current.items[item.id] ?? item;
      [result] = (await ask("/worker/complete", { completions: [end(lease, item)] })).results;
    } while (result.status === "conflict");
    console.log(item.id, result.status);
  }
}
