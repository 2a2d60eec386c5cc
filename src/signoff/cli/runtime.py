"""What ``signoff serve --wattswarm`` is told: the options of the runtime."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from signoff.cli.exits import Refusal
from signoff.cli.serving import Seconds
from signoff.errors import SignoffError
from signoff.jsonvalue import shown

__all__ = ["Runtime", "runtime"]

FAMILY: Final = "swarm-runtime"
MODEL: Final = "swarm-model-v1"
MODES: Final = ("off", "advisory", "required")


class Runtime(Struct, frozen=True, kw_only=True):
    """
    What the command line says of the runtime.

    Args:
        wattswarm: It is served.
        provider_family: Under which reputation is counted.
        model_id: Likewise.
        profiles: Names of profiles, separated by commas.
        task_types: Names of types of tasks, likewise.
        policy_hashes: ``ID=HASH`` each.
        evidence: What becomes of evidence.
        evidence_hosts: Hosts from which it is fetched.
        evidence_nets: Networks, beyond the public one, in which these may be.
        evidence_timeout: Seconds for one reference.
        evidence_total: Seconds for all references of a request.
        executor: What does the work.
        executor_envs: Names of variables that a program gets.
        executor_reads: Paths, beyond the system's, that a program may read.
        executor_network: A program may open sockets.
        openai_key_env: Name of the variable with the key of an endpoint.
        execute_timeout: Seconds that it may take.
        agent_events: What becomes of events.
    """

    wattswarm: bool
    provider_family: str
    model_id: str
    profiles: str
    task_types: str
    policy_hashes: tuple[str, ...]
    evidence: str
    evidence_hosts: tuple[str, ...]
    evidence_nets: tuple[str, ...]
    evidence_timeout: float
    evidence_total: float
    executor: str | None
    executor_envs: tuple[str, ...]
    executor_reads: tuple[str, ...]
    executor_network: bool
    openai_key_env: str | None
    execute_timeout: float
    agent_events: str

    def options(self, public_url: str | None) -> Any:
        """
        The ``RuntimeOptions`` that this comes to.

        Args:
            public_url: How others reach this server.

        Raises:
            Refusal: One of them cannot be used.
        """
        from signoff.dialects.wattswarm.translation import EvidenceMode  # only a server needs it
        from signoff.service.fetching import FetchSettings  # it brings asyncio
        from signoff.service.wattswarm.capabilities import Capabilities  # likewise
        from signoff.service.wattswarm.options import RuntimeOptions  # likewise

        _require_public(public_url)
        try:
            return RuntimeOptions(
                capabilities=Capabilities(
                    task_types=_names(self.task_types, "--task-types"),
                    profiles=_names(self.profiles, "--profiles"),
                    provider_family=self.provider_family,
                    model_id=self.model_id,
                ),
                evidence=EvidenceMode(self.evidence),
                fetch=FetchSettings.read(
                    hosts=self.evidence_hosts,
                    networks=self.evidence_nets,
                    public_url=public_url,
                    timeout_s=self.evidence_timeout,
                    total_s=self.evidence_total,
                ),
                extra_hashes=_hashes(self.policy_hashes),
                executor=self._executor(),
                execute_timeout_s=self.execute_timeout,
                agent_events=self.agent_events == "ack",
            )
        except (ValueError, SignoffError) as exc:
            raise Refusal(str(exc), next_step="signoff serve --help shows the options") from exc

    def _executor(self) -> Any:
        self._require_fitting()
        if self.executor is None:
            return None
        from signoff.executors.choosing import executor_of  # likewise
        from signoff.service.wattswarm.execute import EXECUTOR_SETTINGS  # likewise

        settings = replace(
            EXECUTOR_SETTINGS,
            env=self.executor_envs,
            readable=self.executor_reads,
            network=self.executor_network,
            key_env=self.openai_key_env or "",
        )
        executor = executor_of(self.executor, settings)
        executor.prepare()  # what is not there is told before anything is served
        return executor

    def _require_fitting(self) -> None:
        """No option is given in vain."""
        for option, kind, given in (
            ("--executor-env", "cmd:", self.executor_envs),
            ("--executor-read", "cmd:", self.executor_reads),
            ("--executor-network", "cmd:", self.executor_network),
            ("--openai-key-env", "openai:", self.openai_key_env),
        ):
            if given and not (self.executor or "").startswith(kind):
                raise ValueError(f"{option} goes with --executor {kind}")


def _names(text: str, option: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"{option} names nothing")
    return names


def _require_public(url: str | None) -> None:
    """Paths can be put behind it."""
    if url is not None and ("?" in url or "#" in url):
        raise Refusal(
            f'--public-url must have no query and no fragment, got "{shown(url)}"',
            next_step="leave out what follows the path",
        )


def _hashes(given: tuple[str, ...]) -> dict[str, frozenset[str]]:
    from signoff.dialects.wattswarm.policies import POLICIES  # only a server needs it

    found: dict[str, frozenset[str]] = {}
    for text in given:
        id_, equals, hash_ = text.partition("=")
        if not (equals and id_.strip() and hash_.strip()):
            raise ValueError(f'--policy-hash must be ID=HASH, got "{shown(text)}"')
        id_, hash_ = id_.strip(), hash_.strip()
        if id_ not in POLICIES:
            known = ", ".join(POLICIES)
            raise ValueError(f'--policy-hash: no policy is named "{shown(id_)}", but {known}')
        found[id_] = found.get(id_, frozenset()) | {hash_}
    return found


def runtime(function: Callable[..., int]) -> Callable[..., int]:
    """Options of the runtime; the command's function gets them as ``runtime``."""

    def command(*args: Any, **asked: Any) -> int:
        said = Runtime(**{name: asked.pop(name) for name in Runtime.__struct_fields__})
        if not said.wattswarm:
            _require_none()
        return function(*args, runtime=said, **asked)

    chosen: Callable[..., int] = update_wrapper(command, function)
    for option in reversed(_OPTIONS):
        chosen = option(chosen)
    return chosen


