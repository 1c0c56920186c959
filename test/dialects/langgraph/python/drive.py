"""Drives every method of LangGraph's Python client against the service at a URL, and checks what each gives.

usage: python drive.py URL [deletes]

`deletes`: the service is LangGraph Server, which deletes runs.
"""

import asyncio
import inspect
import json
import sys
import uuid

from langgraph_sdk import get_client, get_sync_client

GRAPH = "agent"
INPUT = {"messages": [{"role": "user", "content": "hello"}]}
SLOW = {"messages": [{"role": "user", "content": "slow one"}]}
ASK = {"messages": [{"role": "user", "content": "please ask"}]}

driven: set[str] = set()


class Noted:
    """A client of which each method that is called is noted, a coroutine or not."""

    def __init__(self, name, inner):
        self._name, self._inner = name, inner

    def __getattr__(self, method):
        driven.add(f"{self._name}.{method}")
        return getattr(self._inner, method)


def same(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r}, not {expected!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


async def refused(call, status, what):
    try:
        await call
    except Exception as error:
        # Some methods raise what their HTTP library does.
        response = getattr(error, "response", None)
        same(getattr(response, "status_code", error), status, what)
        return
    raise AssertionError(f"{what}: not refused with {status}")


def texts(values):
    """The texts of messages, whether they stand alone or in blocks."""
    contents = [message["content"] for message in values.get("messages", [])]
    return [content if isinstance(content, str) else "".join(block["text"] for block in content) for content in contents]


ANSWER = "pale blue sky over hills"


async def assistants(client):
    [own] = await client.assistants.search(graph_id=GRAPH, limit=1, sort_by="created_at", sort_order="asc")
    same(own["graph_id"], GRAPH, "the graph's own assistant")
    same((await client.assistants.get(own["assistant_id"]))["name"], GRAPH, "its name")
    drawing = await client.assistants.get_graph(own["assistant_id"], xray=True)
    holds({"__start__", "think", "gate", "__end__"} <= {node["id"] for node in drawing["nodes"]}, "the drawing")
    schemas = await client.assistants.get_schemas(own["assistant_id"])
    holds("messages" in schemas["state_schema"]["properties"], "the schema of the state")
    same(await client.assistants.get_subgraphs(own["assistant_id"], recurse=True), {}, "sub-graphs")

    mark = str(uuid.uuid4())
    made = await client.assistants.create(GRAPH, {"configurable": {"tone": "dry"}}, metadata={"mark": mark}, name="dry")
    assistant_id = made["assistant_id"]
    again = await client.assistants.create(GRAPH, assistant_id=assistant_id, if_exists="do_nothing")
    same(again["name"], "dry", "an assistant that is there")
    await refused(client.assistants.create(GRAPH, assistant_id=assistant_id), 409, "a taken id")
    changed = await client.assistants.update(assistant_id, name="wet", description="of rain")
    same((changed["name"], changed["version"]), ("wet", 2), "a new version")
    versions = await client.assistants.get_versions(assistant_id)
    same([version["version"] for version in versions], [2, 1], "versions")
    same((await client.assistants.set_latest(assistant_id, 1))["name"], "dry", "the first version")
    same(await client.assistants.count(metadata={"mark": mark}), 1, "a count")
    found = await client.assistants.search(metadata={"mark": mark}, response_format="object")
    same([each["assistant_id"] for each in found["assistants"]], [assistant_id], "a search")
    await client.assistants.delete(assistant_id)
    await refused(client.assistants.get(assistant_id), 404, "a deleted one")


async def threads(client):
    mark = str(uuid.uuid4())
    thread = await client.threads.create(metadata={"mark": mark}, graph_id=GRAPH, ttl=60)
    thread_id = thread["thread_id"]
    same(thread["status"], "idle", "a new thread")
    await refused(client.threads.create(thread_id=thread_id), 409, "a taken thread")
    same((await client.threads.create(thread_id=thread_id, if_exists="do_nothing"))["metadata"]["mark"], mark, "it")
    await client.threads.update(thread_id, metadata={"more": "yes"})
    got = await client.threads.get(thread_id, include=["ttl"])
    same((got["metadata"]["mark"], got["metadata"]["more"]), (mark, "yes"), "metadata that is merged")
    values = await client.runs.wait(thread_id, GRAPH, input=INPUT)
    same(texts(values), ["hello", ANSWER], "the values of a run")

    state = await client.threads.get_state(thread_id)
    same((texts(state["values"]), state["next"]), (["hello", ANSWER], []), "the state")
    await client.threads.update_state(thread_id, {"count": 10})
    same((await client.threads.get_state(thread_id))["values"]["count"], 11, "a state that is updated by its reducer")
    history = await client.threads.get_history(thread_id, limit=10)
    holds(len(history) >= 3, "the history")
    first = [each for each in history if texts(each["values"]) == ["hello"]][-1]
    before = await client.threads.get_history(thread_id, limit=1, before={"configurable": history[0]["checkpoint"]})
    same(before[0]["checkpoint"], history[1]["checkpoint"], "the history before a checkpoint")
    older = await client.threads.get_state(thread_id, checkpoint=first["checkpoint"])
    same(texts(older["values"]), ["hello"], "the state at a checkpoint")
    by_id = await client.threads.get_state(thread_id, checkpoint_id=first["checkpoint"]["checkpoint_id"])
    same(texts(by_id["values"]), ["hello"], "the state at the id of a checkpoint")

    copied = await client.threads.copy(thread_id)
    same(texts((await client.threads.get_state(copied["thread_id"]))["values"]), ["hello", ANSWER], "a copy")
    same(await client.threads.count(metadata={"mark": mark}), 2, "a count")
    found = await client.threads.search(metadata={"mark": mark}, select=["thread_id"], sort_by="created_at")
    same({each["thread_id"] for each in found}, {thread_id, copied["thread_id"]}, "a search")
    same((await client.threads.prune([copied["thread_id"]]))["pruned_count"], 1, "threads that are pruned")
    await client.threads.delete(thread_id)
    await refused(client.threads.get(thread_id), 404, "a deleted thread")
    seeded = await client.threads.create(
        graph_id=GRAPH, supersteps=[{"updates": [{"values": INPUT, "as_node": "__start__"}]}]
    )
    same(texts((await client.threads.get_state(seeded["thread_id"]))["values"]), ["hello"], "a thread with supersteps")


async def runs(client):
    thread_id = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread_id, GRAPH, input=INPUT, metadata={"kind": "first"}, stream_resumable=True)
    same((run["status"], run["thread_id"]), ("pending", thread_id), "a run that is accepted")
    same(texts(await client.runs.join(thread_id, run["run_id"])), ["hello", ANSWER], "a run that is joined")
    same((await client.runs.get(thread_id, run["run_id"]))["status"], "success", "a run that has ended")
    same([each["run_id"] for each in await client.runs.list(thread_id, status="success")], [run["run_id"]], "a list")

    parts = [part async for part in client.runs.stream(thread_id, GRAPH, input=INPUT, stream_mode=["updates", "custom"])]
    names = [part.event for part in parts]
    same(names, ["metadata", "custom", "updates", "updates"], "the frames of two modes")
    same([list(part.data) for part in parts if part.event == "updates"], [["think"], ["gate"]], "nodes")
    chunks = [
        part.data[0]["content"]
        async for part in client.runs.stream(None, GRAPH, input=INPUT, stream_mode="messages-tuple")
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk"
    ]
    same("".join(chunks), ANSWER, "the chunks of a message")
    joined = [part.event async for part in client.runs.join_stream(thread_id, run["run_id"], last_event_id="-1")]
    holds(joined[:2] == ["metadata", "values"], f"a stream that is joined from its beginning: {joined}")

    asked = [part async for part in client.runs.stream(thread_id, GRAPH, input=ASK, stream_mode="values")]
    [question] = asked[-1].data["__interrupt__"]
    same(question["value"]["question"], "go on?", "a question")
    same((await client.threads.get(thread_id))["status"], "interrupted", "a thread that asks")
    values = await client.runs.wait(thread_id, GRAPH, command={"resume": "yes"})
    same((values["answer"], texts(values)[-1]), ("yes", "you said yes"), "an answer")

    failing = {"messages": [{"role": "user", "content": "fail now"}]}
    try:
        await client.runs.wait(thread_id, GRAPH, input=failing)
        raise AssertionError("a failed run raised nothing")
    except Exception as error:
        holds("planned failure" in str(error) or "think" in str(error), f"why a run failed: {error}")
    same((await client.threads.get(thread_id))["status"], "error", "a thread whose run failed")

    busy = (await client.threads.create())["thread_id"]
    slow = await client.runs.create(busy, GRAPH, input=SLOW)
    await refused(
        client.runs.create(busy, GRAPH, input=INPUT, multitask_strategy="reject"), 409, "a busy thread"
    )
    await client.runs.cancel(busy, slow["run_id"], wait=True)
    same((await client.runs.get(busy, slow["run_id"]))["status"], "interrupted", "a run that is cancelled")
    many = [await client.runs.create(busy, GRAPH, input=SLOW) for _ in range(2)]
    await client.runs.cancel_many(thread_id=busy, run_ids=[each["run_id"] for each in many])
    for each in many:
        await client.runs.join(busy, each["run_id"])
        same((await client.runs.get(busy, each["run_id"]))["status"], "interrupted", "each of several")
    batch = await client.runs.create_batch([{"assistant_id": GRAPH, "input": INPUT}] * 2)
    same(len(batch), 2, "a batch")
    await refused(client.runs.wait(thread_id, "nobody", input=INPUT), 422, "an unknown graph")
    await refused(client.runs.wait(str(uuid.uuid4()), GRAPH, input=INPUT), 404, "an unknown thread")
    return thread_id, run["run_id"]


