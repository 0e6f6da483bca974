"""The published message formats of each chat, as JSON schemas."""


def text(length):
    return {"type": "string", "minLength": 1, "maxLength": length}


def one_of_kind(kind, **properties):
    """Return the schema of an object of this type with exactly these properties."""
    return {
        "type": "object",
        "required": ["type", *properties],
        "properties": {"type": {"const": kind}, **properties},
        "additionalProperties": False,
    }


WEB = {"type": "string", "pattern": "^https?://"}
SLACK_TEXT = one_of_kind("text", text=text(3000))
SLACK_LINK = one_of_kind("link", url=WEB, text=text(3000))
SLACK_PARTS = {"type": "array", "minItems": 1, "items": {"anyOf": [SLACK_TEXT, SLACK_LINK]}}
TEAMS_RUN = one_of_kind("TextRun", text=text(4000))
TEAMS_RUN["properties"]["isSubtle"] = {"type": "boolean"}
# The published message formats of each chat, limited to what our messages use.
SCHEMAS = {
    # https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
    "slack": {
        "type": "object",
        "required": ["text", "blocks"],
        "properties": {
            "text": text(4000),
            "unfurl_links": {"const": False},
            "unfurl_media": {"const": False},
            "blocks": {
                "type": "array",
                "maxItems": 50,
                "items": one_of_kind(
                    "rich_text",
                    elements={
                        "type": "array",
                        "items": {
                            "anyOf": [
                                one_of_kind("rich_text_section", elements=SLACK_PARTS),
                                one_of_kind("rich_text_quote", elements=SLACK_PARTS),
                            ]
                        },
                    },
                ),
            },
        },
        "additionalProperties": False,
    },
    # https://developers.mattermost.com/integrate/webhooks/incoming/
    "mattermost": {
        "type": "object",
        "required": ["text"],
        "properties": {"text": text(16383), "props": {"type": "object"}},
        "additionalProperties": False,
    },
    # https://docs.discord.com/developers/resources/webhook#execute-webhook
    "discord": {
        "type": "object",
        "required": ["content", "allowed_mentions"],
        "properties": {
            "content": text(2000),
            "allowed_mentions": {
                "type": "object",
                "properties": {"parse": {"type": "array", "maxItems": 0}},
                "required": ["parse"],
                "additionalProperties": False,
            },
            "flags": {"const": 4},
        },
        "additionalProperties": False,
    },
    # https://adaptivecards.io/schemas/adaptive-card.json, in the envelope of a workflow.
    "teams": one_of_kind(
        "message",
        attachments={
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["contentType", "content"],
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"type": "null"},
                    "content": {
                        "type": "object",
                        "required": ["type", "version", "body"],
                        "properties": {
                            "$schema": {"type": "string"},
                            "type": {"const": "AdaptiveCard"},
                            "version": {"const": "1.4"},
                            "body": {
                                "type": "array",
                                "items": one_of_kind(
                                    "RichTextBlock",
                                    inlines={"type": "array", "items": TEAMS_RUN},
                                ),
                            },
                            "actions": {
                                "type": "array",
                                "items": one_of_kind("Action.OpenUrl", title=text(200), url=WEB),
                            },
                        },
                        "additionalProperties": False,
                    },
                },
                "additionalProperties": False,
            },
        },
    ),
    # https://spec.matrix.org/latest/client-server-api/#mnotice
    "matrix": {
        "type": "object",
        "required": ["msgtype", "body", "format", "formatted_body", "m.mentions"],
        "properties": {
            "msgtype": {"const": "m.notice"},
            "body": text(20000),
            "format": {"const": "org.matrix.custom.html"},
            "formatted_body": text(20000),
            "m.mentions": {"type": "object", "maxProperties": 0},
        },
        "additionalProperties": False,
    },
}