def _require_none() -> None:
    """No option of the runtime is given where none is served: it would be in vain."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if option.name in Runtime.__struct_fields__ and given is ParameterSource.COMMANDLINE:
            raise Refusal(
                f"{option.opts[0]} goes with --wattswarm",
                next_step="add --wattswarm, or leave the option out",
            )


_OPTIONS: Final = (
    click.option(
        "--wattswarm", is_flag=True, help="Serve the runtime that a WattSwarm node calls."
    ),
    click.option("--provider-family", default=FAMILY, help=f"Who works; {FAMILY} when absent."),
    click.option("--model-id", default=MODEL, help=f"With what; {MODEL} when absent."),
    click.option("--profiles", default="default", help="Profiles, by commas; default when absent."),
    click.option("--task-types", default="swarm", help="Task types, by commas; swarm when absent."),
    click.option(
        "--policy-hash",
        "policy_hashes",
        multiple=True,
        metavar="ID=HASH",
        help="Admit a further hash of a policy; repeatable.",
    ),
    click.option(
        "--evidence",
        type=click.Choice(MODES),
        default="required",
        help="What becomes of evidence; required when absent.",
    ),
    click.option(
        "--evidence-host",
        "evidence_hosts",
        multiple=True,
        metavar="HOST",
        help="Fetch evidence from this host; repeatable, none when absent.",
    ),
    click.option(
        "--evidence-net",
        "evidence_nets",
        multiple=True,
        metavar="NETWORK",
        help="Let such hosts be in this network, such as 10.20.0.0/16; repeatable.",
    ),
    click.option(
        "--evidence-timeout",
        type=Seconds(),
        metavar="SECONDS",
        default=5.0,
        help="For one reference (5 when absent).",
    ),
    click.option(
        "--evidence-total",
        type=Seconds(),
        metavar="SECONDS",
        default=15.0,
        help="For all references of a request (15 when absent).",
    ),
    click.option(
        "--executor",
        metavar="KIND:WHAT",
        help="What works: cmd:PROGRAM ..., call:MODULE:FUNCTION or openai:URL#MODEL.",
    ),
    click.option(
        "--executor-env",
        "executor_envs",
        multiple=True,
        metavar="NAME",
        help="Let a program see this variable; repeatable.",
    ),
    click.option(
        "--executor-read",
        "executor_reads",
        multiple=True,
        metavar="PATH",
        help="Let a program read this, beyond the system; repeatable.",
    ),
    click.option("--executor-network", is_flag=True, help="Let a program open sockets."),
    click.option(
        "--openai-key-env", metavar="NAME", help="Send an endpoint the key in a variable."
    ),
    click.option(
        "--execute-timeout",
        type=Seconds(),
        metavar="SECONDS",
        default=25.0,
        help="What it may take (25 when absent).",
    ),
    click.option(
        "--agent-events",
        type=click.Choice(["off", "ack"]),
        default="off",
        help="What becomes of events of agents: nothing when absent, or acknowledged.",
    ),
)
