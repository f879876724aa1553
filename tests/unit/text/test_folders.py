"""Documents in folders: a subfolder for each class."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunbridge as tb
from tunbridge.errors import FileMissingError

MAILS = {
    "spam/1.txt": "You have won money",
    "spam/deep/er/2.eml": "Money money now",
    "ham/10.txt": "See you at noon",
    "ham/9.txt": "Lunch at noon?",
    "ham/.hidden": "never read",
    ".git/config": "never read",
}


@pytest.fixture
def mails(tmp_path):
    return filled(tmp_path, MAILS)


def filled(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_files_are_documents_and_subfolders_classes(mails):
    found = tb.read_documents(mails)
    assert found.column_names == ["text", "class", "file"]
    assert found["file"].to_pylist() == ["ham/10.txt", "ham/9.txt", "spam/1.txt", "spam/deep/er/2.eml"]
    assert found["class"].to_pylist() == ["ham", "ham", "spam", "spam"]
    assert found["text"].to_pylist() == [MAILS[name] for name in found["file"].to_pylist()]
    assert tb.read_documents(str(mails)).equals(found)


def test_a_classifier_learns_from_a_folder(mails, tmp_path):
    clf = tb.TextClassifier().fit(mails)
    table = tb.read_documents(mails)
    same = tb.TextClassifier().fit(table["text"], table["class"].to_pylist())
    assert (clf.classes_.tolist(), clf.target_name_) == (["ham", "spam"], "class")
    assert clf.predict_joint_log_proba(mails).tolist() == same.predict_joint_log_proba(table["text"]).tolist()
    assert clf.score(mails) == 1.0
    assert clf.predict(table).tolist() == ["ham", "ham", "spam", "spam"]
    assert tb.TextClassifier(column="body").fit(mails).statistics_.column == "body"
    more = filled(tmp_path / "more", {"news/1": "Money at noon"})
    assert clf.partial_fit(more).classes_.tolist() == ["ham", "news", "spam"]


def test_classes_may_be_given_beside_a_folder(tmp_path):
    folder = filled(tmp_path, {"a.txt": "spam egg", "b.txt": "ham tea"})
    clf = tb.TextClassifier().fit(folder, ["x", "y"])
    assert clf.predict(folder).tolist() == ["x", "y"]
    assert tb.read_documents(folder)["class"].to_pylist() == [None, None]


def test_documents_without_a_class_need_one_to_learn_from(tmp_path):
    folder = filled(tmp_path, {"a.txt": "spam egg", "b.txt": "ham tea"})
    with pytest.raises(tb.DataError, match="a folder to learn from must have a subfolder for each class"):
        tb.TextClassifier().fit(folder)


def test_what_cannot_be_decoded_is_replaced(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_bytes(b"caf\xe9 noir")
    assert tb.read_documents(tmp_path)["text"].to_pylist() == ["caf\ufffd noir"]
    assert tb.read_documents(tmp_path, encoding="latin-1")["text"].to_pylist() == ["café noir"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "the folder must hold documents, a subfolder for each class; {folder!r} has no file."),
        ({".hidden": "x"}, "the folder must hold documents, a subfolder for each class; {folder!r} has no file."),
        (
            {"spam/1": "x", "README": "y"},
            "documents must be in the subfolder of their class; 'README' is beside the subfolders. Move it.",
        ),
    ],
)
def test_folders_that_do_not_fit(tmp_path, files, told):
    filled(tmp_path, files)
    with pytest.raises(tb.DataError) as error:
        tb.TextClassifier().fit(tmp_path)
    assert str(error.value) == told.format(folder=str(tmp_path))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileMissingError, match=r"the folder of documents must exist; there is no '.*/nowhere'"):
        tb.TextClassifier().fit(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(tb.DataError, match="must be in a folder with a subfolder for each class; got the file 'file'"):
        tb.read_documents(tmp_path / "file")


def test_an_encoding_that_there_is_not(mails):
    with pytest.raises(tb.DataError, match="encoding must be one that Python knows; got 'utf-88'"):
        tb.read_documents(mails, encoding="utf-88")
