/*
 * external_oidc.mjs -- oidc-provider as the provider of external_popup.py, and an
 * API with documents of the user whose access token is presented.
 *
 *     node external_oidc.mjs TOOLS JSON
 *
 * TOOLS has oidc-provider in its node_modules.  JSON has issuer, port,
 * certificate (paths of certificate and key), clients, access_s, page and items.
 * Prints a line of JSON for each event of the provider.
 */
import fs from "node:fs";
import https from "node:https";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [tools, given] = process.argv.slice(2);
const options = JSON.parse(given);
const find = createRequire(path.join(tools, "package.json"));
const { default: Provider } = await import(pathToFileURL(
    find.resolve("oidc-provider")).href);

const provider = new Provider(options.issuer, {
	clients: options.clients,
	clientDefaults: { grant_types: ["authorization_code",
	    "refresh_token"], response_types: ["code"] },
	pkce: { methods: ["S256"], required: () => true },
	features: { devInteractions: { enabled: true },
	    revocation: { enabled: true }, registration: { enabled: true } },
	ttl: { AccessToken: options.access_s, AuthorizationCode: 60,
	    RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600,
	    IdToken: 600 },
	issueRefreshToken: () => true,
	rotateRefreshToken: true,
	claims: { openid: ["sub"], profile: ["name"], email: ["email"] },
	// The names of the profile come from its endpoint.
	conformIdTokenClaims: true,
	cookies: { keys: ["of the test"] },
	findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({
	    sub: id, name: "User " + id, email: id + "@example.org" }) }),
});

function say(event, more) {
	process.stdout.write(JSON.stringify({ event, ...more }) + "\n");
}

for (const name of ["authorization.success", "authorization.error",
    "grant.success", "grant.error", "grant.revoked", "refresh_token.consumed",
    "refresh_token.saved", "access_token.saved", "access_token.destroyed",
    "refresh_token.destroyed", "registration_create.success",
    "registration_create.error", "server_error"])
	provider.on(name, (...all) => say(name, { why: all.map((x) =>
	    x?.error_description ?? x?.message).filter(Boolean).join() }));

async function items(request, answer) {
	const url = new URL(request.url, options.issuer);
	const [kind, value] = (request.headers.authorization ?? "").split(" ");
	const token = kind === "Bearer" &&
	    await provider.AccessToken.find(value);
	const reply = (status, body) => {
		answer.writeHead(status, { "Content-Type": "application/json" });
		answer.end(JSON.stringify(body));
	};

	if (!token || token.isExpired)
		return reply(401, { error: "invalid_token" });
	const first = Math.max(Number(url.searchParams.get("since") ?? 0),
	    Number(url.searchParams.get("after") ?? 0));
	const last = Math.min(first + options.page, options.items), found = [];
	for (let i = first + 1; i <= last; i++)
		found.push({ id: i, name: token.accountId + " " + i });
	reply(200, { items: found, ...last < options.items ?
	    { next: String(last) } : {} });
}

const handle = provider.callback();
https.createServer({ cert: fs.readFileSync(options.certificate[0]),
    key: fs.readFileSync(options.certificate[1]) }, (request, answer) => {
	if (request.url.split("?")[0] === "/items")
		items(request, answer).catch((e) => answer.destroy(e));
	else
		handle(request, answer);
}).listen(options.port, "127.0.0.1", () => say("listening"));
