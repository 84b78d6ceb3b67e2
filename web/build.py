#!/usr/bin/env python3
"""Makes the report page out of web/: one HTML file, everything inlined, no bundler.

    web/build.py --out DIR     writes DIR/report_page.head.html, DIR/report_page.tail.html,
                               DIR/report_page.html (head + null + tail) and the server's page,
                               DIR/serve_page.html
    web/build.py --out DIR --speedscope RELEASE
                               writes the second viewer, packed, out of its npm package's
                               dist/release: DIR/speedscope.js.gz, .css.gz, .woff2, .license.gz;
                               empty files when there is none

The report is head + JSON data + tail; the server's page has no data and may ask its own server. Each module of web/src becomes one function scope, in the
order of its imports; so modules keep their own names. What the modules may use is checked here:
named imports from './file.js', and exported functions, constants and classes. The page's Content
Security Policy names the SHA-256 of the one script and the one style sheet, so nothing else can
run, whatever a name in the data contains.
"""
import argparse
import base64
import gzip
import hashlib
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent / "src"
IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*'\./([a-z_]+\.js)';[ \t]*\n", re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) +([A-Za-z_$][\w$]*))", re.M)
BLOCK_COMMENT = re.compile(r"^[ \t]*/\*.*?\*/[ \t]*\n", re.M | re.S)
LINE_COMMENT = re.compile(r"^[ \t]*//.*\n", re.M)
INDENT = re.compile(r"^[ \t]+", re.M)
DATA_MARK = "@DATA@"


def fail(message):
    sys.exit(f"web/build.py: {message}")


def load(name, modules, loading):
    """Reads module `name` and what it imports; `modules` ends up in the order to run them."""
    if name in modules:
        return
    if name in loading:
        fail(f"import cycle: {' -> '.join([*loading, name])}")
    text = (SOURCE / name).read_text(encoding="utf-8")
    imports = [([n.strip() for n in m[1].split(",") if n.strip()], m[2])
               for m in IMPORT.finditer(text)]
    for names, target in imports:
        load(target, modules, [*loading, name])
        missing = [n for n in names if n not in modules[target]["exports"]]
        if missing:
            fail(f"{name} imports {', '.join(missing)}, which {target} does not export")
    exports = EXPORT.findall(text)
    body = EXPORT.sub("", IMPORT.sub("", text))
    if re.search(r"^(import|export)\b", body, re.M):
        fail(f"{name}: only named imports from './x.js' and exported declarations are understood")
    body = LINE_COMMENT.sub("", BLOCK_COMMENT.sub("", body)).strip()
    if any(line.count("`") % 2 for line in body.splitlines()):
        fail(f"{name}: a template text over several lines would lose its indentation")
    body = INDENT.sub("", body)
    modules[name] = {"imports": imports, "exports": exports, "body": body}


def scope_name(file):
    return "module_" + file[:-3]


def bundle(entry):
    modules = {}
    load(entry, modules, [])
    parts = ["'use strict';"]
    for name, module in modules.items():
        parts.append(f"const {scope_name(name)} = (() => {{")
        parts += [f"const {{ {', '.join(names)} }} = {scope_name(target)};"
                  for names, target in module["imports"]]
        parts += [module["body"], f"return {{ {', '.join(module['exports'])} }};", "})();"]
    return "\n".join(parts) + "\n"


def check_inline(what, text):
    if re.search(r"</(script|style)|<!--", text, re.I):
        fail(f"the {what} contains a tag end or comment start and cannot be inlined")


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def make_page(name, entry, styles, more_policy):
    """One page with everything in it."""
    style = "\n" + "".join((SOURCE / file).read_text(encoding="utf-8") for file in styles)
    script = "\n" + bundle(entry)
    check_inline("style sheet", style)
    check_inline("script", script)
    policy = ("default-src 'none'; "
              f"script-src {policy_hash(script)}; style-src {policy_hash(style)}; {more_policy}"
              "img-src data:; base-uri 'none'; form-action 'none'; "
              "require-trusted-types-for 'script'; trusted-types 'none'")
    page = (SOURCE / name).read_text(encoding="utf-8")
    for mark, value in (("@POLICY@", policy), ("@STYLE@", style), ("@SCRIPT@", script)):
        if page.count(mark) != 1:
            fail(f"{name} must contain {mark} once")
        page = page.replace(mark, value)
    return page


def write_changed(path, content):
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def pack_speedscope(release, out):
    """One script, one style sheet, one font; what it can load besides is not needed here."""
    names = {"js": "speedscope-*.js", "css": "speedscope-*.css", "woff2": "*.woff2"}
    found = {kind: sorted(release.glob(pattern)) for kind, pattern in names.items()}
    parts = {kind: files[0].read_bytes() if files else b"" for kind, files in found.items()}
    licenses = [release.parent.parent / "LICENSE", release / "source-code-pro.LICENSE.md"]
    parts["license"] = b"\n".join(file.read_bytes() for file in licenses if file.exists())
    if all(found.values()):
        parts["css"] = parts["css"].replace(found["woff2"][0].name.encode(), b"font.woff2")
        if b"font.woff2" not in parts["css"]:
            fail("speedscope's style sheet does not name its font")
    for kind, content in parts.items():
        packed = kind != "woff2" and content
        write_changed(out / f"speedscope.{kind}{'' if kind == 'woff2' else '.gz'}",
                      gzip.compress(content, 9, mtime=0) if packed else content)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--speedscope", type=pathlib.Path)
    options = parser.parse_args()
    out = options.out
    if options.speedscope is not None:
        out.mkdir(parents=True, exist_ok=True)
        pack_speedscope(options.speedscope, out)
        return
    page = make_page("page.html", "main.js", ["style.css"], "")
    if page.count(DATA_MARK) != 1:
        fail(f"the page must contain {DATA_MARK} once")
    head, tail = page.split(DATA_MARK)
    serve = make_page("serve.html", "serve.js", ["style.css", "serve.css"], "connect-src 'self'; ")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (("report_page.head", head), ("report_page.tail", tail),
                       ("report_page", head + "null" + tail), ("serve_page", serve)):
        path = out / f"{name}.html"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