async def crons(client):
    thread_id = (await client.threads.create())["thread_id"]
    mark = {"mark": str(uuid.uuid4())}
    made = await client.crons.create(GRAPH, schedule="0 3 * * *", input=INPUT, metadata=mark)
    of_thread = await client.crons.create_for_thread(thread_id, GRAPH, schedule="0 4 * * *", input=INPUT, metadata=mark)
    same(await client.crons.count(metadata=mark), 2, "a count")
    same(len(await client.crons.search(metadata=mark)), 2, "a search")
    same((await client.crons.search(thread_id=thread_id))[0]["cron_id"], of_thread["cron_id"], "those of a thread")
    changed = await client.crons.update(made["cron_id"], schedule="30 3 * * *", enabled=False)
    same((changed["schedule"], changed["enabled"]), ("30 3 * * *", False), "a change")
    for each in (made, of_thread):
        await client.crons.delete(each["cron_id"])
    same(await client.crons.count(metadata=mark), 0, "none is left")


async def store(client):
    space = ["users", str(uuid.uuid4())]
    await client.store.put_item(space, "likes", {"color": "blue", "n": 3})
    await client.store.put_item(space, "dislikes", {"color": "red", "n": 5}, index=False, ttl=60)
    item = await client.store.get_item(space, "likes")
    same((item["value"]["color"], item["namespace"], item["key"]), ("blue", space, "likes"), "an item")
    found = await client.store.search_items(space, filter={"color": "blue"})
    same([each["key"] for each in found["items"]], ["likes"], "a search by a value")
    found = await client.store.search_items(space, filter={"n": {"$gt": 4}})
    same([each["key"] for each in found["items"]], ["dislikes"], "a search by a comparison")
    same(len((await client.store.search_items(["users", space[1]], limit=1))["items"]), 1, "a page")
    named = await client.store.list_namespaces(prefix=["users"], suffix=[space[1]])
    same(named["namespaces"], [space], "namespaces")
    await client.store.delete_item(space, "likes")
    same(await client.store.get_item(space, "likes"), None, "a deleted item")


