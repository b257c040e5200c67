"""The command that the package brings: the engine's own, as it is started from a shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Set to the binary of the same version, what it prints must be what the package's command prints.
BINARY = os.environ.get("DINOXIDE_BINARY")

# Longest wait for the command to begin, or to end.
PATIENCE = 60.0


def environment() -> dict[str, str]:
    """The tester's environment without what the command reads."""
    own = ("DINOXIDE_", "HF_", "NO_COLOR")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return variables | {"HF_HOME": "/no/such/cache", "HF_HUB_OFFLINE": "1"}


def run(*args: str | Path, program: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command as a module, or as `program`."""
    command = program or [sys.executable, "-m", "dinoxide"]
    return subprocess.run(
        [*command, *map(str, args)], env=environment(), text=True, capture_output=True, timeout=PATIENCE
    )


def commands(pictures: Path) -> list[list[str | Path]]:
    """Command lines of every kind: data, help, warnings, the user's mistakes."""
    return [
        ["embed", "-m", "builtin:tiny", pictures / "chelsea.png", pictures / "rocket.jpg"],
        ["info", "builtin:tiny"],
        ["info", "builtin:tinny"],
        ["--help"],
        ["embed", "--help"],
        ["--version"],
        ["embed", "--normalise", "a.jpg"],
        ["embed", "-m", "builtin:tiny", "no-such-picture.jpg", pictures / "rocket.jpg"],
        [],
    ]


def test_the_command_embeds_and_gives_lines_of_json(pictures: Path) -> None:
    done = run("embed", "-q", "-m", "builtin:tiny", pictures)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len([path for path in pictures.iterdir() if path.suffix in (".jpg", ".png")])
    assert all(len(row["embedding"]) == 96 for row in rows)


def test_a_mistake_is_told_on_stderr_under_the_commands_name() -> None:
    done = run("classify", "--bogus", "a.jpg")
    assert (done.returncode, done.stdout) == (1, "")
    assert "usage: dinoxide classify [OPTIONS] [INPUT]..." in done.stderr


def test_the_installed_script_is_the_same_command(pictures: Path) -> None:
    script = Path(sys.executable).with_name("dinoxide")
    if not script.exists():
        pytest.skip("the package is not installed here, so that there is no script")
    for args in commands(pictures):
        of_script, of_module = run(*args, program=[str(script)]), run(*args)
        assert shown(of_script) == shown(of_module), args


@pytest.mark.skipif(BINARY is None, reason="DINOXIDE_BINARY does not name the binary to compare with")
def test_the_binary_prints_the_same_and_exits_the_same(pictures: Path) -> None:
    assert BINARY is not None
    for args in commands(pictures):
        assert shown(run(*args)) == shown(run(*args, program=[BINARY])), args


def shown(done: subprocess.CompletedProcess[str]) -> tuple[int, str, list[str]]:
    """What a user sees, without the lines that tell how long it took."""
    lines = [line for line in done.stderr.splitlines() if " s" not in line or line.startswith("error:")]
    return done.returncode, done.stdout, lines


def test_a_reader_of_stdout_that_leaves_ends_it_as_a_success(pictures: Path) -> None:
    many = [str(pictures / "rocket.jpg")] * 200
    process = subprocess.Popen(
        [sys.executable, "-m", "dinoxide", "embed", "-q", "-m", "builtin:tiny", "--batch", "1", *many],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 0


def wait_for_a_file(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until a folder that was empty holds something."""
    until = time.monotonic() + PATIENCE
    while not any(folder.iterdir()):
        assert process.poll() is None, "the command ended early"
        assert time.monotonic() < until, "no file came"
        time.sleep(0.005)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_a_signal_ends_it_and_no_unfinished_file_is_left(name: str, pictures: Path, tmp_path: Path) -> None:
    number = signal.Signals[f"SIG{name}"]
    args = ["embed", "-q", "-m", "builtin:tiny", "--batch", "1", "-o", str(tmp_path / "vectors.parquet")]
    many = [str(pictures / "retina.jpg")] * 5_000  # far more than are done before the signal comes
    process = subprocess.Popen([sys.executable, "-m", "dinoxide", *args, *many], env=environment())
    wait_for_a_file(tmp_path, process)
    process.send_signal(number)
    assert process.wait(PATIENCE) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_of_what_writes_no_file_ends_it_at_once(pictures: Path) -> None:
    many = [str(pictures / "retina.jpg")] * 5_000
    process = subprocess.Popen(
        [sys.executable, "-m", "dinoxide", "embed", "-q", "-m", "builtin:tiny", "--batch", "1", *many],
        env=environment(),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(PATIENCE) == -signal.SIGINT
