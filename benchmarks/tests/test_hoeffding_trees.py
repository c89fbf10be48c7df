"""Test the Hoeffding trees of MOA and our Java additions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.peers import SYSTEMS, arff, hoeffding_trees, jvm
from benchmarks.peers.base import Record, Task
from benchmarks.peers.hoeffding_trees import HT_ML, HT_PS, Vectors
from benchmarks.peers.jvm import Program
from benchmarks.tests.runs import GAS, OIL, RAIN, corpus, needs, run
from support.corpora import Corpus

ODD = [
    "it's",
    'say "yes"',
    "a,b",
    "a b",
    "100%",
    "{x}",
    "Ω日本",
    "tab\there",
    "\\n",
    "two\nlines",
    "?",
]
NEVER_SPLIT = "-g 1000000"

pytestmark = pytest.mark.compiled  # they run in Java: once is enough


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], Program]:
    """Return a function that makes programs of one class."""
    needs(hoeffding_trees.LIBRARY)

    def make(name: str, text: str) -> Program:
        source = tmp_path / f"{name}.java"
        source.write_text(text, encoding="utf-8")
        return Program((source,), hoeffding_trees.program().jar, tmp_path / "cache")

    return make


# ── trees ────────────────────────────────────────────────────────────────────────────────────


def three_topics(documents: int) -> Corpus:
    """Make a stream: half about oil, the rest about gas and about oil with rain."""
    kinds = [(OIL, ["oil"]), (GAS, ["gas"]), (OIL, ["oil"]), (f"{OIL} {RAIN}", ["oil", "rain"])]
    return corpus(*[kinds[i % 4] for i in range(documents)])


def without_splits(learner: str) -> dict[str, Any]:
    return {"learner": learner.replace("LeafTree", f"LeafTree {NEVER_SPLIT}")}


def test_the_leaf_of_ht_ml_knows_only_the_majority_label_set(tmp_path: Path):
    task = Task(three_topics(1100), tmp_path, options=without_splits(HT_ML))
    _, predicted = run("ht-ml", task)
    assert predicted[0] == []
    assert predicted[3:] == [["oil"]] * 1097


def test_the_leaf_of_ht_ps_classifies_label_sets_once_its_buffer_is_full(tmp_path: Path):
    stream = three_topics(1100)
    _, predicted = run("ht-ps", Task(stream, tmp_path, options=without_splits(HT_PS)))
    assert predicted[10:1000] == [["oil"]] * 990
    assert predicted[1001:] == stream.labels.to_pylist()[1001:]


def test_ht_ps_is_the_tree_of_moa(tmp_path: Path):
    """MOA's tree has pruned sets at its leaves, whatever its option says."""
    stream = three_topics(1500)
    ours = run("ht-ps", Task(stream, tmp_path))[1]
    upstream = {"learner": "multilabel.MultilabelHoeffdingTree -a multilabel.MajorityLabelset"}
    assert run("ht-ps", Task(stream, tmp_path, options=upstream))[1] == ours
    assert run("ht-ml", Task(stream, tmp_path))[1] != ours


def test_rare_label_sets_are_pruned(tmp_path: Path):
    """MEKA keeps ten of eleven label sets, unless the options ask for more."""
    words = ["oil", "gas", "rain", "wheat", "gold", "ship", "rice", "tin", "zinc", "palm", "jute"]
    kinds = [(word, [word]) for word in words[:10] for _ in range(3)] + [(words[10], words[10:])]
    stream = corpus(*[kinds[i % 31] for i in range(1240)])
    named = {
        system: {label for labels in run(system, Task(stream, tmp_path))[1] for label in labels}
        for system in ("ht-ps", "ht-ps-mnb")
    }
    assert named["ht-ps"] == set(words[:10])
    assert named["ht-ps-mnb"] == set(words)


@pytest.mark.parametrize("system", ["ht-ml", "ht-ps", "ea-ht-ml"])
def test_a_tree_learns_from_one_word_among_others(system: str, tmp_path: Path):
    """The first leaf knows only the majority; the tree splits after MOA's 200 documents."""
    random = np.random.default_rng(0)
    noise = [" ".join(f"word{i}" for i in random.integers(40, size=8)) for _ in range(600)]
    kinds = [("oil", ["oil"]), ("", ["gas"])]
    stream = corpus(
        *[(f"{words} {kinds[i % 2][0]}", kinds[i % 2][1]) for i, words in enumerate(noise)]
    )
    labels = stream.labels.to_pylist()
    _, predicted = run(system, Task(stream, tmp_path))
    assert sum(mine == true for mine, true in zip(predicted[:200], labels, strict=False)) <= 100
    assert predicted[400:] == labels[400:]


