"""The page that may go with a release."""

from __future__ import annotations

from sfumato.report.certificate import certificate, certificate_of


def test_nothing_on_it_was_counted_in_the_original(facts):
    page = certificate(facts)

    assert facts["source"]["sha256"] not in page
    assert "reached" not in page
    assert all(
        set(card) == {"title", "parameters", "promise", "limit", "satisfied", "stamp"}
        for card in certificate_of(facts)["promises"]
    )


def test_it_says_which_promises_were_judged_and_the_digests_of_the_files(facts):
    page = certificate({**facts, "release": {**facts["release"], "files": {"data.csv": "d1" * 32}}})

    assert all(entry["model"] in page for entry in facts["verdicts"])
    assert "d1" * 32 in page


def test_facts_that_say_nothing_certify_nothing():
    found = certificate_of({})

    assert not found["satisfied"]
    assert "Not every promise holds" in certificate({})
