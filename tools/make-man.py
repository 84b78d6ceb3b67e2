#!/usr/bin/env python3
"""Writes the man pages and shell completions from what the tool says about itself.

usage: make-man.py CLARINET FOLDER

FOLDER/man/clarinet.1 and a clarinet-VERB.1 for every verb of `clarinet --help`; their text is
`clarinet VERB --help`. FOLDER/completions/ gets bash's, zsh's and fish's script under the names
those shells look for.
"""
import pathlib
import re
import shutil
import subprocess
import sys

OPTION = re.compile(r"^ +(-[\w-]+(?:, -[\w-]+)*)((?: |=)\S(?:.*?\S)?)?(?:  +(.*))?$")
COMMON = """.SH EXIT STATUS
0 done, 1 failed, 2 wrong usage, 3 findings at or above the level asked for.
.SH ENVIRONMENT
.TP
.B NO_COLOR
no colours, whatever the terminal can do
.TP
.B CLARINET_LIBRARY
the library for the target, or the folder that holds the libraries, instead of the installed one
"""


def escape(text):
    """Text as troff takes it: backslashes, dashes, and dots or quotes at the start of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def heading(name, version, summary):
    return (
        f'.TH "{name.upper()}" 1 "" "clarinet {version}" "Clarinet"\n'
        f".SH NAME\n{escape(name)} \\- {escape(summary)}\n"
    )


def body(text):
    """The rest of a help text: options as a list, indented lines as they are, the others filled."""
    lines = []
    in_option = verbatim = False
    for line in text.splitlines():
        option = OPTION.match(line)
        indented = line.startswith(" ")
        if verbatim and not (indented and not option):
            lines.append(".fi\n.RE")
            verbatim = False
        if option:
            names, argument, words = option.groups()
            shown = re.sub(r"(-[\w-]+)", lambda m: "\\fB" + escape(m.group(1)) + "\\fR", names)
            lines.append(".TP\n" + shown + (escape(argument) if argument else ""))
            lines.append(escape(words) if words else "\\&")
            in_option = True
        elif not line.strip():
            in_option = False
            lines.append(".PP")
        elif indented and in_option:
            lines.append(escape(line.strip()))
        elif indented:
            if not verbatim:
                lines.append(".RS 4\n.nf")
            verbatim = True
            lines.append(escape(line[2:] if line.startswith("  ") else line))
        elif line.endswith(":") and len(line) < 40:
            in_option = False
            lines.append(".SS " + escape(line[:-1]))
        else:
            if in_option:
                lines.append(".PP")
            in_option = False
            lines.append(escape(line))
    if verbatim:
        lines.append(".fi\n.RE")
    return "\n".join(lines) + "\n"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])

    def ask(*arguments):
        return subprocess.run(
            [program, *arguments], check=True, capture_output=True, text=True
        ).stdout

    version = ask("version").split()[1]
    rows = [line.split(None, 1) for line in ask("--help").splitlines() if line.startswith("  ")]
    man, completions = folder / "man", folder / "completions"
    for place in (man, completions):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)

    page = heading("clarinet", version, "the doctor for running .NET programs")
    page += ".SH SYNOPSIS\n.B clarinet\nVERB [OPTION…]\n.SH VERBS\n"
    for verb, summary in rows:
        page += f".TP\n.BR clarinet\\-{escape(verb)} (1)\n{escape(summary)}\n"
    (man / "clarinet.1").write_text(page + COMMON, encoding="utf-8")

    for verb, summary in rows:
        usage, _, rest = ask(verb, "--help").partition("\n")
        usage = usage.replace("usage: ", "").strip()
        rest = rest.lstrip("\n").partition("\n")[2].lstrip("\n")
        page = heading(f"clarinet-{verb}", version, summary)
        page += f".SH SYNOPSIS\n.B {escape(usage)}\n.SH DESCRIPTION\n{escape(summary)}\n.PP\n"
        page += body(rest) + COMMON + ".SH SEE ALSO\n.BR clarinet (1)\n"
        (man / f"clarinet-{verb}.1").write_text(page, encoding="utf-8")

    for shell, name in (("bash", "clarinet"), ("zsh", "_clarinet"), ("fish", "clarinet.fish")):
        (completions / name).write_text(ask("completion", shell), encoding="utf-8")
    (folder / "pages.stamp").write_text("")


if __name__ == "__main__":
    main()
