"""What the gates (tools/check_*) share: the list of files, a view of C++ without comments, a cache, the report."""

import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root, *suffixes):
    """Paths, relative to root, that Git tracks or would track; only those with a suffix, if any is given."""
    command = ["git", "-C", str(root), "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: cannot list the files of {root}: {listed.stderr.strip()}")
    paths = sorted(set(listed.stdout.split("\0")) - {""})
    return [path for path in paths if path.endswith(suffixes or "") and (pathlib.Path(root) / path).is_file()]


def read(root, path):
    return (pathlib.Path(root) / path).read_text(encoding="utf-8", errors="replace")


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                    r'(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)


def code_only(text):
    """C++ with comments and literals emptied; line numbers stay."""
    return _TOKEN.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="build folder with compile_commands.json (default: build/release)")
    return parser


def finish(name, problems, looked_at):
    """Prints the problems and one closing line; exits 1 if there were any."""
    for problem in problems:
        print(problem)
    print(f"{name}: {looked_at}, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    sys.exit(1 if problems else 0)


def self_test(name, check_tree, clean, planted):
    """Sees that check_tree passes the clean tree and finds each planted (path, text, part of the one message)."""
    def problems(changes):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            for path, text in (clean | changes).items():
                file = pathlib.Path(root) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_tree(root)[0]

    wrong = [f"a clean tree must pass, but: {problem}" for problem in problems({})]
    for path, text, expected in planted:
        found = problems({path: text})
        if len(found) != 1 or expected not in found[0]:
            wrong.append(f"{path} with {text!r}: expected one problem with {expected!r}, got {found}")
    finish(f"{name} --self-test", wrong, f"{len(planted)} planted violations")


def main(name, description, check_tree, clean, planted):
    """The whole program of a gate that reads text only."""
    parser = arguments(description)
    parser.add_argument("--self-test", action="store_true", help="plant each kind of violation and see it found")
    if parser.parse_args().self_test:
        self_test(name, check_tree, clean, planted)
    problems, count = check_tree(ROOT)
    finish(name, problems, f"{count} files")


class Passed:
    """Remembers by content what passed a slow gate, for every clone on this machine."""

    def __init__(self, gate):
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.folder = pathlib.Path(base) / "headway" / gate

    def __contains__(self, key):
        return (self.folder / key).exists()

    def add(self, key):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / key).touch()


def key_of(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def with_includes(root, path, seen=None):
    """The text of a file and, once each, of all our own files that it includes: what a check of it depends on."""
    seen = {} if seen is None else seen
    if path not in seen:
        seen[path] = text = read(root, path)
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            for base in ("src/", ""):
                if (pathlib.Path(root) / (base + name)).is_file():
                    with_includes(root, base + name, seen)
                    break
    return "\0".join(f"{name}\0{seen[name]}" for name in sorted(seen))
