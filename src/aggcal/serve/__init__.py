"""Show a folder of results in a browser, as it is now: `runs` finds them, `server` answers.

Nothing is written into the folders. Pages are rendered when they are asked for, and ask the server
every moment or so whether what they show has changed.
"""
