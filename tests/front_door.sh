#!/usr/bin/env bash
# The front door (./headway) on a repository of one source file, in a folder whose name has a space.
set -euo pipefail

source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/front_door.XXXXXX")
trap 'rm -rf "$work"' EXIT
clone="$work/my clone"
failures=0
checks=0

# run COMMAND...: sets out, err and code.
run() {
  code=0
  "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(<"$work/out")
  err=$(<"$work/err")
}

# expect WHAT CODE: the last run ended with CODE; further arguments are texts that its stderr must contain.
expect() {
  local what=$1 wanted=$2 text
  shift 2
  checks=$((checks + 1))
  for text in "" "$@"; do
    if [[ $code != "$wanted" || $err != *"$text"* ]]; then
      printf 'FAILED: %s\n  exit code %s, expected %s; stderr must contain: %s\n%s\n' \
        "$what" "$code" "$wanted" "$text" "$(sed 's/^/  | /' "$work/out" "$work/err")"
      failures=$((failures + 1))
      return
    fi
  done
}

# is WHAT FOUND WANTED
is() {
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || { printf 'FAILED: %s\n  found:  %s\n  wanted: %s\n' "$1" "$2" "$3"; failures=$((failures + 1)); }
}

# program WORD: the source of a program that prints WORD, its folder and its arguments; "fail" makes it exit with 5.
program() {
  cat <<END
#include <cstdio>
#include <cstring>
#include <unistd.h>
int main(int count, char** words) {
  char folder[4096];
  std::printf("$1 %s", getcwd(folder, sizeof folder));
  for (int i = 1; i < count; ++i) std::printf(" [%s]", words[i]);
  return count > 1 && !std::strcmp(words[1], "fail") ? 5 : 0;
}
END
}

mkdir -p "$clone"/{app,src,cmake,tools,tests} "$work/elsewhere" "$work/bin"
cp "$source_root/headway" "$source_root/CMakePresets.json" "$clone/"
printf '[build]  why\nbash  a shell\n[test]  why\ncoreutils  the rest\n' >"$clone/tools/packages"
cat >"$clone/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(mini CXX)
enable_testing()
add_subdirectory(app)
add_test(NAME short COMMAND headway)
add_test(NAME patient COMMAND headway)
set_tests_properties(patient PROPERTIES LABELS long)
END
echo 'add_executable(headway main.cpp)' >"$clone/app/CMakeLists.txt"
touch "$clone/tests/CMakeLists.txt"
program one >"$clone/app/main.cpp"
for gate in includes names format headers tidy; do
  printf '#!/bin/sh\n! grep -qs %s "%s"\n' "$gate" "$work/red_gates" >"$clone/tools/check_$gate"
  chmod +x "$clone/tools/check_$gate"
done

# --- The first call builds; stdout belongs to the program alone, its folder is the caller's.
cd "$work/elsewhere"
run "$clone/headway" a "b c" --help
expect "the first call builds" 0 "building (release)"
is "arguments and folder reach the program" "$out" "one $work/elsewhere [a] [b c] [--help]"

# --- The second call starts at once, even where CMake, Ninja and dpkg-query would fail.
for tool in cmake ninja dpkg-query apt-get; do
  printf '#!/bin/sh\necho "%s was called" >&2\nexit 9\n' "$tool" >"$work/bin/$tool"
  chmod +x "$work/bin/$tool"
