#!/bin/sh
# One backup, checked, in a directory named after the moment (UTC); of the older ones the newest are
# kept. For cron or the systemd timer, as the user that runs the gateway or as root:
#
#   backup.sh BACKUPS [KEEP]
#
# KEEP is how many, a whole number from 1; 48 unless it is given. With another one nothing is done, and the
# exit code is 2.
# SIGNALBOX_DATA_DIR or SIGNALBOX_CONFIG name the gateway's data, as for every command. What fails ends
# with an exit code that is not 0, and then nothing old is removed.
set -eu
umask 077

backups=${1:?name the directory of the backups}
keep=${2:-48}
# Of 0, the last lines would remove every backup.
case $keep in
  '' | *[!0-9]* | 0*)
    echo "backup.sh: KEEP is '$keep'; it must be a whole number from 1." >&2
    exit 2
    ;;
esac
newest=$backups/$(date -u +%Y-%m-%dT%H-%M-%SZ)

# The script may be called through a link.
ops=$(dirname "$(readlink -f "$0")")
signalbox() {
  node "$ops/../build/bin/signalbox.js" "$@"
}

signalbox backup "$newest"
# Cron mails standard error: what keeps the backup from being good belongs there.
findings=$(signalbox doctor --data-dir "$newest") || { printf '%s\n' "$findings" >&2; exit 1; }
printf '%s\n' "$findings"

# Names that sort by time; nothing else in the directory is touched. One without data.mdb was cut off, and would count
# as kept, or is being written.
find "$backups" -mindepth 1 -maxdepth 1 -type d -name '????-??-??T??-??-??Z' -exec test -e '{}/data.mdb' ';' -print |
  sort -r | tail -n "+$((keep + 1))" |
  while IFS= read -r old; do rm -r -- "$old"; done
