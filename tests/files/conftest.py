import os

# It needs a server that speaks S3, which not every machine has.
collect_ignore = [] if os.environ.get("S3_ENDPOINT") else ["test_real_bucket.py"]
