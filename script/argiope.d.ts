/*
 * What Argiope's task functions see: `argiope task types` prints this file.
 *
 * They are declarations of a script, not of a module: a configuration says
 * `@type {Configuration}` above its `export default`, and a function of its own
 * `@param {TaskContext} ctx`.  Compile with lib ["es2023"] and without "dom",
 * whose names differ.
 */

type Json = null | boolean | number | string | Json[] | Obj;
type Obj = { [k: string]: Json };
type Dict = Record<string, string>;
type Merge = (old: Obj) => Obj;
type Merge2 = (into: Obj, from: Obj) => Obj;
type Tag = string | { name: string; value?: string };
/** "30d", milliseconds, or null for never. */
type Duration = string | number | null;
/** What is left out is the current item's, the current task's. */
type Pair = { id?: string; taskName?: string };

interface Item {
  id: string;
  data: Obj;
  aliases: string[];
  tags: Tag[];
  createdBy: string | null;
  createdAt: string;
  updatedAt: string;
  rev: number;
}

/** The argument of `run`.  Reads see committed state; changes are queued. */
interface TaskContext {
  readonly data: Obj;
  readonly id: string;
  readonly item: Item;
  readonly task: string;
  readonly attempt: number;

  /** Its data; NotFoundError where it is missing. */
  getItem(id: string): Promise<Obj>;
  getItem(q: { id: string; optional: true }): Promise<Obj | undefined>;
  getItem(q: { id: string; optional?: boolean; record: true }): Promise<Item | undefined>;
  /** undefined when there is none, or when it is stale. */
  getMetadata(q: string | Pair & { taskName: string; allowStale?: boolean }):
    Promise<Obj | undefined>;
  getBlob(name: string | { id?: string; name: string }): Promise<Uint8Array | undefined>;

  /** `update` gets {} where the item is new. */
  createItem(o: { id?: string; tags?: Tag[]; aliases?: string[];
    failIfExists?: boolean; createdBy?: string } & ({ data: Obj } |
    { id: string; update: Merge; allowUpsert: true })): void;
  /** A string is the new id. */
  renameItem(o: string | { from?: string; to: string }): void;
  mergeItem(o: { from?: string; into: string; merge?: Merge2;
    mergeMetadata?: { [taskName: string]: Merge2 } }): void;
  deleteItem(o?: { id?: string }): void;
  createAlias(o: { from: string; to?: string; failIfExists?: boolean }): void;
  deleteAlias(from: string): void;
  updateTags(o: { id?: string; add?: Tag[]; remove?: string[] }): void;
  updateData(o: Merge | { id?: string; merge: Merge }): void;
  updateMetadata(o: Merge | Pair & { merge: Merge }): void;
  expire(o?: Pair): void;
  setTTL(o: Duration | Pair & { ttl: Duration }): void;
  completeFor(o: { id: string; metadata?: Obj; ttl?: Duration }): void;
  putBlob(o: { id?: string; name: string; bytes: Uint8Array | Response; type?: string }): void;
  deleteBlob(o: { id?: string; name: string }): void;
  /** true where it is left out; runs start disallowed. */
  allowFailure(allowed?: boolean): void;
  /** Categories: error, warn, info, debug; others are hidden. */
  log(category: string, message: string): void;

  fetch(url: string, o?: FetchOptions): Promise<Response>;
  session(name: string): Promise<Session>;
  /** A placeholder, which the engine replaces as the request leaves. */
  secret(name: string): string;
  sleep(ms: number): Promise<void>;
  /** RFC 3339 or seconds since 1970. */
  waitUntil(time: string | number): Promise<void>;
  randomId(prefix?: string): string;
}

