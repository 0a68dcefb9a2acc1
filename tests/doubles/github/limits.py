"""Every form in which GitHub says: not so fast."""

from __future__ import annotations

from email.utils import formatdate

from doubles.github.exchange import DOCUMENTATION, Answer

PRIMARY = (
    "API rate limit exceeded for user ID {user}. If you reach out to GitHub Support for help, "
    "please include the request ID {request}."
)
SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID {request}."
)
CONTENT = (
    "You have exceeded a secondary rate limit and have been temporarily blocked from content "
    "creation. Please retry your request again later."
)
ABUSE = (
    "You have triggered an abuse detection mechanism. Please wait a few minutes before you try "
    "again."
)
LIMITS_PAGE = f"{DOCUMENTATION}/using-the-rest-api/rate-limits-for-the-rest-api"
#: name without its status: text, page of the documentation, what is said of the time
FORMS = {
    "primary": (PRIMARY, LIMITS_PAGE, "reset"),
    "primary_retry_after": (PRIMARY, LIMITS_PAGE, "reset+after"),
    "retry_after": (SECONDARY, LIMITS_PAGE, "after"),
    "retry_after_date": (SECONDARY, LIMITS_PAGE, "date"),
    "secondary_reset": (SECONDARY, LIMITS_PAGE, "reset"),
    "secondary_bare": (SECONDARY, LIMITS_PAGE, ""),
    "content": (CONTENT, LIMITS_PAGE, ""),
    "abuse": (ABUSE, "https://developer.github.com/v3/#abuse-rate-limits", ""),
    "abuse_retry_after": (ABUSE, "https://developer.github.com/v3/#abuse-rate-limits", "after"),
    "page": ("", "", "after"),
    "page_bare": ("", "", ""),
}
NAMES = tuple(f"{form}_{status}" for form in FORMS for status in (403, 429))
PAGE = b"<!DOCTYPE html>\n<title>Too many requests</title>\n<p>Too many requests.</p>\n"


def answer(name: str, now: float, seconds: float, request_id: str) -> Answer:
    """The answer of that form, which names a time so many seconds away where the form names one."""
    form, _, status = name.rpartition("_")
    text, page, times = FORMS[form]
    headers: dict[str, str] = {}
    if "reset" in times:
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(now + seconds))}
    if times.endswith("after"):
        headers["Retry-After"] = str(max(0, int(seconds)))
    if times == "date":
        headers["Retry-After"] = formatdate(now + seconds, usegmt=True)
    if not text:
        return Answer(int(status), PAGE, {**headers, "Content-Type": "text/html; charset=utf-8"})
    message = text.format(user=1, request=request_id)
    body = {"message": message, "documentation_url": page, "status": status}
    return Answer(int(status), body, headers)
