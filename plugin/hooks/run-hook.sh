#!/bin/sh
# Runs the program that tacitd's daemon keeps in its state directory, with the hook's input on standard input.
# It does nothing, and exits with 0, where tacitd was never started, where `tacitd hooks install` put the same hooks
# into the settings, and in tacitd's own calls of the model.
exec 2>/dev/null
[ -z "$TACITD_CHILD" ] || exit 0
usual=$HOME/.local/state
mac=$HOME/Library/Application\ Support
[ -d "$mac/tacitd" ] && usual=$mac
case $XDG_STATE_HOME in
/*) usual=$XDG_STATE_HOME ;;
esac
program=${TACITD_STATE_DIR:-$usual/tacitd}/hooks/tacitd-hook.py
[ -f "$program" ] || exit 0
grep -qsF tacitd-hook.py "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" \
    "$CLAUDE_PROJECT_DIR/.claude/settings.local.json" && exit 0
python3 -I -S "$program"
exit 0
