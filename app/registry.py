"""What the domains offer to each edge: REST routes, pages and commands."""

from click import Command
from flask import Blueprint

from app.accounts import mailing
from app.accounts.api import api as accounts
from app.accounts.cli import setup_admin, setup_code
from app.accounts.mail_pages import pages as account_mail_pages
from app.accounts.pages import pages as account_pages
from app.accounts.passkey_api import api as passkeys
from app.accounts.passkey_pages import pages as passkey_pages
from app.accounts.people_pages import pages as people_pages
from app.accounts.second_factor_api import api as second_factor
from app.accounts.second_factor_pages import pages as second_factor_pages
from app.activity import chat_messages, receipts
from app.activity.api import api as activity
from app.activity.pages import pages as audit_pages
from app.attachments.api import api as files
from app.attachments.pages import pages as file_pages
from app.audit.receipts import install as install_receipts
from app.audit.service import on_record
from app.bots.api import api as bots
from app.bots.pages import pages as bot_pages
from app.commands.audit import audit
from app.commands.bots import bots as bot_commands
from app.commands.describe import openapi as openapi_command
from app.commands.describe import projects as project_commands
from app.commands.describe import tools as tool_commands
from app.commands.doctor import doctor
from app.commands.moving.copies import backup, copy_to, restore_backup
from app.commands.moving.export import export, import_export
from app.commands.restore import restore
from app.commands.secrets import rotate_secret_key
from app.commands.users import login_limits, users
from app.exporting.pages import pages as export_pages
from app.feeds.api import api as feeds
from app.feeds.pages import pages as feed_pages
from app.help.pages import pages as help_pages
from app.importing.commands import import_issues
from app.importing.pages import pages as import_pages
from app.importing.trackers.commands import import_from
from app.importing.wiki_folder import import_wiki
from app.inbox.inbox_page import pages as inbox_pages
from app.integrations.api import api as integrations
from app.integrations.cli import integrations as integration_commands
from app.integrations.pages import pages as integration_pages
from app.jobs.sweeping import sweep_command
from app.mail.cli import mail
from app.mail.pages import pages as mail_pages
from app.notices import letters as notices
from app.notices.api import api as notice_choices
from app.notices.pages import pages as notice_pages
from app.projects.api import api as projects
from app.projects.general_settings import pages as project_settings_pages
from app.projects.pages import pages as project_pages
from app.rest.routing import Registry
from app.rewind.api import api as rewind
from app.rewind.pages import pages as rewind_pages
from app.sample.pages import pages as welcome_pages
from app.sample.sample import sample_project
from app.search import sources
from app.search.api import api as search
from app.search.cli import reindex
from app.search_ui.pages import pages as finding_pages
from app.sign_on.pages import pages as sign_on_pages
from app.sticky_notes.api import api as sticky_notes
from app.sticky_notes.pages import pages as note_pages
from app.tickets import searching as searching_tickets
from app.tickets.api import api as tickets
from app.tickets.api import discussion as comments
from app.tickets.api import parts as ticket_parts
from app.tickets.link_api import api as ticket_links
from app.tickets.pages import pages as ticket_pages
from app.undo.pages import pages as undo_pages
from app.webhooks import chats
from app.webhooks.api import api as webhooks
from app.webhooks.cli import webhooks as webhook_commands
from app.webhooks.outbox import listen
from app.webhooks.pages import pages as webhook_pages
from app.wiki import searching as searching_wiki
from app.wiki.api import api as wiki
from app.wiki.pages import pages as wiki_pages

APIS = (
    accounts,
    second_factor,
    passkeys,
    feeds,
    notice_choices,
    bots,
    projects,
    tickets,
    ticket_parts,
    ticket_links,
    comments,
    wiki,
    files,
    sticky_notes,
    search,
    webhooks,
    integrations,
    activity,
    rewind,
)

on_record(listen)
chats.install(chat_messages.messages_about)
install_receipts(receipts.build)
mailing.install()
notices.install()
sources.install(searching_tickets.SOURCE, searching_wiki.SOURCE)


def routes() -> Registry:
    registry = Registry()
    for api in APIS:
        registry.add(api)
    return registry


def pages() -> list[Blueprint]:
    return [
        account_pages,
        people_pages,
        second_factor_pages,
        passkey_pages,
        sign_on_pages,
        project_pages,
        project_settings_pages,
        ticket_pages,
        wiki_pages,
        note_pages,
        file_pages,
        bot_pages,
        webhook_pages,
        integration_pages,
        finding_pages,
        audit_pages,
        welcome_pages,
        import_pages,
        export_pages,
        inbox_pages,
        undo_pages,
        rewind_pages,
        help_pages,
        feed_pages,
        mail_pages,
        account_mail_pages,
        notice_pages,
    ]


def commands() -> list[Command]:
    return [
        setup_admin,
        setup_code,
        users,
        bot_commands,
        project_commands,
        import_from,
        import_issues,
        import_wiki,
        restore,
        reindex,
        webhook_commands,
        integration_commands,
        sweep_command,
        mail,
        audit,
        tool_commands,
        openapi_command,
        login_limits,
        backup,
        restore_backup,
        copy_to,
        export,
        import_export,
        doctor,
        rotate_secret_key,
        sample_project,
    ]