def test_a_bag_replaces_the_worst_tree_when_errors_grow(tmp_path: Path):
    """A single tree changes only after as many new documents as old ones."""
    stream = corpus(*[(OIL, ["oil"])] * 1000 + [(OIL, ["gas"])] * 100)
    assert run("ht-ml", Task(stream, tmp_path))[1][1:] == [["oil"]] * 1099
    together = run("ea-ht-ml", Task(stream, tmp_path))[1]
    assert together[500:1000] == [["oil"]] * 500
    assert together[-1] == []  # the trees disagree


def test_the_threshold_follows_the_number_of_labels(tmp_path: Path):
    """No label has a probability above one half; later windows predict the likeliest label."""
    kinds = [["oil"], ["oil"], ["gas"], ["rain"], ["tin"]]
    stream = corpus(*[(OIL, kinds[i % 5]) for i in range(600)])
    bayes = "BRUpdateable -W weka.classifiers.bayes.NaiveBayesUpdateable"
    learner = f"multilabel.MEKAClassifier -l (meka.classifiers.multilabel.incremental.{bayes})"
    _, predicted = run("ht-ps", Task(stream, tmp_path, options={"learner": learner}))
    assert predicted[100:500] == [[]] * 400
    assert predicted[500:] == [["oil"]] * 100


def test_nothing_is_learnt_from_documents_without_labels(tmp_path: Path):
    stream = corpus(*[(OIL, ["oil"])] * 5 + [(GAS, ["gas"])] * 20)
    learn = np.arange(25) < 5
    _, predicted = run("ht-ml", Task(stream, tmp_path, learn))
    assert predicted[1:] == [["oil"]] * 24


def test_labels_may_contain_any_character(tmp_path: Path):
    stream = corpus(*[("oil", ODD[i : i + 1]) for i in range(len(ODD))] + [("oil", ODD[6:7])] * 9)
    _, predicted = run("ht-ml", Task(stream, tmp_path))
    assert predicted[-1] == ["Ω日本"]


# ── the record ───────────────────────────────────────────────────────────────────────────────


def test_a_run_ends_at_its_time_limit(tmp_path: Path):
    figures, predicted = run("ht-ml", Task(three_topics(50), tmp_path, seconds=0.0))
    assert (figures["documents"], figures["complete"], predicted) == (1, False, [[]])


def test_clock_and_memory_are_those_of_java(tmp_path: Path):
    figures, _ = run("ht-ml", Task(three_topics(50), tmp_path, points=(10, 30)))
    points = figures["points"]
    assert [point["documents"] for point in points] == [10, 30, 50]
    seconds = [point["seconds"] for point in points]
    assert 0 < seconds[0] < seconds[1] < seconds[2] == figures["seconds"]
    assert all(0 < point["memory_bytes"] <= figures["peak_memory_bytes"] for point in points)
    assert {"micro_f1", "macro_f1"} <= points[0].keys()


def test_the_output_of_java_is_recorded():
    record = Record(Task(three_topics(50), Path(), points=(20,)))
    hoeffding_trees.record_output("0 0 100 110\n20 0.5 120 130\n50 2.0 150 160\n", record)
    record.predicted(slice(0, 50), [["oil"]] * 50)
    figures = record.figures()
    assert (figures["seconds"], figures["peak_memory_bytes"]) == (2.0, 160)
    assert figures["added_memory_bytes"] == 60
    assert [(point["seconds"], point["memory_bytes"]) for point in figures["points"]] == [
        (0.5, 120), (2.0, 150),
    ]  # fmt: skip


# ── vectors ──────────────────────────────────────────────────────────────────────────────────


def test_counts_have_no_signs_and_add_up():
    task = Task(corpus(*[("oil gas oil", []), ("", []), ("gas", [])]), Path())
    rows = Vectors(4, counts=True).of(task)
    assert rows.shape == (3, 4)
    assert rows.sum(axis=1).tolist() == [3, 0, 1]
    assert rows.data.min() > 0


