"""Drives the Python client of MCP against the service at a URL, in both of its ways to begin, and checks what it gives.

usage: python drive.py URL
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, types

URL = sys.argv[1]
driven = []


def same(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r}, not {expected!r}")
    driven.append(what)


async def elicit(_context, params):
    values = {"name": "Ada", "color": "red", "answer": "yes"}
    wanted = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: values[name] for name in wanted})


async def sample(_context, params):
    text = types.TextContent(type="text", text=f"to {params.messages[0].content.text}")
    return types.CreateMessageResult(role="assistant", content=text, model="none")


def text_of(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def drive(mode, version):
    callbacks = {"elicitation_callback": elicit, "sampling_callback": sample}
    async with Client(URL, mode=mode, **callbacks) as client:
        same(client.protocol_version, version, f"{mode}: the version")
        tools = (await client.list_tools()).tools
        same({"greet", "typing"} <= {tool.name for tool in tools}, True, f"{mode}: tools")
        greeted = await client.call_tool("greet", {"name": "Ada"})
        same(text_of(greeted), "Hello, Ada!", f"{mode}: a call")
        steps = []

        async def note(progress, total, _message):
            steps.append((progress, total))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=note)
        same(steps, [(0, 100), (50, 100), (100, 100)], f"{mode}: progress")
        answered = await client.call_tool("typing", {"message": "are you sure"})
        same(text_of(answered), "you said yes", f"{mode}: a question")
        same(answered.structured_content["text"], "you said yes", f"{mode}: structured content")
        rounds = await client.call_tool("test_input_required_result_multi_round", {})
        same(text_of(rounds), "Ada likes red", f"{mode}: questions one after the other")
        sampled = await client.call_tool("test_sampling", {"prompt": "you"})
        same(text_of(sampled), "LLM response: to you", f"{mode}: sampling")
        failed = await client.call_tool("test_error_handling", {})
        same(failed.is_error, True, f"{mode}: a failure")
        image = await client.call_tool("test_image_content", {})
        same(image.content[0].mime_type, "image/png", f"{mode}: an image")
        try:
            await client.call_tool("nothing", {})
            raise AssertionError("a tool that there is not was called")
        except MCPError as error:
            same(error.code, -32602, f"{mode}: no tool")
        read = await client.read_resource("test://static-text")
        same(read.contents[0].text, "This is the content of the static text resource.", f"{mode}: a resource")
        listed = await client.list_resources()
        threads = [str(one.uri) for one in listed.resources if str(one.uri).startswith("threads://")]
        same(len(threads) > 0, True, f"{mode}: threads")
        thread = json.loads((await client.read_resource(threads[0])).contents[0].text)
        same("messages" in thread, True, f"{mode}: a thread")
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        same(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'", f"{mode}: a prompt")
        templates = await client.list_resource_templates()
        same(len(templates.resource_templates), 2, f"{mode}: templates")


asyncio.run(drive("auto", "2026-07-28"))
asyncio.run(drive("legacy", "2025-11-25"))
print(json.dumps(driven))
