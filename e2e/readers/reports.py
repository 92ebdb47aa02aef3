"""Reads a folder of reports as other programs would, and prints what they say as one JSON document.

Each reader is one that people use: the csv, json and xml modules and the HTML parser of Python, and Prometheus' own
parser of OpenMetrics. What is malformed ends it with an error.
"""

import csv
import json
import pathlib
import sys
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics


def table(file):
    """The rows of a CSV file; an error where one has another number of cells than the head."""
    with open(file, newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream, strict=True)
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"{file}: {len(row)} cells, {len(head)} columns: {row}")
    return [dict(zip(head, row)) for row in rows]


def metrics(text):
    """The samples of an exposition: name, labels and value of each."""
    samples = [sample for family in openmetrics(text) for sample in family.samples]
    return [{"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in samples]


class Page(HTMLParser):
    """The elements and the words of a page."""

    def __init__(self):
        super().__init__()
        self.elements, self.words, self.within = {}, [], []

    def handle_starttag(self, tag, attrs):
        self.elements[tag] = self.elements.get(tag, 0) + 1
        self.within.append(tag)

    def handle_endtag(self, tag):
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" not in self.within and data.strip():
            self.words.append(data.strip())


def page(file):
    """What a browser would show of a page."""
    parser = Page()
    parser.feed(file.read_text(encoding="utf-8"))
    return {"elements": parser.elements, "words": parser.words}


def junit(file):
    """The test cases: name, and what became of each."""
    cases = xml.parse(file).getroot().iter("testcase")
    return [{"name": case.get("name"), "ends": [child.tag for child in case]} for case in cases]


def main(folder):
    """Reads all of them."""
    read = {
        "json": json.loads((folder / "report.json").read_text(encoding="utf-8")),
        "csv": table(folder / "report.csv"),
        "series": table(folder / "series.csv"),
        "junit": junit(folder / "junit.xml"),
        "html": page(folder / "report.html"),
        "metrics": metrics((folder / "report.om").read_text(encoding="utf-8")),
        "markdown": (folder / "report.md").read_text(encoding="utf-8"),
        "hgrm": (folder / "report.hgrm").read_text(encoding="utf-8"),
        "hlog": (folder / "report.hlog").read_text(encoding="utf-8"),
    }
    json.dump(read, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["metrics"]:
        json.dump(metrics(sys.stdin.read()), sys.stdout)
    else:
        main(pathlib.Path(sys.argv[1]))
