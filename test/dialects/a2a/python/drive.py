"""Drives A2A's Python client against the agents of the service at a URL, by both of its bindings, and checks what it gives.

usage: python drive.py URL
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client.client import ClientConfig
from a2a.client.client_factory import create_client
from a2a.helpers import get_artifact_text, new_text_message
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskNotCancelableError,
    TaskNotFoundError,
    TaskPushNotificationConfig,
    TaskState,
    UnsupportedOperationError,
)

URL = sys.argv[1]
driven = []


def same(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r}, not {expected!r}")
    driven.append(what)


def saying(text, **more):
    message = new_text_message(text, role=Role.ROLE_USER)
    for name, value in more.items():
        setattr(message, name, value)
    return message


async def refused(call, error, what):
    try:
        await call
    except error:
        driven.append(what)
        return
    raise AssertionError(f"{what}: it is not refused with {error.__name__}")


async def last_task(stream):
    task = None
    async for event in stream:
        if event.HasField("task"):
            task = event.task
    return task


async def events_of(stream):
    return [event async for event in stream]


def state_of(events):
    return [event.status_update.status.state for event in events if event.HasField("status_update")][-1]


def text_of(task):
    return [get_artifact_text(artifact) for artifact in task.artifacts]


async def drive(binding):
    async with httpx.AsyncClient(timeout=30) as http:

        async def client_of(agent, streaming):
            config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
            return await create_client(f"{URL}/a2a/{agent}", config)

        named = lambda what: f"{binding}: {what}"
        obedient = await client_of("obedient", False)
        task = await last_task(obedient.send_message(SendMessageRequest(message=saying("hello"))))
        same((task.status.state, text_of(task)), (TaskState.TASK_STATE_COMPLETED, ["you said hello"]), named("a message"))
        same(await obedient.get_task(GetTaskRequest(id=task.id)), task, named("get_task"))
        short = await obedient.get_task(GetTaskRequest(id=task.id, history_length=0))
        same(len(short.history), 0, named("get_task without history"))
        await refused(obedient.get_task(GetTaskRequest(id=str(uuid.uuid4()))), TaskNotFoundError, named("a task that is absent"))
        await refused(obedient.cancel_task(CancelTaskRequest(id=task.id)), TaskNotCancelableError, named("cancel_task at the end"))
        card = await obedient.get_extended_agent_card(GetExtendedAgentCardRequest())
        same(card.name, "obedient", named("get_extended_agent_card"))

        typing = await client_of("typing", True)
        events = await events_of(typing.send_message(SendMessageRequest(message=saying("hello"))))
        same(events[0].HasField("task"), True, named("a stream begins with its task"))
        same(state_of(events), TaskState.TASK_STATE_COMPLETED, named("a stream ends with its state"))
        updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
        read = await typing.get_task(GetTaskRequest(id=events[0].task.id))
        pieces = "".join(get_artifact_text(update.artifact) for update in updates)
        same(pieces, text_of(read)[0], named("artifacts of a stream"))

        typing_once = await client_of("typing", False)
        at_once = SendMessageConfiguration(return_immediately=True)
        begun = await last_task(typing_once.send_message(SendMessageRequest(message=saying("hello"), configuration=at_once)))
        followed = await events_of(typing.subscribe(SubscribeToTaskRequest(id=begun.id)))
        same(state_of(followed), TaskState.TASK_STATE_COMPLETED, named("subscribe"))
        begun = await last_task(typing_once.send_message(SendMessageRequest(message=saying("hello"), configuration=at_once)))
        ended = await typing_once.cancel_task(CancelTaskRequest(id=begun.id))
        same(ended.status.state, TaskState.TASK_STATE_CANCELED, named("cancel_task"))

        recorded = await client_of("recorded", False)
        asked = await last_task(recorded.send_message(SendMessageRequest(message=saying("ask"))))
        same(asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED, named("a question"))
        config = TaskPushNotificationConfig(task_id=asked.id, id="mine", url="https://example.com/hook", token="t")
        made = await recorded.create_task_push_notification_config(config)
        same((made.id, made.task_id, made.token), ("mine", asked.id, "t"), named("create_task_push_notification_config"))
        key = {"task_id": asked.id, "id": "mine"}
        found = await recorded.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**key))
        same(found, made, named("get_task_push_notification_config"))
        of_task = ListTaskPushNotificationConfigsRequest(task_id=asked.id)
        same(len((await recorded.list_task_push_notification_configs(of_task)).configs), 1, named("list_task_push_notification_configs"))
        await recorded.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**key))
        same(len((await recorded.list_task_push_notification_configs(of_task)).configs), 0, named("delete_task_push_notification_config"))
        yes = saying("yes", task_id=asked.id, context_id=asked.context_id)
        answered = await last_task(recorded.send_message(SendMessageRequest(message=yes)))
        same((answered.id, text_of(answered)[-1]), (asked.id, "you said yes"), named("an answer"))
        again = await last_task(recorded.send_message(SendMessageRequest(message=yes)))
        same(again, answered, named("the same answer again"))
        late = recorded.send_message(SendMessageRequest(message=saying("no", task_id=asked.id)))
        await refused(last_task(late), UnsupportedOperationError, named("an answer to a task that has ended"))
        listed = await recorded.list_tasks(ListTasksRequest(context_id=asked.context_id))
        same(([each.id for each in listed.tasks], listed.total_size), ([asked.id], 1), named("list_tasks"))


async def main():
    for binding in ["JSONRPC", "HTTP+JSON"]:
        await drive(binding)
    print(json.dumps(driven))


asyncio.run(main())
