"""Messages from one handler to another: part of a commit, and posted as an event once that commit is durable.

The commit is the only record of a message. At a start, messages that are not known to have been handled are posted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tacitd.consumers.consumer import MESSAGES_KEY, RESEND_FOR, Consumer
from tacitd.events import Due, Event, Message, NoProject, Project
from tacitd.handler import Commit


class MessageRouter:
    """Posts messages. Engine thread only."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        project_of: Callable[[str], Project | NoProject],
        post: Callable[[Event, str | None], None],
    ) -> None:
        self._consumers = consumers
        self._project_of = project_of
        self._post = post

    def route_messages(self, consumer: Consumer, commit: Commit) -> None:
        """Post a commit's messages to handlers that exist and have not handled them."""
        for name, message in read_messages(consumer.name, commit, self._project_of):
            # After a crash a message is posted again: its commit, and not a queue, is its only record.
            if name in self._consumers and message.id not in self._consumers[name].handled_messages:
                self._post(message, name)

    def resend_unhandled(self, now: float) -> None:
        """At a start, post again what was committed and perhaps not handled. `now`: seconds since 1970, UTC."""
        for consumer in self._consumers.values():
            for commit in consumer.message_commits:
                if commit.at > now - RESEND_FOR:
                    self.route_messages(consumer, commit)
            consumer.message_commits.clear()


def read_messages(
    sender: str, commit: Commit, project_of: Callable[[str], Project | NoProject]
) -> Iterator[tuple[str, Message]]:
    """Yield the messages of a commit as (handler, event). Ids are the same after a restart."""
    messages = commit.data.get(MESSAGES_KEY)
    if not isinstance(messages, Mapping):
        return
    project = project_of(str(commit.data.get("project", "")))
    for name, data in messages.items():
        if isinstance(data, Mapping):
            id = f"{sender}:{commit.at!r}:{commit.session}:{commit.upto}"
            by_job = commit.event == Due.stored_name
            yield str(name), Message(sender, id, commit.session, project, commit.at, data, by_job)
