#!/usr/bin/env -S python3 -B
"""Runs command-line transcripts and compares what was printed with what is written.

    tests/transcript.py [--program PATH] FILE.transcript...

A transcript is read line by line:

    # a remark, for people
    $ headway predict gpt --cluster two.yaml     a command, run by sh; $TESTS is this folder
    > --json out.json                            goes on with the command (a newline between the two)
    | step {{number}} ms{{ }}({{int}} tokens)    a line of its standard output
    | ...                                        any number of lines, none too
    ! headway: no cluster file two.yaml{{any}}   a line of its standard error
    = 2                                          its exit code, where that is not 0
    @ wide                                       the next command may print over 80 columns

All of standard output and standard error must be accounted for; blanks at line ends are ignored, as are the codes
that colour a terminal; of a line that was rewritten (carriage return) the last state counts. Wildcards: {{number}}
(sign, thousands, decimals, exponent), {{int}}, {{word}} (no blanks), {{any}} (rest or part of a line, may be empty),
{{ }} (blanks, at least one), {{re:...}} (a regular expression). The commands of one file run one after the other in
one new empty folder, shown as <cwd>, with `headway` on the path and HEADWAY_HOME in a private folder. A line over
80 columns is an error, except for messages that begin with "headway: ".
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COLUMNS = 80
WILDCARDS = {
    "number": r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?",
    "int": r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)",
    "word": r"\S+",
    "any": r".*?",
    " ": r" +",
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclasses.dataclass
class Step:
    line: int
    command: str
    out: list = dataclasses.field(default_factory=list)
    err: list = dataclasses.field(default_factory=list)
    code: int = 0
    wide: bool = False


def parse(name, text):
    steps, wide = [], False
    for number, line in enumerate(text.splitlines(), 1):
        mark, rest = line[:1], line[2:]
        if mark in ("", "#"):
            continue
        if line[1:2] not in ("", " ") or mark not in "$>|!=@" or (mark in ">|!=" and not steps):
            raise SystemExit(f"{name}:{number}: not a line of a transcript: {line}")
        if mark == "$":
            steps.append(Step(number, rest, wide=wide))
            wide = False
        elif mark == ">":
            steps[-1].command += "\n" + rest
        elif mark == "|":
            steps[-1].out.append(rest)
        elif mark == "!":
            steps[-1].err.append(rest)
        elif mark == "=":
            steps[-1].code = int(rest)
        elif rest.strip() == "wide":
            wide = True
        else:
            raise SystemExit(f"{name}:{number}: the only setting is '@ wide'")
    if not steps:
        raise SystemExit(f"{name}: no command in it")
    return steps


def pattern(line):
    """The regular expression of one expected line."""
    parts = re.split(r"\{\{(.+?)\}\}(?!\})", line.rstrip())
    for i in range(1, len(parts), 2):
        name = parts[i]
        if not name.startswith("re:") and name not in WILDCARDS:
            raise SystemExit(f"no wildcard {{{{{name}}}}}; there are {', '.join(WILDCARDS)} and re:...")
        parts[i] = f"(?:{name[3:]})" if name.startswith("re:") else WILDCARDS[name]
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def matches(expected, found):
    """Whether the found lines are the expected ones, '...' standing for any number of lines."""
    whole = "".join(r"(?:.*\n)*?" if line.strip() == "..." else pattern(line) + r"\n" for line in expected)
    return re.fullmatch(whole, "".join(line + "\n" for line in found)) is not None


def shown_lines(output, folder):
    lines = ANSI.sub("", output.decode("utf-8", "replace")).replace(str(folder), "<cwd>").split("\n")
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in lines]
    return lines[:-1] if lines[-1] == "" else lines


def run_step(step, folder, environment, timeout):
    """What is wrong with this step, as text; empty when all is well."""
    try:
        ran = subprocess.run(["sh", "-c", step.command], cwd=folder, env=environment, capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"still running after {timeout:g} s"
    wrong = []
    if ran.returncode != step.code:
        wrong.append(f"exit code {ran.returncode}, expected {step.code}")
    for name, expected, output in (("output", step.out, ran.stdout), ("error", step.err, ran.stderr)):
        found = shown_lines(output, folder)
        if not matches(expected, found):
            diff = difflib.unified_diff(expected, found, f"expected {name}", f"found {name}", lineterm="", n=1000)
            wrong += list(diff)
        if not step.wide:
            # Error messages stay on one line, to be searched and copied.
            wrong += [f"{len(line)} columns wide (over {COLUMNS}): {line}" for line in found
                      if len(line) > COLUMNS and not line.startswith("headway: ")]
    return "\n".join(wrong)


def run_transcript(name, text, program, timeout):
    """All that is wrong with a transcript, as a list of texts."""
    steps = parse(name, text)
    with tempfile.TemporaryDirectory() as temporary:
        folder, tools = pathlib.Path(temporary, "work"), pathlib.Path(temporary, "bin")
        folder.mkdir()
        tools.mkdir()
        if program:
            (tools / "headway").symlink_to(pathlib.Path(program).resolve())
        environment = os.environ | {
            "PATH": f"{tools}:{os.environ['PATH']}", "HEADWAY_HOME": f"{temporary}/home", "HOME": temporary,
            "TESTS": str(pathlib.Path(__file__).resolve().parent), "COLUMNS": str(COLUMNS), "LC_ALL": "C.UTF-8"}
        problems = []
        for step in steps:
            wrong = run_step(step, folder, environment, timeout)
            if wrong:
                problems.append(f"{name}:{step.line}: $ {step.command}\n{wrong}")
        return problems


# Transcripts that must pass, and, each with a part of the message, those that must not.
GOOD = [
    "$ echo a; echo b >&2; exit 3\n| a\n! b\n= 3\n",
    "$ printf 'x  1,234.5e-3 ms  end\\n\\n'\n| x{{ }}{{number}} ms  {{word}}\n|\n",
    "$ seq 9\n| 1\n| ...\n| 9\n",
    "$ true\n| ...\n",
    "$ printf '10%%\\r99%%\\r100%%\\n\\033[1mbold\\033[0m\\n' >&2\n! 100%\n! bold\n",
    "$ cat <<END > f\n> text\n> END\n$ cat f; pwd\n| text\n| <cwd>\n",
    "@ wide\n$ printf '%090d\\n' 1\n| {{int}}\n",
    "$ echo '(a|b) {x} [7]'\n| (a|b) {x} [{{re:[5-8]}}]\n",
    "$ test ! -e $HEADWAY_HOME\n",
]
BAD = [
    ("$ echo a\n| b\n", "+a"),
    ("$ echo a\n", "+a"),
    ("$ true\n| a\n", "-a"),
    ("$ echo a >&2\n", "found error"),
    ("$ exit 2\n", "exit code 2, expected 0"),
    ("$ true\n= 2\n", "exit code 0, expected 2"),
    ("$ echo x1\n| {{number}}\n", "+x1"),
    ("$ echo 1.5\n| {{int}}\n", "+1.5"),
    ("$ seq 3\n| 1\n| ...\n| 4\n", "+3"),
    ("$ printf '%081d\\n' 1\n| {{int}}\n", "81 columns wide"),
    ("@ wide\n$ true\n$ printf '%081d\\n' 1\n| {{int}}\n", "81 columns wide"),
    ("$ sleep 5\n", "still running"),
]


def self_test():
    failed = 0
    for text in GOOD:
        for problem in run_transcript("good", text, None, 60):
            print(f"must pass, but: {problem}")
            failed += 1
    for text, message in BAD:
        problems = "\n".join(run_transcript("bad", text, None, 0.5 if "sleep" in text else 60))
        if message not in problems:
            print(f"must fail with {message!r}: {text!r}; got {problems!r}")
            failed += 1
    print(f"transcript --self-test: {len(GOOD) + len(BAD)} transcripts, {failed} failed")
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.transcript")
    parser.add_argument("--program", default=os.environ.get("HEADWAY"), help="what `headway` is; default: $HEADWAY")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each command")
    parser.add_argument("--self-test", action="store_true", help="check this program")
    options = parser.parse_args()
    if options.self_test:
        self_test()
    if not options.program:
        parser.error("which program? give --program or set HEADWAY")
    problems = []
    for file in options.files:
        text = pathlib.Path(file).read_text(encoding="utf-8")
        problems += run_transcript(file, text, options.program, options.timeout)
    print("\n\n".join([*problems, f"transcript: {len(options.files)} files, {len(problems)} commands went wrong"]))
    sys.exit(1 if problems else 0)


main()
