"""Progress bars on standard error, for what takes over a second, on a terminal only."""

from __future__ import annotations

import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sfumato.progress import Stage

PATIENCE = 1.0  # seconds


class _BarStage:
    def __init__(self, bars: Bars, task: TaskID) -> None:
        self.bars = bars
        self.task = task
        self.timer = threading.Timer(PATIENCE, self.bars.show, (task,))
        self.timer.daemon = True
        self.timer.start()

    def advance(self, steps: float = 1) -> None:
        self.bars.progress.advance(self.task, steps)

    def done(self) -> None:
        self.timer.cancel()
        self.bars.hide(self.task)


class Bars:
    """Listens to work and shows it; silent where nobody watches."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.lock = threading.Lock()
        self.stages: list[_BarStage] = []

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work; its bar appears when it takes long."""
        stage = _BarStage(self, self.progress.add_task(name, total=total, visible=False))
        self.stages.append(stage)
        return stage

    def show(self, task: TaskID) -> None:
        """Make a bar visible."""
        with self.lock:
            self.progress.start()
            self.progress.update(task, visible=True)

    def hide(self, task: TaskID) -> None:
        """Take a bar away."""
        with self.lock:
            self.progress.update(task, visible=False)

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stage in self.stages:
            stage.timer.cancel()
        with self.lock:
            self.progress.stop()
