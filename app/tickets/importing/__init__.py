"""Moving issues in from elsewhere: read files, plan the hierarchy, draft, run the verbs, report.

Each format (``jsonlines``, ``github``, ``jira``, ``table``) makes ``Issue`` records of its files;
from there on all go one way. Everything is written by the same verbs as any other change, as the
importing user.
"""
