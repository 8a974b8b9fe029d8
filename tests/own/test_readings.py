"""How a person reads the numbers of one's own protocol: by their kinds, and not by what they are called."""

from __future__ import annotations

from pathlib import Path

from tests.transcript import file_of
from traces.explain.effects import _place
from traces.explain.names import message_text, observation_text
from traces.record.trace import Observation, Transmission
from zabspec.model import Configuration, Model

TEXT = file_of("own/readings", "says.py")


def model_of(path: Path, text: str) -> Model:
    path.write_text(text, encoding="utf-8")
    return Model(Configuration(str(path), nodes=2))


def test_a_number_is_read_by_its_kind_and_not_by_its_name(tmp_path: Path) -> None:
    """`mode` of an observation is any number, as `request_id` of a message is; what is declared is read."""
    shown = Observation("shows", 0, {"mode": 1, "now": 1})
    model = model_of(tmp_path / "says.py", TEXT)
    assert observation_text(model, shown) == "shows(p0, mode=1, now=1)"
    said = Transmission("SAYS", {"request_id": 1, "from_whom": 0}, 0, 1, 0, 1)
    assert message_text(said, model) == "SAYS(request_id=1, from_whom=p0)"
    declared = model_of(tmp_path / "declares.py", TEXT.replace("@observation\n", '@observation(now="mode")\n'))
    assert observation_text(declared, shown) == "shows(p0, mode=1, now=BUSY)"


def test_words_for_an_entry_name_processes(tmp_path: Path) -> None:
    model = model_of(tmp_path / "says.py", TEXT.replace('ghost("said")', 'ghost("said", reading="what {} saw")'))
    seen = next(f for f in model.program.schema.fields if f.name == "seen")
    assert _place(seen, (1,)) == "what p1 saw"
