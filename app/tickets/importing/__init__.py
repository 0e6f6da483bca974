"""Moving issues in from elsewhere: read a file, plan the hierarchy, run the verbs, report.

The format is one JSON object a line: id, title, description, design, notes, acceptance_criteria,
status, priority (0 most urgent to 4), issue_type, assignee, labels, dependencies, comments and
times. Everything is written by the same verbs as any other change, as the importing user.
"""
