"""Output of the commands that move all data."""

from pathlib import Path


# Export and import
def in_use(file: Path) -> str:
    return f"{file} belongs to this installation. Choose another file."


def of_newer_release(file: Path) -> str:
    return f"{file} is from a newer Docket. Update Docket first."


def not_empty(folder: Path) -> str:
    return f"{folder} is not empty."


EXPORTING = "Exporting"


def export_failed(problem: Exception) -> str:
    return f"Export failed: {problem}"


def exported(folder: Path, rows: str, files: str) -> str:
    return f"{folder}: {rows} in {files}."


def contents_lost(count: int) -> str:
    return f"Contents of files that are missing or damaged: {count}."


def hooks_need_key(count: int) -> str:
    return (
        f"The export was made under a different SECRET_KEY, which its webhook secrets ({count}) "
        "need. Set that key, or use --reset-webhooks to generate new secrets."
    )


def factors_need_key(count: int) -> str:
    return (
        f"The export was made under a different SECRET_KEY, which its second factors ({count}) "
        "need. Set that key, or use --reset-second-factors to leave them out."
    )


def nothing_imported(problem: str) -> str:
    return f"Nothing was imported: {problem}"


INDEXING = "Indexing"


def imported(rows: str, documents: str) -> str:
    return f"Imported {rows} and indexed {documents}."


def contents_lost_in_export(count: int) -> str:
    return f"Contents of files that are missing in the export: {count}."


def webhooks_disabled(webhooks: str) -> str:
    return f"Disabled {webhooks}. Rotate each secret, then enable the webhook."


def integrations_to_rotate(integrations: str) -> str:
    return f"Rotate the secrets of {integrations}. Until then, deliveries are refused."


def factors_turned_off(count: int) -> str:
    return f"Second factors turned off: {count}."


def installation_not_empty(table: str) -> str:
    return (
        f"This installation is not empty: it has {table}. Import into a new one that no server "
        "has used."
    )


IMPORTING = "Importing"


def rows_wrong(table: str) -> str:
    return f"The number of rows in {table} is wrong."


# Backup, restore and moving to PostgreSQL
USE_PG_DUMP = "The database is PostgreSQL: use pg_dump."


def no_database(path: Path) -> str:
    return f"No database at {path}. Set INSTANCE_DIR to the server's."


def no_plain_file(file: Path) -> str:
    return f"{file} is not an ordinary file."


def already_exists(file: Path) -> str:
    return f"{file} already exists. Use --force to overwrite it."


def backup_verified(file: Path, size: int) -> str:
    return f"{file}: {size} bytes, verified"


def contents_verified(folder: Path, contents: str) -> str:
    return f"{folder}: {contents}, verified"


def files_failed(problem: Exception) -> str:
    return f"Copying files failed: {problem}"


def backup_failed(problem: Exception) -> str:
    return f"Backup failed: {problem}"


def cannot_use_file(file: Path, problem: Exception) -> str:
    return f"SQLite cannot use {file}: {problem}."


def copy_corrupt(problem: str) -> str:
    return f"The copy is corrupt: {problem}"


USE_PG_RESTORE = "The database is PostgreSQL: use pg_restore."


def move_away(path: Path) -> str:
    return f"{path} is not empty. Move it away first."


def another_program_uses(path: Path) -> str:
    return f"Another program uses {path}. Close it, then run this again."


def not_a_backup(file: Path) -> str:
    return f"{file} is not a backup of a Docket installation with users."


def restored(path: Path, file: Path) -> str:
    return f"Restored {path} from {file}."


def hooks_of_other_key(count: int) -> str:
    return (
        f"SECRET_KEY differs from the backup's. Its webhook secrets ({count}) cannot be "
        "decrypted until you set that key or put it into INSTANCE_DIR/secret_key."
    )


def factors_of_other_key(count: int) -> str:
    return (
        f"SECRET_KEY differs from the backup's. People with two-factor authentication ({count}) "
        "need recovery codes until you set that key."
    )


IS_POSTGRESQL = "This installation already uses PostgreSQL."
URL_NOT_POSTGRESQL = "DATABASE_URL must begin with postgresql://."
COPYING = "Copying"


def nothing_copied(problem: str) -> str:
    return f"Nothing was copied: {problem}"


def copied(rows: str, documents: str) -> str:
    return f"Copied {rows} and indexed {documents}."


def file_moved(moved: Path, path: Path | None) -> str:
    return (
        f"The SQLite file is now {moved}. Set DATABASE_URL to start the server. To go back, "
        f"rename it to {path}."
    )


def target_not_empty(table: str) -> str:
    return f"The target is not empty: it has {table}."
