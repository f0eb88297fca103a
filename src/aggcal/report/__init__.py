"""One self-contained page from plain data: HTML, Markdown, JSON.

`report` is what a page holds, put together by `contents`, `findings`, `listing` and `glossary`;
`commands` names the commands that make it again. `html` and `markdown` render it; `figures` and
`axes` draw. Nothing here computes a result.
"""
