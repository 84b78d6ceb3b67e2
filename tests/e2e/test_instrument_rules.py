"""Each numbered rule of the instrumentation agent is covered by cases or by a test: tests/cases/RULES.md says by which,
and this says whether that is true."""
import re

from conftest import ROOT

CASES = ROOT / "tests/cases"
MARK = re.compile(r"^# (\d+(?:\.\d+)*[a-z]?): ")


def numbered_cases():
    """(rule, file) for every remark with a number that is followed by a case before the next remark."""
    found = set()
    for path in sorted(CASES.glob("*.txt")):
        rules, below = [], 0
        for line in [*path.read_text().splitlines(), "# end"]:
            if not line.startswith("#"):
                below += bool(line)
                continue
            if below:
                found |= {(rule, path.name) for rule in rules}
                rules, below = [], 0
            mark = MARK.match(line)
            if mark:
                rules.append(mark[1])
    return found


def listed(*, bugs=False):
    """(rule, place) for every place in the last column of the table."""
    rows = [line.split(" | ") for line in (CASES / "RULES.md").read_text().splitlines() if line.startswith("| ")]
    return {(row[0].strip("| "), place) for row in rows if row[0].startswith("| bug ") == bugs
            for place in re.findall(r"`([^`]+)`", row[-1])}


def check_test(rule, place):
    file, name = place.split("::")
    assert re.search(rf"(def|void) {name}\(", (ROOT / "tests" / file).read_text()), (rule, place)


def test_every_rule_has_its_cases_and_every_numbered_case_its_rule():
    places = listed()
    tests = {(rule, place) for rule, place in places if "::" in place}
    # Sections 4 to 8 are the rules; cases of the template name paragraphs of the sections behind them.
    cases = {(rule, name) for rule, name in numbered_cases() if name != "template.txt"}
    assert places - tests == cases
    for rule, place in sorted(tests):
        check_test(rule, place)


def test_every_bug_of_old_has_its_proof():
    templates = {rule for rule, name in numbered_cases() if name == "template.txt"}
    rows = [line for line in (CASES / "RULES.md").read_text().splitlines() if line.startswith("| bug ")]
    assert [int(row.split()[2]) for row in rows[1:]] == list(range(1, 33))
    for bug, place in sorted(listed(bugs=True)):
        if "::" in place:
            check_test(bug, place)
        elif place.startswith("template.txt "):
            assert place.split()[1] in templates, (bug, place)
        elif place.startswith("src/"):
            assert (ROOT / place).exists(), (bug, place)


def test_there_are_enough_cases():
    count = sum(not line.startswith("#") and line != "" for path in CASES.glob("*.txt")
                for line in path.read_text().splitlines())
    assert count >= 2 * 300
