"""The ids that all examples of the API document share, so that they tell one story.

ada works in the project OPS on the ticket OPS-12, a story of the epic OPS-3; bot-ops-1 helps her.
All was made in one millisecond, which the ids begin with.
"""

MOMENT = "2026-11-20T19:23:58.123Z"

ADA = "01a1fa6a-612b-7797-9137-8775a8501e2c"
BOT = "01a1fa6a-612b-7aa9-9662-61b3248174e5"
CREDENTIAL = "01a1fa6a-612b-702c-bfc8-7b875fefe911"
PROJECT = "01a1fa6a-612b-7462-a92d-75d0cf72f858"
STATE = "01a1fa6a-612b-7b0c-b751-3a4699f916b1"
NEXT_STATE = "01a1fa6a-612b-7f52-8c1d-0e94b7a3c615"
LABEL = "01a1fa6a-612b-78ee-801b-9fcda94c56b9"
EPIC = "01a1fa6a-612b-7253-be98-5e1e70a76e49"
TICKET = "01a1fa6a-612b-7298-95bd-35d3e7edd867"
COMMENT = "01a1fa6a-612b-70f0-a4e0-331bd19e3224"
RELATION = "01a1fa6a-612b-7131-a0dd-d1baafdba91d"
PAGE = "01a1fa6a-612b-7564-ab9c-cc416794cd2e"
REVISION = "01a1fa6a-612b-7d7a-8597-eb3d04c3405b"
NOTE = "01a1fa6a-612b-70f8-b475-a97bea3fa51c"
WEBHOOK = "01a1fa6a-612b-7824-8e49-fd4c174a554f"
DELIVERY = "01a1fa6a-612b-7fcb-9b1f-7199f25bc8cf"
EVENT = "01a1fa6a-612b-71cc-aa4b-f8a86c5744bc"
REQUEST = "01a1fa6a-612b-7229-a287-e1cc5002aab4"
WORKSPACE = "01a1fa6a-612b-79f1-a3b8-f9e529dcb79c"
INVOCATION = "01a1fa6a-612b-7b26-b8ad-8e1e0d257da2"
