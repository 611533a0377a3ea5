"""script/argiope.d.ts under `tsc --strict`, with a use of every signature.

script_types.ts also contains wrong uses.  Each is marked "@ts-expect-error",
so the compiler reports an error if one of them compiles.
"""
import re

from peer import *

need("script_types", "node", "npm")
tools = node_with("script-types-1", "typescript@5.9.3")
if tools is None:
    skip("script_types", "typescript cannot be had from npm")
    done()
declarations = SOURCE + "/script/argiope.d.ts"


def compile_files(*files):
    with open("tsconfig.json", "w") as f:
        json.dump({"compilerOptions": {
            "strict": True, "noEmit": True, "target": "es2023",
            "allowJs": True, "checkJs": True,
            "lib": ["es2023"], "module": "es2022", "types": [],
            "noUnusedLocals": False}, "files": files}, f)
    said = subprocess.run(
        ["node", tools + "/node_modules/typescript/bin/tsc", "-p", "."],
        capture_output=True, text=True, timeout=120)
    return said.returncode, said.stdout


code, said = compile_files(declarations)
check("the declarations compile", code == 0, said)
code, said = compile_files(declarations, HERE + "/script_types.ts")
check("every signature compiles, and what must not does not", code == 0, said)
code, said = compile_files(declarations, *(
    f"{SOURCE}/examples/shop/{name}" for name in ("shop.js", "parse.js")))
check("the example compiles", code == 0, said)
# The checks above can fail.
with open("typo.js", "w") as f:
    f.write("/** @type {Configuration} */\nexport default { tasks: { t: { "
            "version: '1', run({ data, createItm }) {} } } };\n")
code, said = compile_files(declarations, PLACE + "/typo.js")
check("a slip in a configuration is found", code != 0 and "createItm" in said,
      said)
with open(HERE + "/script_types.ts") as f:
    text = f.read()
with open("wrong.ts", "w") as f:
    f.write(text.replace("const texts: string", "const texts: number"))
code, said = compile_files(declarations, PLACE + "/wrong.ts")
check("a wrong type is found", code != 0 and "TS2322" in said, said)
# Each key that the page has is declared.
with open(SOURCE + "/docs/protocols/items-config.md") as f:
    keys = re.findall(r"^\| `(?:tasks\.NAME|sessions\.NAME|seeds\[\]|migrations"
                      r"\[\]|fetch|limits)\.(?:limits\.)?(\w+)`", f.read(),
                      re.M)
with open(declarations) as f:
    text = f.read()
missing = [key for key in keys if not re.search(rf"\b{key}\??[:(]", text)]
check("every key of a configuration is declared", len(keys) > 30 and
      not missing, missing or len(keys))
done()
