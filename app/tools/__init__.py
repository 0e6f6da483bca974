"""The 29 tools of bots, by group: names become ids, a verb is called, its JSON is answered.

A door like REST and the pages, so no rule lives here.
"""
