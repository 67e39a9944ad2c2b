#!/bin/sh
# Installs what the benchmarks compare Signalbox with: the packages of bench/package.json, and where
# it may, the Debian packages of wrk and of nginx with nchan. Safe to run again. A bench whose peer is
# missing is skipped and says so; all others need nothing from here.
set -u
# Debian's nginx is in /usr/sbin, which an ordinary user's PATH leaves out.
PATH="$PATH:/usr/sbin"
cd "$(dirname "$0")" || exit 1
missing=0

say() { printf '%s\n' "bench/setup.sh: $*"; }

# Where Node's own headers lie beside it, a native package can be compiled without downloading them.
prefix=$(dirname "$(dirname "$(node -p process.execPath)")")
if [ -z "${npm_config_nodedir:-}" ] && [ -f "$prefix/include/node/node_api.h" ]; then
  export npm_config_nodedir="$prefix"
fi

works() { node -e "import('better-sqlite3').then(({ default: D }) => new D(':memory:').close())" 2>/dev/null; }

if npm ls --silent >/dev/null 2>&1 && works; then
  say "the peers' packages are here."
elif ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; then
  say "the peers' packages could not be installed: the benches that need them will be skipped."
  missing=1
else
  # A prebuilt binary where one can be had, else a compiler's work of about a minute.
  npm rebuild better-sqlite3 --loglevel=error >/dev/null 2>&1
  if works; then
    say "the peers' packages are ready."
  else
    say "better-sqlite3 has no prebuilt binary for this machine and could not be compiled; that needs" \
      "make, a C++ compiler, Python 3 and the headers of this Node (set npm_config_nodedir to where" \
      "they lie). The bench submit-peer will be skipped."
    missing=1
  fi
fi

packages=""
command -v wrk >/dev/null 2>&1 || packages="$packages wrk"
command -v nginx >/dev/null 2>&1 || packages="$packages nginx"
ls /usr/lib/nginx/modules/ngx_nchan_module.so >/dev/null 2>&1 ||
  packages="$packages libnginx-mod-nchan"

if [ -z "$packages" ]; then
  say "wrk and nginx with nchan are here."
elif ! command -v apt-get >/dev/null 2>&1; then
  say "this is no Debian system: install$packages yourself, or do without the benches that need them."
  missing=1
elif [ "$(id -u)" -ne 0 ]; then
  say "to install$packages, run: sudo apt-get install -y --no-install-recommends$packages"
  missing=1
# shellcheck disable=SC2086 # a list of packages
elif { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends $packages; } >/dev/null 2>&1; then
  say "installed$packages."
else
  say "apt-get could not install$packages: the benches that need them will be skipped."
  missing=1
fi

exit "$missing"
