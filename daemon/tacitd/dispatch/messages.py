"""What one handler found for another: offered as an event of its own, once the commit in which it stands is durable.

The commit is the only record of it. At a start, what is not known to have been handled is offered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tacitd.consumers.consumer import MESSAGES_KEY, Consumer
from tacitd.events import Event, NoProject, Project, Told
from tacitd.handler import Commit

RESEND_FOR = 30 * 86400.0
"""Seconds after its commit for which a finding is offered again at a start."""


class MessageRouter:
    """Hands findings on. Engine thread only."""

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
        """Offer what a commit has for other handlers, unless they know it. One that is not there is told nothing."""
        for name, told in read_messages(consumer.name, commit, self._project_of):
            if name in self._consumers and told.id not in self._consumers[name].handled_messages:
                self._post(told, name)

    def resend_unhandled(self, now: float) -> None:
        """At a start: what was committed and perhaps not heard. `now`: seconds since 1970, UTC."""
        for consumer in self._consumers.values():
            for commit in consumer.message_commits:
                if commit.at > now - RESEND_FOR:
                    self.route_messages(consumer, commit)
            consumer.message_commits.clear()


def read_messages(
    sender: str, commit: Commit, project_of: Callable[[str], Project | NoProject]
) -> Iterator[tuple[str, Told]]:
    """What a commit has for others: (handler, event). The id is the same after a restart."""
    tells = commit.data.get(MESSAGES_KEY)
    if not isinstance(tells, Mapping):
        return
    place = project_of(str(commit.data.get("project", "")))
    for name, data in tells.items():
        if isinstance(data, Mapping):
            id = f"{sender}:{commit.at!r}:{commit.session}:{commit.upto}"
            yield str(name), Told(sender, id, commit.session, place, commit.at, data, commit.event == "Due")
