"""script/argiope.d.ts under `tsc --strict`, with a use of every signature.

script_types.ts also contains wrong uses.  Each is marked "@ts-expect-error",
so the compiler reports an error if one of them compiles.
"""
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
# The check above can fail.
with open(HERE + "/script_types.ts") as f:
    text = f.read()
with open("wrong.ts", "w") as f:
    f.write(text.replace("const texts: string", "const texts: number"))
code, said = compile_files(declarations, PLACE + "/wrong.ts")
check("a wrong type is found", code != 0 and "TS2322" in said, said)
done()