async def thread_streams(client, thread_id):
    seen = asyncio.get_running_loop().create_future()

    async def follow():
        async for part in await client.threads.join_stream(thread_id, stream_mode="run_modes"):
            if part.event == "values" and not seen.done():
                seen.set_result(part.data)

    following = asyncio.create_task(follow())
    try:
        # A stream that begins after a run of the thread has ended shows the next one.
        while not seen.done():
            await client.runs.wait(thread_id, GRAPH, input=INPUT)
            await asyncio.wait([seen, following], timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                await following
        holds("messages" in seen.result(), "values of a thread's stream")
    finally:
        following.cancel()

    for transport in ("sse", "websocket"):
        async with client.threads.stream(assistant_id=GRAPH, transport=transport) as thread:
            await thread.run.start(input=INPUT)
            output = await thread.output
            same(texts(output)[-1], ANSWER, f"the output of a run by {transport}")
        async with client.threads.stream(assistant_id=GRAPH, transport=transport) as thread:
            await thread.run.start(input=ASK)
            async for _ in thread.values:
                pass
            holds(thread.interrupted, f"a question by {transport}")
            [question] = thread.interrupts
            await thread.run.respond("yes", interrupt_id=question["interrupt_id"])
            output = await thread.output
            same(output["answer"], "yes", f"an answer by {transport}")


def synchronous(url):
    with get_sync_client(url=url, api_key=None) as client:
        thread_id = client.threads.create()["thread_id"]
        same(texts(client.runs.wait(thread_id, GRAPH, input=INPUT)), ["hello", ANSWER], "a run that is waited for")
        parts = list(client.runs.stream(thread_id, GRAPH, input=INPUT, stream_mode="updates"))
        same([part.event for part in parts], ["metadata", "updates", "updates"], "a stream")
        client.threads.delete(thread_id)


async def main(url):
    inner = get_client(url=url, api_key=None)
    names = ("assistants", "threads", "runs", "crons", "store")
    client = type("Client", (), {name: Noted(name, getattr(inner, name)) for name in names})()
    await assistants(client)
    await threads(client)
    thread_id, run_id = await runs(client)
    await crons(client)
    await store(client)
    await thread_streams(client, thread_id)
    # The service keeps a run as long as its thread, and says so.
    if sys.argv[2:] == ["deletes"]:
        await client.runs.delete(thread_id, run_id)
    else:
        await refused(client.runs.delete(thread_id, run_id), 422, "a run that is deleted")
    synchronous(url)
    methods = {
        f"{name}.{method}"
        for name in names
        for method, _ in inspect.getmembers(getattr(inner, name), callable)
        if not method.startswith("_")
    }
    print(json.dumps({"methods": sorted(driven), "left": sorted(methods - driven - {f"{n}.http" for n in names})}))


asyncio.run(main(sys.argv[1]))
