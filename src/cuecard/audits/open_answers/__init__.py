"""What gives open answers away without answering: frequent answers, the question alone, templates, the place."""

from cuecard.audits.open_answers.audit import OpenAnswers
from cuecard.audits.open_answers.place import AnswerPlace

__all__ = ["AnswerPlace", "OpenAnswers"]
