"""Packages of npm in a task: two that come as one ES module, as they are, and one
of CommonJS, bundled by the command of docs/npm-packages.md.
"""
from peer import *

TRY = built("tests/peers/script_try")
need("script_packages", "node", "npm", files=[TRY])
tools = node_with("script-packages-2", "zod@3.24.1", "marked@15.0.6",
                  "papaparse@5.4.1", "esbuild@0.25.12")
if tools is None:
    skip("script_packages", "npm has no packages for us")
    done()
os.makedirs("vendor", exist_ok=True)
for package, path in (("zod", "lib/index.mjs"),
                      ("marked", "lib/marked.esm.js")):
    with open(f"{tools}/node_modules/{package}/{path}") as f:
        text = f.read()
    with open(f"vendor/{package}.js", "w") as f:
        f.write(text)
with open("main.js", "w") as f:
    f.write("""
import { z } from "./vendor/zod.js";
import { marked } from "./vendor/marked.js";

const Part = z.object({ name: z.string().min(1), price: z.coerce.number(),
                        tags: z.array(z.string()).default([]) });

export default { tasks: { t: { async run({ log }) {
  log("info", JSON.stringify(Part.parse({ name: "a", price: "1.50" })));
  const wrong = Part.safeParse({ name: "", price: "x" });
  log("info", wrong.error.issues.map(i => i.path.join(".")).join(" "));
  log("info", marked.parse("# One\\n\\n* a *b*\\n* `c`\\n").trim()
    .replaceAll("\\n", ""));
} } } };
""")
said = subprocess.run([TRY, "main.js", "vendor/zod.js", "vendor/marked.js"],
                      capture_output=True, text=True, timeout=60)
lines = said.stdout.splitlines()
check("both packages are imported", said.returncode == 0,
      said.stdout + said.stderr)
same("zod accepts", lines[:1], [
    'info {"name":"a","price":1.5,"tags":[]}'])
same("zod refuses", lines[1:2], ["info name price"])
same("marked renders", lines[2:3], [
    "info <h1>One</h1><ul><li>a <em>b</em></li><li><code>c</code></li></ul>"])
# The command of the page, where the packages are.
with open(os.path.join(SOURCE, "docs", "npm-packages.md")) as f:
    command = next(line for line in f if line.startswith(
        "npx esbuild papaparse"))
bundled = subprocess.run(["sh", "-c", command.replace(
    "--outfile=", f"--outfile={PLACE}/")], cwd=tools, capture_output=True,
    text=True, timeout=60)
check("esbuild bundles papaparse", bundled.returncode == 0, bundled.stderr)
with open("csv.js", "w") as f:
    f.write("""
import Papa from "./vendor/papaparse.js";
export default { tasks: { t: { run({ log }) {
  log("info", JSON.stringify(Papa.parse("a,b\\n1,2", { header: true }).data));
} } } };
""")
said = subprocess.run([TRY, "csv.js", "vendor/papaparse.js"],
                      capture_output=True, text=True, timeout=60)
same("papaparse runs", said.stdout.splitlines()[:1],
     ['info [{"a":"1","b":"2"}]'])
# A package that wants Node says so, with the import that there is not.
with open("node.js", "w") as f:
    f.write('import fs from "node:fs"; export default {}')
said = subprocess.run([TRY, "node.js"], capture_output=True, text=True,
                      timeout=60)
check("Node's modules are refused", said.returncode == 1 and
      "cannot import 'node:fs'" in said.stdout, said.stdout)
done()
