/*
 * external_seed.js -- the JavaScript of the seed's external crawler, by Chromium
 * and jQuery; how it is called is in console_page.js.  BASE is the front end's.
 *
 * The functions that run in the page are the seed's examples with their own
 * names and templates.  jQuery has neither $.patch nor $.delete, and its $.post
 * sends forms: the page has these three for JSON, as the seed's own must.
 */
"use strict";

const { options, base, check, same, run, newContext } =
    require("./console_page.js");

function jsonCalls(headers) {
	for (const name of ["post", "patch", "delete"])
		$[name] = (url, data, callback) => {
			if (typeof data === "function")
				[data, callback] = [undefined, data];
			return $.ajax({ url, method: name.toUpperCase(), headers,
			    contentType: data && "application/json",
			    data: data && JSON.stringify(data),
			    dataType: "json", success: callback });
		};
}

/* --- the back end's calls -------------------------------------------------- */

/* Sent from the door's own origin: a back end is no page. */
async function backend() {
	const context = await newContext();
	const page = await context.newPage();
	const address = options.door + "/a-page-of-the-test";

	await page.route(address, (r) => r.fulfill({ contentType: "text/html",
	    body: "<!doctype html><title>Back end</title>" }));
	await page.goto(address);
	await page.addScriptTag({ path: options.jquery });
	const form = await page.evaluate((o) => new Promise((done) => $.ajax({
	    url: `${o.EC_end_point}/task?version=1`, method: "POST",
	    headers: o.headers, data: { fid: o.fid, params: { kind: "a" } } })
	    .always((x) => done([x.status, x.responseJSON]))), options);
	same("a form is no JSON: 400", form[0], 400);
	check("... and says so", /JSON/.test(form[1]?.messages?.[0]),
	    JSON.stringify(form));
	await page.evaluate(jsonCalls, options.headers);
	same("without endpoint: 400", await page.evaluate((o) => new Promise(
	    (done) => $.post(`${o.EC_end_point}/task?version=1`, { fid: o.fid,
	    params: {} }).always((x) => done([x.status, x.responseJSON
	    .messages[0].split(":")[0]]))), options), [400, "endpoint"]);

	const started = await page.evaluate(({ EC_end_point,
	    external_crawler_version, fid, endpoint, credential }) =>
	    new Promise((done, failed) => {
		$.post(`${EC_end_point}/task?version=${external_crawler_version}`, {

			fid: fid,
			params: {
				kind: "a"
			},
			credential: credential,
			endpoint: endpoint

		}, function(json) {

			var payload = json.payload
			var callback = payload.callback;
			var status = payload.status; // the current status
			// keep the callback for further operation
			done({ json, callback, status });
		}).fail((x) => failed(new Error(x.responseText)));
	}), options);
	same("$.post: the status", started.status, { code: 0, message: "New" });
	check("... the callback", started.callback.endsWith("/task/" +
	    options.fid), started.callback);
	same("... the envelope", Object.keys(started.json).sort(),
	    ["payload", "success", "version"]);

	const stop = (EC_end_point) => page.evaluate(({ EC_end_point, taskId,
	    external_crawler_version }) => new Promise((done, failed) => {
		$.patch(`${EC_end_point}/task/${taskId}/status?version=${external_crawler_version}`, {
			code: 408,
			message: 'Task is timeout',
		}, function(json) {
			// recycle the resource
			done(json);
		}).fail((x) => failed(new Error(x.responseText)));
	}), { EC_end_point, taskId: options.fid, external_crawler_version: 1 });
	same("$.patch", await stop(options.EC_end_point), { success: true,
	    payload: { status: { code: 408, message: "Task is timeout" } },
	    version: 0 });
	same("... again", (await stop(options.EC_end_point)).payload.status.code,
	    408);
	await context.close();
}

/* --- the front end's calls --------------------------------------------------- */