/** The argument of a connector's `run` and `check`. */
interface ConnectorContext extends
  Pick<TaskContext, "session" | "sleep" | "waitUntil" | "log"> {
  /** `auth` signs with the run's credential, for `hosts` of the module. */
  fetch(url: string | URL, o?: FetchOptions): Promise<Response>;
  readonly door: "external";
  /** In their normal form; a password is a placeholder. */
  readonly params: Obj;
  /** What is no secret: user, instance, expiry. */
  readonly credential: Obj | null;
  /** true: waits end at once, and 15 s remain. */
  readonly stopping: boolean;
  readonly seeds: { id?: string; token?: Json; uid?: string }[];
  /** 256 KiB; committed with the documents that were emitted before. */
  readonly state: { get(key: string): Json | undefined; set(key: string, value: Json): void };
  /** Returns when the documents are in the spool. */
  emit(documents: Obj | Obj[], label?: string): Promise<void>;
  /** For harvests: has no effect. */
  count(label: string, n?: number): void;
  note(level: "info" | "warning" | "error", code: string, message: string, seedId?: string): void;
  /** For harvests: has no effect. */
  updateSeed(id: string, o: { token?: Json; uid?: string }): void;
  /** A part of the task's next status. */
  progress(message: string): void;
}

/** The default export of a connector's module. */
interface Connector {
  name: string;
  version: string | number;
  title: string;
  description?: string;
  image?: string;
  platform?: string;
  kind?: "batch" | "stream";
  serves?: ("harvest" | "external")[];
  types?: string[];
  parameters?: Obj;
  /** "NAME" for TLS at port 443, or "NAME:PORT". */
  hosts?: string[];
  credential?: "none" | "basic" | "oauth" |
    { external: "none" | "basic" | "oauth"; fields?: string[] };
  oauth?: Obj;
  schema: Obj;
  docIdField: string;
  analysis?: Obj;
  run(ctx: ConnectorContext): void | Promise<void>;
  check?(ctx: ConnectorContext): void | Promise<void>;
  choices?: { [parameter: string]: (ctx: ConnectorContext, o: { query: string }) =>
    Choice[] | Promise<Choice[]> };
}
interface Choice { value: string | number; label?: string }

interface FetchOptions {
  method?: string;
  headers?: Dict;
  body?: string | Uint8Array;
  json?: Json;
  form?: Dict;
  session?: Session;
  auth?: Auth;
  timeout?: Duration;
  redirect?: "follow" | "manual";
  maxAge?: Duration;
  accept?: number[] | "any";
  stream?: boolean;
}

type Auth = "basic" | "bearer" | "oauth1" | { query: string };

interface Response extends Record<"ok" | "redirected" | "fromArchive", boolean> {
  status: number;
  url: string;
  headers: { get(n: string): string | null; getAll(n: string): string[] };
  /** null: simulated, live. */
  capture: { crawl: number; seq: number } | null;
  text: Get;
  json(): Json;
  bytes(): Uint8Array;
  html(): Dollar;
  xml(): Dollar;
  lines(): AsyncIterable<string>;
  events(): AsyncIterable<{ event: string; data: string; id: string }>;
}

interface Query {
  querySelector(css: string): El | null;
  querySelectorAll(css: string): El[];
}

/** `$` of a document; what is missing is an empty Sel or an empty string. */
interface Dollar extends Query {
  (css: string | El | Sel, within?: Sel): Sel;
  root: Sel;
  base: string;
  meta(): Dict;
  jsonld(): Json[];
  microdata(): Json[];
  links(): string[];
}

type Nav = (css?: string) => Sel;
type Attr = (name: string) => string | undefined;
type Get = () => string;

/** `abs` is the attribute as an absolute URL. */
interface Sel extends Iterable<El>, Record<"attr" | "abs" | "data", Attr>,
  Record<"find" | "not" | "has" | "add" | "parent" | "parents" | "closest" | "children" | "contents"
    | "siblings" | "next" | "prev" | "first" | "last", Nav>,
  Record<"text" | "html" | "outerHtml" | "val", Get> {
  length: number;
  filter(f: string | ((i: number, e: El) => boolean)): Sel;
  is(css: string): boolean;
  eq(i: number): Sel;
  slice(a: number, b?: number): Sel;
  index(): number;
  remove(): Sel;
  hasClass(n: string): boolean;
  each(f: (i: number, e: El) => void | false): Sel;
  map<T>(f: (i: number, e: El) => T): T[] & { get(): T[] };
  get(): El[];
  get(i: number): El;
  toArray(): El[];
}

