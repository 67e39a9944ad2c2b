#!/bin/sh
# One backup, checked, in a directory named after the moment (UTC); of the older ones the newest are
# kept. For cron or the systemd timer, as the user that runs the gateway or as root:
#
#   backup.sh BACKUPS [KEEP]
#
# SIGNALBOX_DATA_DIR or SIGNALBOX_CONFIG name the gateway's data, as for every command. What fails ends
# with an exit code that is not 0, and then nothing old is removed.
set -eu
umask 077

backups=${1:?name the directory of the backups}
keep=${2:-48}
newest=$backups/$(date -u +%Y-%m-%dT%H-%M-%SZ)

signalbox() {
  node "$(dirname "$0")/../build/bin/signalbox.js" "$@"
}

signalbox backup "$newest"
signalbox doctor --data-dir "$newest"

# Names that sort by time; nothing else in the directory is touched.
find "$backups" -mindepth 1 -maxdepth 1 -type d -name '????-??-??T??-??-??Z' |
  sort -r | tail -n "+$((keep + 1))" |
  while IFS= read -r old; do rm -r -- "$old"; done