async function frontend() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const page = await context.newPage();

	await page.goto(base + "/page");
	await page.addScriptTag({ path: options.jquery });
	await page.evaluate(jsonCalls, {});
	await page.evaluate(({ oauth_end_point, uuid, subdomain }) => {
		window.told = [];
		window.thirdPartyToken = function() {
			$.get(`${oauth_end_point}/token?uuid=${uuid}&subdomain=${subdomain}`, function(oauth){

				/*
					the oauth should has user, expiry, issued, token
				*/

				// must have
				var { user, expiry, issued, token } = oauth;

				// optional
				var { reported_name, email_address } = oauth;

				// the FE will put this into crawler object
				told.push({ user, expiry, issued, token,
				    reported_name, email_address });
			}).fail(function(jqxhr,textStatus,error){
				// oauth failed
				if( jqxhr.status === 404 ) {
					// token doesn't exist
					told.push(404);
				} else {
					told.push(jqxhr.status);
				}
			})
		};
		const open = document.createElement("button");
		open.textContent = "Connect";
		open.onclick = function() {
			// pop up a oauth window
			var win = window.open( `${oauth_end_point}/login?uuid=${uuid}&subdomain=${subdomain}&reset=0`,
				'ConnectWithOAuth',
				'location=0,status=0,width=640,height=440' );
			var testInterval = window.setInterval(function(){
				if( win && win.closed ) {
					thirdPartyToken();
					window.clearInterval(testInterval);
				} else {
					// something wrong within the oauth window
				}
			}, 500);
		};
		document.body.append(open);
	}, options);
	const told = async (n) => {
		await page.waitForFunction((k) => window.told.length >= k, n);
		return page.evaluate(() => window.told.at(-1));
	};
	await page.evaluate(() => thirdPartyToken());
	same("$.get before a login: 404", await told(1), 404);

	const wait = page.waitForEvent("popup");
	await page.click("button");
	const popup = await wait;
	await popup.waitForSelector("[name=user]");
	await popup.fill("[name=user]", "ada");
	const gone = popup.waitForEvent("close");
	await popup.click("#allow");
	await gone;
	const oauth = await told(2);
	same("$.get after it: the user, who is not the uuid", [oauth.user,
	    oauth.reported_name, oauth.email_address], ["id-ada", "Ada",
	    "ada@example.org"]);
	check("... token, issued, expiry", oauth.token && [oauth.issued,
	    oauth.expiry].every((d) => !Number.isNaN(Date.parse(d))),
	    JSON.stringify(oauth));

	// clear the token
	same("$.delete, then $.get", await page.evaluate(({ oauth_end_point,
	    uuid, subdomain }) => new Promise((done, failed) => {
		$.delete(`${oauth_end_point}/token?uuid=${uuid}&subdomain=${subdomain}`,(json)=>{
			$.get(`${oauth_end_point}/token?uuid=${uuid}&subdomain=${subdomain}`,()=>{
				done("the EC server should return 404 after the delete call");
			}).fail((jqxhr)=>{
				done([json, jqxhr.status]);
			})
		}).fail((x) => failed(new Error(x.status + x.responseText)));
	}), options), [{ success: true, payload: {}, version: 0 }, 404]);
	await context.close();
}

/* A page of another origin reads nothing and clears nothing. */
async function stranger() {
	const context = await newContext({ ignoreHTTPSErrors: true });
	const page = await context.newPage();

	await page.goto(options.stranger + "/page");
	await page.addScriptTag({ path: options.jquery });
	for (const method of ["GET", "DELETE"])
		same(`${method} by a page of another origin is blocked`,
		    await page.evaluate(({ o, method }) => new Promise((done) =>
		    $.ajax({ url: `${o.oauth_end_point}/token?uuid=${o.uuid}` +
		    `&subdomain=${o.subdomain}`, method }).always((x, how) =>
		    done([how, x?.status]))), { o: options, method }),
		    ["error", 0]);
	await context.close();
}

run({ backend, frontend, stranger });
