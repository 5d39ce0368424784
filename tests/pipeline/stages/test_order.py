"""What the stages need of each other is said where they are declared."""

from fnmatch import fnmatch

import pytest

from accord.pipeline.model.folder import COPIED
from accord.pipeline.stages.table import STAGES, above


def test_what_lies_above_a_stage_is_all_that_it_depends_on():
    assert above("corpus") == []
    assert above("featurise") == ["corpus", "tokenise", "analyse"]
    assert above("train") == [*STAGES][: [*STAGES].index("train")]
    for name, stage in STAGES.items():
        assert {*stage.inputs} <= {*above(name)}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_what_a_model_takes_from_a_stage_or_an_audit_reads_is_among_its_outputs(stage):
    declared = [
        *COPIED.get(stage.name, ()),
        *(name for files in stage.audited.values() for name in files),
    ]
    for name in declared:
        assert any(fnmatch(output, name) or fnmatch(name, output) for output in stage.outputs)
