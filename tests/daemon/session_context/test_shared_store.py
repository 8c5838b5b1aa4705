"""One open store for the hooks of several plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.errors import UnavailableError
from tacitd.plugin import PluginSpec
from tacitd.session_context.plugin_view import open_rows
from tacitd.store import Store, open_readonly
from tacitd.testing import FakeClock

ONE = PluginSpec("one", schema=("tacitd_handlers.learning:schema.sql",))


def test_a_shared_store_stays_open_for_the_next_plugin(tmp_path: Path) -> None:
    """Also after a plugin without tables in it, which gets an empty store, and one whose tables are newer, which is told."""
    Store.open(tmp_path, FakeClock(), {"one": ONE.schema}).close()
    shared = open_readonly(tmp_path)
    assert shared is not None
    with shared:
        with open_rows(ONE, tmp_path / "no store", shared) as rows:
            assert rows("SELECT 1 FROM job WHERE name = 'begin'") == [(1,)]
        with open_rows(PluginSpec("other", schema=ONE.schema), tmp_path, shared) as rows:
            assert rows("SELECT version FROM schema_version WHERE owner = 'one'") == []
        with pytest.raises(UnavailableError, match="newer"), open_rows(PluginSpec("one"), tmp_path, shared):
            pass
        assert shared.rows("SELECT 1") == [(1,)]
