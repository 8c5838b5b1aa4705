#!/bin/sh
# Reads the script that tacitd's daemon keeps in its state directory, which runs the hooks' program with the hook's input.
# It does nothing, and exits with 0, where tacitd was never started, and in tacitd's own calls of the model.
exec 2>/dev/null
[ -z "$TACITD_CHILD" ] || exit 0
usual=$HOME/.local/state
mac=$HOME/Library/Application\ Support
[ -d "$mac/tacitd" ] && usual=$mac
case $XDG_STATE_HOME in
/*) usual=$XDG_STATE_HOME ;;
esac
case $TACITD_STATE_DIR in
'') state=$usual/tacitd ;;
'~/'*) state=$HOME/${TACITD_STATE_DIR#??} ;;
*) state=$TACITD_STATE_DIR ;;
esac
# One that is named relative to the session would be in the project, whose settings may set it.
case $state in
/proc/* | /dev/fd/* | //*) exit 0 ;;
/*) ;;
*) exit 0 ;;
esac
script=$state/hooks/tacitd-hook
[ -f "$script" ] && . "$script"
exit 0
