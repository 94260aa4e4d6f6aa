"""What a second opinion may end with, besides numbers."""


class LessonError(Exception):
    """The lesson says something that cannot be worked out; the text says what."""


class Skipped(LessonError):
    """A lesson that is outside what the second opinion covers."""
