/*
 * The books of the example server (python3 examples/external/server.py), read by
 * a script: the same documents as those of connector.json.  Put your API in the
 * place of API, and its host in `hosts`.
 *
 *     argiope external check books.js --params params.json
 */
const API = "http://127.0.0.1:8766/books";

/** @type {Connector} */
export default {
  name: "books",
  version: 1,
  title: "Books",
  description: "Books of the example server, by a script",
  serves: ["external"],
  // Where requests may be signed; HOST:PORT may also be a private address.
  hosts: ["127.0.0.1:8766"],
  credential: { external: "none" },
  parameters: {
    type: "object",
    required: ["subject"],
    properties: {
      subject: { title: "Subject", "x-ui": "list", default: "novel",
        enum: ["novel", "poetry", "science"] },
      published_from: { title: "Published from", "x-ui": "date" },
    },
  },
  schema: {
    type: "object",
    required: ["id", "title", "added"],
    properties: {
      id: { type: "string", minLength: 1 },
      title: { type: "string" },
      added: { type: "string", format: "date-time" },
    },
  },
  docIdField: "id",

  // For POST /check: throw where parameters or account are wrong.
  async check(ctx) {
    await readPage(ctx, null);
  },

  async run(ctx) {
    // The place of an earlier process, when this one goes on from there.
    let after = ctx.state.get("after") ?? null;
    let newest = ctx.state.get("newest") ?? "";

    do {
      const page = await readPage(ctx, after);
      for (const book of page.books)
        if (book.added > newest)
          newest = book.added;
      // Returns when the documents are in the spool; then the place may move.
      await ctx.emit(page.books, "books");
      after = page.next;
      ctx.state.set("after", after);
      ctx.state.set("newest", newest);
      ctx.progress(`read until ${after ?? "the end"}`);
    } while (after !== null && !ctx.stopping);
    // The next run asks for what is new.
    ctx.state.set("since", newest);
  },
};

async function readPage(ctx, after) {
  const url = new URL(API);

  url.searchParams.set("subject", ctx.params.subject);
  url.searchParams.set("per_page", 4);
  if (ctx.params.published_from)
    url.searchParams.set("published_from", ctx.params.published_from);
  if (ctx.state.get("since"))
    url.searchParams.set("added_since", ctx.state.get("since"));
  if (after !== null)
    url.searchParams.set("after", after);
  const answer = await ctx.fetch(url);
  if (answer.status === 404)
    throw new ConfigError("there is no such list of books");
  return answer.json();
}