/** One node; the same node is the same object.  HTML's `tagName` is in lower case, as cheerio has it. */
interface El extends Query, Record<"tagName" | "textContent" | "innerHTML" | "outerHTML", string> {
  parentElement: El | null;
  children: El[];
  getAttribute: Attr;
}

interface Session {
  name: string;
  data: Obj;
  fetch: TaskContext["fetch"];
  invalidate(): void;
}

/** An entry of the configuration's `sessions`. */
interface SessionConfig {
  ttl?: Duration;
  login(ctx: { fetch: TaskContext["fetch"]; session: Session; secret: TaskContext["secret"];
    ancestors: Item[] }): Promise<void> | void;
  isExpired?(res: Response): boolean;
}

/** An entry of the configuration's `tasks`; docs/protocols/items-config.md has the meaning of each key. */
interface TaskConfig {
  version: string;
  run?(ctx: TaskContext): Promise<void> | void;
  ttl?: string | null;
  dependsOn?: string[];
  prefetch?: string[];
  parallel?: number;
  weight?: number;
  lease?: string;
  minInterval?: string;
  retries?: number;
  backoff?: string;
  backoffMax?: string;
  onFailure?: "discard" | "store";
  maxOutstandingFailures?: number;
  runs?: "last" | "failed" | "none";
  memory?: string;
  cpu?: string;
  wall?: string;
  remote?: boolean;
  limits?: { rate?: string; tags?: Dict; global?: boolean; groups?: boolean };
}

/** The default export of a configuration. */
interface Configuration {
  tags?: { [tag: string]: string[] };
  tasks?: { [name: string]: TaskConfig };
  seeds?: { id: string; tags?: string[]; data?: Obj }[];
  limits?: { global?: string; groups?: Dict };
  fetch?: { policy?: string | Obj; private?: string[] };
  sessions?: { [name: string]: SessionConfig };
  migrations?: ({ id: string } & (
    { renameTag: [string, string] } | { renameTask: [string, string] }))[];
}

declare class FetchError extends Error {
  readonly code: string;
  readonly status: number | undefined;
  readonly response: Response | undefined;
  readonly retryAfter: number | undefined;
}
declare class NotFoundError extends Error {}
declare class MutationError extends Error {
  readonly op: string;
  readonly reason: string;
}
declare class ReplayMiss extends Error {}
declare class TransientError extends Error {}
/** A connector's: the user must act, as on parameters or the account. */
declare class ConfigError extends Error {
  constructor(message?: string, options?: { cause?: unknown });
}
declare class PermanentError extends Error {}

/* The globals that ECMAScript 2023 does not have. */

/** Any typed array, but no DataView. */
type Bytes = Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array
  | Uint32Array | Float32Array | Float64Array | BigInt64Array | BigUint64Array;

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Iterable<[string, string]> | Dict | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string, params: URLSearchParams) => void, thisArg?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
  encodeInto(text: string, to: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: Bytes | ArrayBuffer, options?: { stream?: boolean }): string;
}

declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function structuredClone<T>(value: T): T;
/** The algorithms of crypto.subtle.digest(); a string is taken as UTF-8. */
declare function hmac(algorithm: string, key: string | Uint8Array | ArrayBuffer,
  data: string | Uint8Array | ArrayBuffer): Uint8Array;

declare const crypto: {
  readonly subtle: {
    digest(algorithm: "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512" | { name: string },
      data: Bytes | ArrayBuffer): Promise<ArrayBuffer>;
  };
};

/** Lines of the log. */
declare const console: Record<"log" | "info" | "warn" | "error" | "debug", (...values: unknown[]) => void>;
