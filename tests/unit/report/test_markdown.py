"""Text in a small part of Markdown as HTML."""

from __future__ import annotations

import pytest

from sfumato.report.markdown import rendered


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a <b> & **c *d* e**", "<p>a &lt;b&gt; &amp; <strong>c <em>d</em> e</strong></p>"),
        ("[k](k-anonymity.md#x) [y](../howto/y.md)", '<p><a href="/help/k-anonymity">k</a> y</p>'),
        ("Text:\n- one\n  more\n- two", "<p>Text:</p>\n<ul><li>one\n  more</li><li>two</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("```\na\n\nb\n```", '<pre tabindex="0">a\n\nb</pre>'),
        ("`a*b*c` 2 * 3 * 4", "<p><code>a*b*c</code> 2 * 3 * 4</p>"),
        ("> so\n> it is", "<blockquote>so it is</blockquote>"),
    ],
)
def test_marks_become_what_they_mean(written, shown):
    assert str(rendered(written, {"k-anonymity"})) == shown


def test_a_table_has_a_head_and_cells():
    made = str(rendered("| a | b |\n| --- | --- |\n| 1 | `x\\|y` |"))

    assert "<th>a</th><th>b</th>" in made
    assert "<td>1</td><td><code>x|y</code></td>" in made
