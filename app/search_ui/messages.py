"""The groups and commands of the palette."""

TICKETS_AND_PAGES = "Tickets and pages"
GO_TO = "Go to"

# Commands: the label, and further words that find it.
NEW_TICKET = ("New ticket", "create add")
MY_WORK = ("My work", "home start")
INBOX = ("Inbox", "news unread mentions")
PROJECTS = ("Projects", "all")
WIKI = ("Wiki", "workspace pages")
MY_NOTES = ("My notes", "sticky wall")
BOTS = ("Bots", "tokens")
WEBHOOKS = ("Webhooks", "deliveries hooks events")
INTEGRATIONS = ("Integrations", "github gitlab gitea forgejo code pull requests")
PEOPLE = ("People", "users")
PROFILE_AND_APPEARANCE = ("Profile and appearance", "settings theme dark light password")
HELP = ("Help", "manual guide how what where")
KEYBOARD_SHORTCUTS = ("Keyboard shortcuts", "keys help")
CONNECT_AN_AGENT = ("Connect an agent", "mcp tools connect configuration api")
IMPORT_ISSUES = ("Import issues", "move in csv jira github file upload")
EXPORT = ("Export", "move out zip markdown download backup")
NEW_WIKI_PAGE = ("New wiki page", "create add write")
NEW_PROJECT = ("New project", "create add")
GET_STARTED = ("Get started", "sample project welcome begin")
BROKEN_LINKS = ("Broken links", "wiki")

# Commands of a project; `~` stands for its key.
KEYWORDS_OF_PROJECTS = "project"
BOARD_OF_PROJECT = ("Board in ~", "")
NEW_TICKET_OF_PROJECT = ("New ticket in ~", "create add")
TICKETS_OF_PROJECT = ("Tickets in ~", "list")
WIKI_OF_PROJECT = ("Wiki in ~", "pages")
NEW_WIKI_PAGE_OF_PROJECT = ("New wiki page in ~", "create add write")
NOTES_OF_PROJECT = ("Notes in ~", "sticky wall")
OVERVIEW_OF_PROJECT = ("Overview of ~", "about")
ACTIVITY_OF_PROJECT = ("Activity in ~", "events happened")
SETTINGS_OF_PROJECT = ("Settings for ~", "states labels")

# Actions on a ticket.
CHANGE_STATE = ("Change state", "move to transition status")
ASSIGN = ("Assign", "assignee owner")
ASSIGN_TO_ME = ("Assign to me", "take claim")
EDIT_LABELS = ("Edit labels", "label add tag")
SET_PRIORITY = ("Set priority", "urgent high medium low")
SET_DUE_DATE = ("Set due date", "day deadline")
SET_PARENT = ("Set parent", "epic story")
EDIT_TITLE = ("Edit title", "rename")
WATCH_OR_STOP_WATCHING = ("Watch or stop watching", "unwatch follow notify")
COPY_LINK = ("Copy link", "address url share")
COPY_PROMPT_FOR_AN_AGENT = ("Copy prompt for an agent", "bot ai")