done
ln -s "$clone/headway" "$work/link"
run env PATH="$work/bin:$PATH" "$work/link" x
expect "the second call, by a symbolic link, starts nothing but the program" 0
is "the second call is silent" "$err" ""
is "the second call" "$out" "one $work/elsewhere [x]"
# Its own work is measured as processor time, which a busy machine does not stretch; the best of 20 calls counts.
best=1000000
TIMEFORMAT='%U %S'
for _ in {1..20}; do
  read -r user system < <({ time "$clone/headway" >/dev/null 2>&1; } 2>&1)
  took=$((10#${user/./} + 10#${system/./}))
  ((took >= best)) || best=$took
done
is "the second call costs less than 50 ms (best of 20: $best ms)" "$((best < 50))" 1
run "$clone/headway" fail
expect "the program's exit code is passed on" 5

# --- Changes are noticed: an edit, and a file put in place with an old date.
program two >"$clone/app/main.cpp"
run "$clone/headway"
is "an edited source is built" "$out" "two $work/elsewhere"
program three >"$work/old.cpp"
touch -d "2001-01-01" "$work/old.cpp"
mv "$work/old.cpp" "$clone/app/main.cpp"
touch -d "2001-01-01" "$clone/app"
run "$clone/headway"
expect "a file with an old date makes Ninja look" 0 "building"

# --- Two calls at once build once.
program four >"$clone/app/main.cpp"
"$clone/headway" >"$work/first" 2>"$work/first_err" &
first=$!
run "$clone/headway"
wait "$first" || true
is "both of two calls at once run the new program" "$out$(<"$work/first")" \
  "four $work/elsewhere""four $work/elsewhere"
is "one of two calls at once builds" "$(cat "$work/first_err" "$work/err" | grep -c 'building (release)')" 1

# --- A broken build says where; a repaired one goes on.
echo 'int main() { return nonsense; }' >"$clone/app/main.cpp"
run "$clone/headway" x
expect "a broken source" 3 "nonsense" "the build failed" "$clone/build/release/build.log"
is "a broken source prints nothing to stdout" "$out" ""
program five >"$clone/app/main.cpp"
run "$clone/headway" x
is "a repaired source" "$out" "five $work/elsewhere [x]"

# --- A clone that moved is configured anew.
mv "$clone" "$work/moved"
clone=$work/moved
program six >"$clone/app/main.cpp"
run "$clone/headway"
is "a moved clone" "$out" "six $work/elsewhere"

# --- Wrong arguments.
run "$clone/headway" build fast
expect "an unknown preset" 2 "no preset 'fast'" "release, dev, asan and tsan"
run "$clone/headway" test --preset fast
expect "an unknown preset for the tests" 2 "no preset 'fast'"

# --- Tests: the gates first, then CTest, whose closing line comes last.
run "$clone/headway" test
expect "the tests" 0
is "the long test is left out" "$(grep -c 'out of 1$' <<<"$out")" 1
run "$clone/headway" test --long
is "--long adds the long test" "$(grep -c '100% tests passed, 0 tests failed out of 2$' <<<"$out")" 1
is "the closing lines come last" "$(tail -n 1 <<<"$out" | cut -d= -f1)" "Total Test time (real) "
run "$clone/headway" test --long -R patient
is "further arguments go to CTest" "$(grep -c 'out of 1$' <<<"$out")" 1
run "$clone/headway" test -R nothing_is_called_so
is "no test is an error" "$((code != 0))" 1
echo names >"$work/red_gates"
run "$clone/headway" test
expect "a red gate" 1 "failed: tools/check_names"
is "a red gate comes before the tests" "$out" ""
echo tidy >"$work/red_gates"
run "$clone/headway" test
expect "a red slow gate does not matter by default" 0
run "$clone/headway" test --tidy
expect "a red slow gate matters with --tidy" 1 "failed: tools/check_tidy"
rm "$work/red_gates"

# --- Packages. A tool folder without sudo and with our own id and apt-get stands for a machine.
echo 'surely-no-such-package  missing' >>"$clone/tools/packages" # in the last section: test
sed -i 's/^bash .*/&\nneither-is-this  missing/' "$clone/tools/packages"
machine=$work/machine
mkdir "$machine"
ln -s /usr/bin/* "$machine/" && ln -sf /bin/* "$machine/" 2>/dev/null
rm -f "$machine"/{sudo,apt-get,id}
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$machine/$1"; chmod +x "$machine/$1"; }

stub id 'echo 1000'
stub apt-get 'exit 7'
run env PATH="$machine" "$clone/headway"
expect "neither root nor sudo" 3 "neither-is-this" "Neither root nor sudo" "apt-get install neither-is-this"
is "packages for tests are not asked for by a build" "$(grep -c surely <<<"$err")" 0

stub sudo "printf '%s\\n' \"\$*\" >>'$work/sudo_calls'; exit 1"
run env PATH="$machine" "$clone/headway"
expect "sudo that refuses" 3 "apt-get could not install: neither-is-this"
is "sudo does not wait for a password without a terminal" "$(cut -d' ' -f1 "$work/sudo_calls" | sort -u)" "-n"

stub id 'echo 0'
stub apt-get 'echo "E: no network"; exit 100'
run env PATH="$machine" "$clone/headway"
expect "apt-get that fails" 3 "E: no network" "apt-get could not install: neither-is-this"

stub apt-get "echo \"\$@\" >>'$work/apt_calls'"
run env PATH="$machine" "$clone/headway"
expect "apt-get that works" 0 "installing" "  neither-is-this"
is "the lists are refreshed first" "$(head -n 1 "$work/apt_calls" | grep -c 'update$')" 1
is "what is installed" \
  "$(tail -n 1 "$work/apt_calls" | grep -c 'install -y --no-install-recommends neither-is-this$')" 1
run env PATH="$machine" "$clone/headway" test
expect "the tests ask for their own packages" 0 "installing" "  surely-no-such-package"

echo "front_door: $checks checks, $failures failed"
((failures == 0))
