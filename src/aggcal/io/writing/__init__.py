"""Files that are written whole or not at all, beside other people's files.

`write` is the door. A set of files is made in a `scratch` folder, put in place by `swap` under a
lock (`locks`), one by one where it must be (`journal`), and listed with
its digests in a `manifest`, by which the next run knows its own.
"""
