"""Results as JUnit XML: a suite per mode, a case per file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from risingpy.sqllogictest.results import FileResult

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(results: Sequence[FileResult], path: Path) -> None:
    """Writes the results to a file. Raises OSError."""
    root = ElementTree.Element("testsuites", name="sqllogictest")
    for mode in dict.fromkeys(result.mode for result in results):
        of_mode = [result for result in results if result.mode is mode]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=mode.value,
            tests=str(len(of_mode)),
            failures=str(sum(not result.passed for result in of_mode)),
            time=f"{sum(result.seconds for result in of_mode):.3f}",
        )
        for result in of_mode:
            _add_case(suite, result)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_case(suite: ElementTree.Element, result: FileResult) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=str(result.path.parent), name=result.path.name, time=f"{result.seconds:.3f}"
    )
    for failure in result.failures:
        element = ElementTree.SubElement(case, "failure", message=_xml(f"{failure.location}: {failure.summary}"))
        element.text = _xml(failure.detail)
    if result.skips:
        element = ElementTree.SubElement(case, "system-out")
        element.text = _xml("\n".join(f"{skip.location}: skipped: {skip.reason}" for skip in result.skips))


def _xml(text: str) -> str:
    """XML has no way to write most control characters."""
    return _NOT_XML.sub("\ufffd", text)
