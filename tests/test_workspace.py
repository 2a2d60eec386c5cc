"""Probes look in the folder of the work, and nowhere that the operator has not given."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.errors import NotJudged
from signoff.model import Subject
from signoff.registry import Powers
from signoff.status import Cause, Status
from signoff.workspace import workspace_of


def refusal(subject: Subject, powers: Powers) -> tuple[Status, str, Cause]:
    with pytest.raises(NotJudged) as caught:
        workspace_of(subject, powers)
    found = caught.value.finding
    return found.status, found.detail, found.cause


def test_folder_of_the_subject() -> None:
    assert "/some/where" == workspace_of(Subject(workspace="/some/where"), Powers())


def test_folder_of_the_operator_for_a_subject_without() -> None:
    assert "/some/where" == workspace_of(Subject(), Powers(workspace=Path("/some/where")))


def test_no_folder_at_all() -> None:
    assert (
        Status.INCONCLUSIVE,
        "No workspace was recorded.",
        Cause.NOT_RECORDED,
    ) == refusal(Subject(), Powers())


@pytest.mark.parametrize("below", ["", "a", "a/b", "link/b", "nowhere"])
def test_folder_below_that_of_the_operator(tmp_path: Path, below: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    place = str(tmp_path / below)

    assert place == workspace_of(Subject(workspace=place), Powers(workspace=tmp_path))


@pytest.mark.parametrize("outside", ["w2", "", "w/../w2", "w/link", "/"])
def test_folder_outside_that_of_the_operator(tmp_path: Path, outside: str) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w2").mkdir()
    (tmp_path / "w" / "link").symlink_to("../w2")
    subject = Subject(workspace=str(tmp_path / outside))

    assert (
        Status.INCONCLUSIVE,
        "Workspace is outside the folder that probes may read.",
        Cause.EVIDENCE_DENIED,
    ) == refusal(subject, Powers(workspace=tmp_path / "w"))