def test_words_of_a_test_set_are_not_counted():
    documents = [(OIL, []), (GAS, []), (RAIN, []), (GAS, [])]
    apart = Vectors(64).of(Task(corpus(*documents), Path(), test_from=2)).toarray()
    alone = [Vectors(64).of(Task(corpus(*[*documents[:2], one]), Path())) for one in documents[2:]]
    assert np.array_equal(apart[2:], [rows.toarray()[2] for rows in alone])


# ── ARFF ─────────────────────────────────────────────────────────────────────────────────────

NAMES = """
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.io.PrintStream;
import moa.streams.MultiTargetArffFileStream;

public class Names {
  public static void main(String[] given) {
    InstancesHeader header = new MultiTargetArffFileStream(given[0], given[1]).getHeader();
    for (int i = 0; i < header.numAttributes(); i++) {
      for (char letter : header.attribute(i).name().toCharArray()) {
        System.out.print((int) letter + " ");
      }
      System.out.println();
    }
  }
}
"""


def test_moa_reads_the_names_of_labels_as_they_are(
    tmp_path: Path, program: Callable[[str, str], Program]
):
    labels = [*ODD, "#1"]
    arff.write(tmp_path / "a.arff", "it's", labels, [], csr_array((0, 2)))
    output = program("Names", NAMES).run("Names", [tmp_path / "a.arff", f"1-{len(labels)}"])
    read = ["".join(map(chr, map(int, line.split()))) for line in output.splitlines()]
    assert read == [*labels, "##0", "##1"]


def test_a_stream_in_arff(tmp_path: Path):
    vectors = csr_array(np.array([[0.0, 1.0, 2.5], [0, 0, 0], [1 / 3, 0, 0]]))
    given = [["gas", "oil"], None, []]
    arff.write(tmp_path / "a.arff", "news", ["gas", "oil"], given, vectors)
    lines = (tmp_path / "a.arff").read_text(encoding="utf-8").splitlines()
    assert lines[lines.index("@data") + 1 :] == ["{0 1,1 1,3 1,4 2.5}", "{}", "{2 0.3333}"]


# ── Java ─────────────────────────────────────────────────────────────────────────────────────


def test_compile_errors_are_reported(program: Callable[[str, str], Program]):
    bad = program("Bad", "public class Bad {\n  int a = ;\n}\n")
    with pytest.raises(SystemExit, match=r"^javac: \S*Bad\.java:2: error: illegal start of expr"):
        bad.run("Bad", [])
    assert list(bad.cache.iterdir()) == []


def test_an_exception_is_one_line(program: Callable[[str, str], Program]):
    body = 'System.err.println("noise"); throw new RuntimeException("no such stream");'
    fails = program("Fails", f"class Fails {{ public static void main(String[] a) {{ {body} }} }}")
    with pytest.raises(SystemExit, match=r"^java Fails: java.lang.RuntimeException: no such strea"):
        fails.run("Fails", [])


def test_an_unknown_learner_is_a_failure(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"^java clasher\.Prequential: .*NoSuchTree"):
        run("ht-ml", Task(three_topics(5), tmp_path, options={"learner": "NoSuchTree"}))


def test_classes_are_compiled_when_a_source_is_new_and_only_then(
    program: Callable[[str, str], Program], monkeypatch: pytest.MonkeyPatch
):
    says = 'class Says {{ public static void main(String[] a) {{ System.out.print("{}"); }} }}'
    for word in ("one", "two"):
        assert program("Says", says.format(word)).run("Says", []) == word
    monkeypatch.setenv("PATH", "")
    assert program("Says", says.format("one")).classes().is_dir()
    with pytest.raises(SystemExit, match=r"^there is no javac"):
        program("Says", says.format("three")).classes()


@pytest.mark.parametrize("name", ["java", "javac"])
def test_without_java_one_line_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as stopped:
        jvm.tool(name)
    assert str(stopped.value) == (
        f"there is no {name}: install a JDK, 17 or later "
        "(Debian: apt-get install -y openjdk-17-jdk-headless)"
    )


def test_a_run_without_java_fails_with_that_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    needs(hoeffding_trees.LIBRARY)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"^there is no java: install a JDK"):
        SYSTEMS["ht-ml"].run(task := Task(three_topics(5), tmp_path), Record(task))
