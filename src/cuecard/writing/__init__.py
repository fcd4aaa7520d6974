"""Files and folders that appear whole or not at all, and what is checked before the work for them begins."""

from cuecard.writing.faults import writing_to
from cuecard.writing.files import (
    Staged,
    Write,
    made_folders,
    staged_file,
    write_json,
    write_text,
    write_whole,
)
from cuecard.writing.folders import recover, staged_folder, write_together
from cuecard.writing.locks import locked
from cuecard.writing.targets import check_file, check_folder

__all__ = [
    "Staged",
    "Write",
    "check_file",
    "check_folder",
    "locked",
    "made_folders",
    "recover",
    "staged_file",
    "staged_folder",
    "write_json",
    "write_text",
    "write_together",
    "write_whole",
    "writing_to",
]
