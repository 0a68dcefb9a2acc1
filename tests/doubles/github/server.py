"""The server as a whole: what it knows, and what becomes of a request."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doubles.github import limits, plumbing, smart_http, wire
from doubles.github.access import authenticate, credential
from doubles.github.consequences import Consequences
from doubles.github.door import Door
from doubles.github.dressing import Dressing
from doubles.github.exchange import Answer, Call, Refused, Request
from doubles.github.fault import LATE, Fault, Faults
from doubles.github.lag import Lags
from doubles.github.record import Entry, Record
from doubles.github.routes import Route, find, table
from doubles.github.routes.apps import BY_APP
from doubles.github.webhook import Webhooks
from doubles.github.world import World

API = "/api/v3"
CONTROL = "/_control/"


@dataclass(frozen=True)
class Outcome:
    """What goes out: the whole answer, half of it, or nothing but a reset."""

    answer: Answer | None
    is_cut: bool = False
    after: float = 0  #: seconds to hang first


class GitHub(Dressing, Consequences):
    """The hostile server; `door` is what tests hold, `url` is where clients go."""

    def __init__(self, folder: Path, port: int = 0, record: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.world = World(folder)
        self.record = Record(record or folder / "record.jsonl")
        self.faults = Faults()
        self.lags = Lags()
        self.webhooks = Webhooks()
        self.closing = threading.Event()
        self.deeds: list[tuple[Fault, dict[str, Any]]] = []
        self.door = Door(self)
        self._routes: list[Route] = table()
        self._http = wire.listen(self, port)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.api = f"{self.url}{API}"

    def __enter__(self) -> GitHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more; whoever hangs is let go."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self.webhooks.close()
        self.record.close()

    def answer(self, request: Request) -> Outcome:
        """Do what the request asks, and what the faults make of it."""
        if request.path.startswith(CONTROL):
            return Outcome(self.door.answer(request, request.path.removeprefix(CONTROL)))
        path = request.path.removeprefix(API)
        secrets = [value for value in self.world.tokens if value]
        entry = self.record.begin(request, self._name(request), secrets, self.world.clock.now())
        found = find(self._routes, request.method, path) if path != request.path else None
        entry.template = found[0].template if found else None
        fault = self.faults.strike(request, path)
        deeds = [each for each in self.deeds if self.faults.met_by(each[0], request, path)]
        self._let_people_act(deeds, "before")
        outcome = self._spoil(fault, request, entry) if fault else self._do(request, entry)
        self._let_people_act(deeds, "after")
        if outcome.after:
            self.closing.wait(outcome.after)
        entry.sent = "no" if outcome.answer is None else "cut" if outcome.is_cut else "yes"
        return outcome

    def _let_people_act(self, deeds: list[tuple[Fault, dict[str, Any]]], when: str) -> None:
        """What people do just now; where nothing is to be done, they do nothing."""
        for deed, arguments in deeds:
            if deed.where == when:
                with suppress(Refused, KeyError, plumbing.GitFailed):
                    getattr(self.door, deed.form)(**arguments)

    def _name(self, request: Request) -> str | None:
        secret = credential(request)
        if not secret:
            return None
        token = self.world.tokens.get(secret)
        return token.name if token else "jwt" if secret.count(".") == 2 else "unknown"

    def _do(self, request: Request, entry: Entry) -> Outcome:
        answer = self.carry_out(request)
        self.record.decide(entry, answer, None)
        return Outcome(answer)

    def _spoil(self, fault: Fault, request: Request, entry: Entry) -> Outcome:
        kind = fault.kind
        if kind in LATE:
            return self._later(fault, request, entry)
        if kind in {"stored_then_status", "stored_then_reset", "stored_then_hang", "cut_body"}:
            answer = self.carry_out(request)
            if kind == "stored_then_status":
                lost = self._broken(fault.status, request)
                lost.stored, lost.note = answer.stored, answer.note
                answer = lost
            self.record.decide(entry, answer, kind)
            if kind == "stored_then_hang":
                return Outcome(None, after=fault.seconds)
            is_lost = kind == "stored_then_reset"
            return Outcome(None if is_lost else answer, is_cut=kind == "cut_body")
        answer = self._instead(fault, request)
        self.record.decide(entry, answer, kind)
        if kind == "hang":
            return Outcome(None, after=fault.seconds)
        return Outcome(None if kind == "reset" else answer)

    def _later(self, fault: Fault, request: Request, entry: Entry) -> Outcome:
        answer = self._broken(fault.status, request)
        self.record.decide(entry, answer, fault.kind)

        def work() -> Answer:
            late = self.carry_out(request)
            answer.stored, answer.note = late.stored, late.note
            self.record.decide(entry, answer, fault.kind)
            return late

        self.faults.keep_for_later(work)
        if fault.seconds > 0:
            timer = threading.Timer(fault.seconds, self._when_due, [work])
            timer.daemon = True
            timer.start()
        return Outcome(answer if fault.kind == "late_status" else None)

    def _when_due(self, work: Any) -> None:
        if self.faults.drop_late(work) and not self.closing.is_set():
            work()

    def _instead(self, fault: Fault, request: Request) -> Answer:
        """What is answered to a request that is not carried out."""
        now = self.world.clock.now()
        match fault.kind:
            case "rate_limit":
                answer = limits.answer(fault.form, now, fault.seconds, self.request_id())
                return self.dressed(answer, request, None)
            case "redirect":
                where = fault.where if "://" in fault.where else f"{self.url}{fault.where}"
                body = {"message": "Moved Permanently", "url": where}
                return Answer(fault.status, body, {"Location": where})
            case _:
                return self._broken(fault.status, request)

    def _broken(self, status: int, request: Request) -> Answer:
        """An error that has nothing to do with what was asked."""
        if not request.path.startswith(API):
            if status == 401:
                realm = {"WWW-Authenticate": 'Basic realm="GitHub"'}
                return smart_http.say(status, smart_http.WRONG, realm)
            return smart_http.say(status, "Internal Server Error\n")
        if status in {503, 504}:
            page = b"<!DOCTYPE html>\n<title>Unicorn!</title>\n<p>No server is available.</p>\n"
            return Answer(status, page, {"Content-Type": "text/html; charset=utf-8"})
        words = {401: "Bad credentials", 403: "Forbidden", 404: "Not Found"}
        return Refused(status, words.get(status, "Server Error")).answer

    def carry_out(self, request: Request) -> Answer:
        """Do it, faultlessly."""
        if not request.path.startswith(API):
            return smart_http.answer(self, request)
        with self.world.lock:
            token = None
            try:
                found = find(self._routes, request.method, request.path.removeprefix(API))
                if "user-agent" not in request.headers:
                    raise Refused(403, "Request forbidden by administrative rules. Please make "
                                  "sure your request has a User-Agent header")  # fmt: skip
                is_app = found is not None and found[0].answer in BY_APP
                token = None if is_app else authenticate(self.world, request)
                if token is not None:
                    self.spend(token)
                if found is None:
                    raise Refused(404, "Not Found")
                route, values = found
                answer = route.answer(Call(self, request, token, values))
            except Refused as refused:
                answer = refused.answer
            return self.dressed(answer, request, token)
