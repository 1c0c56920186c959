"""Drives OpenAI's Python client against the service at a URL, and checks what it gives. Strict reading of replies is on.

usage: python drive.py URL
"""

import asyncio
import json
import sys

from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI, pydantic_function_tool
from openai.types.responses import Response
from pydantic import BaseModel

URL = sys.argv[1]
client = OpenAI(base_url=URL, api_key="none", max_retries=0)
USER = [{"role": "user", "content": "hello"}]
FUNCTION = {"name": "look", "parameters": {"type": "object"}}
driven = []


def same(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r}, not {expected!r}")
    driven.append(what)


def strict(model):
    """What was read fits the types of the client, which it does not check by itself."""
    type(model).model_validate(model.model_dump())
    return model


def models():
    same("obedient" in [strict(model).id for model in client.models.list()], True, "models.list")
    same(client.models.retrieve("obedient").object, "model", "models.retrieve")
    try:
        client.models.retrieve("gpt-9")
    except NotFoundError as error:
        same(error.code, "model_not_found", "a model that is absent")


def chat():
    made = strict(client.chat.completions.create(model="obedient", messages=USER))
    same(made.choices[0].message.content, "you said hello", "chat.completions.create")
    options = {"include_usage": True}
    chunks = [strict(chunk) for chunk in client.chat.completions.create(model="obedient", messages=USER, stream=True, stream_options=options)]
    same("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), "you said hello", "a stream")
    same((chunks[-1].choices, chunks[-1].usage.total_tokens), ([], 0), "usage of a stream")
    with client.chat.completions.stream(model="obedient", messages=USER) as stream:
        same(stream.get_final_completion().choices[0].message.content, "you said hello", "chat.completions.stream")

    class look(BaseModel):
        at: str

    tools = [pydantic_function_tool(look)]
    del tools[0]["function"]["strict"]
    order = [{"role": "user", "content": "call look"}]
    with client.chat.completions.stream(model="obedient", messages=order, tools=tools) as stream:
        choice = stream.get_final_completion().choices[0]
    same(choice.finish_reason, "tool_calls", "a function is called")
    call = choice.message.tool_calls[0]
    same(json.loads(call.function.arguments), {"at": "noon"}, "its arguments")
    asked = choice.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}, exclude={"parsed"})
    calls = [{"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}]
    result = {"role": "tool", "tool_call_id": call.id, "content": "a cat"}
    answered = client.chat.completions.create(
        model="obedient", messages=[*order, {"role": asked["role"], "tool_calls": calls}, result], tools=tools
    )
    same(answered.choices[0].message.content, "thank you", "its result")
    try:
        client.chat.completions.create(model="obedient", messages=USER, n=2)
    except BadRequestError as error:
        same((error.code, error.param), ("unsupported_parameter", "n"), "what is refused")


def responses():
    made = strict(client.responses.create(model="obedient", input="hello", metadata={"team": "blue"}))
    same(made.output_text, "you said hello", "responses.create")
    same(client.responses.retrieve(made.id).model_dump(), made.model_dump(), "responses.retrieve")
    events = [strict(event) for event in client.responses.create(model="obedient", input="hello", stream=True)]
    same([event.sequence_number for event in events], list(range(len(events))), "events of a response")
    identifier = events[-1].response.id
    rest = list(client.responses.retrieve(identifier, stream=True, starting_after=3))
    same([event.sequence_number for event in rest], list(range(4, len(events))), "starting_after")
    with client.responses.stream(model="obedient", input="hello") as stream:
        same(stream.get_final_response().output_text, "you said hello", "responses.stream")
    tools = [{"type": "function", "strict": False, **FUNCTION}]
    asked = strict(client.responses.create(model="obedient", input="call look", tools=tools))
    call = next(item for item in asked.output if item.type == "function_call")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "a cat"}
    answered = client.responses.create(model="obedient", previous_response_id=asked.id, input=[output])
    same(answered.output_text, "thank you", "previous_response_id")
    begun: Response = client.responses.create(model="recorded", input="slow", background=True)
    same(client.responses.cancel(begun.id).status, "cancelled", "responses.cancel")
    same(len(client.responses.input_items.list(made.id).data), 1, "responses.input_items.list")
    client.responses.delete(made.id)
    try:
        client.responses.retrieve(made.id)
    except NotFoundError as error:
        same(error.status_code, 404, "responses.delete")


def conversations():
    made = client.conversations.create(metadata={"team": "blue"})
    client.responses.create(model="obedient", input="hello", conversation=made.id)
    items = client.conversations.items.list(made.id, order="asc")
    same([strict(item).role for item in items], ["user", "assistant"], "conversations.items.list")
    same(client.conversations.retrieve(made.id).metadata, {"team": "blue"}, "conversations.retrieve")
    same(client.conversations.delete(made.id).deleted, True, "conversations.delete")


async def at_once():
    async with AsyncOpenAI(base_url=URL, api_key="none", max_retries=0) as many:
        metadata = {"thread_id": "python"}
        made = await asyncio.gather(
            *(many.chat.completions.create(model="obedient", messages=USER, metadata=metadata) for _ in range(4))
        )
        same([each.choices[0].message.content for each in made], ["you said hello"] * 4, "a busy thread is waited for")


models()
chat()
responses()
conversations()
asyncio.run(at_once())
print(json.dumps(driven))
