import test from 'ava';
import { isCluster } from '../../http/shape.ts';
import { eras, serveMcp } from './service.ts';

const service = serveMcp(test);
const { connect } = service;

test('a call that ends soon and reports nothing is answered with JSON, and one whose steps are to be read with a stream', async (t) => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const params = { name: 'test_simple_text', arguments: {} };
  const soon = await service.send({ ...call, params });
  // In a cluster the end may come later than a reply waits for it.
  if (!isCluster) t.is(soon.headers.get('content-type'), 'application/json; charset=utf-8');
  const streamed = await service.send({ ...call, params: { ...params, _meta: { progressToken: 1 } } });
  t.is(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.deepEqual(streamed.messages.at(-1), soon.messages.at(-1));
  const resumable = await service.send({ ...call, params }, { 'mcp-protocol-version': '2025-11-25' });
  t.is(resumable.ids.length, 2);
});

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

for (const [era, options] of Object.entries(eras)) {
  test(`${era}: an agent is a tool, and a call of it is a run`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const { tools } = await client.listTools();
    t.true(tools.some(({ name }) => name === 'typing'));
    const steps: unknown[] = [];
    const onprogress = (step: unknown): void => void steps.push(step);
    const result = await client.callTool({ name: 'typing', arguments: { message: 'hello' } }, { onprogress });
    t.deepEqual(result.content, [{ type: 'text', text: answer }]);
    t.like(result.structuredContent, { text: answer, state: { turns: 1 } });
    t.deepEqual(steps, [
      { progress: 1, message: 'write' },
      { progress: 2, message: 'confirm' },
    ]);
    const { thread_id: threadId } = result.structuredContent as { readonly thread_id: string };
    const next = await client.callTool({ name: 'typing', arguments: { message: 'again', thread_id: threadId } });
    t.like(next.structuredContent, { thread_id: threadId, state: { turns: 2 } });
    const { resources } = await client.listResources();
    const uri = `threads://${threadId}`;
    t.true(resources.some((resource) => resource.uri === uri));
    const { contents } = await client.readResource({ uri });
    t.regex(JSON.stringify(contents), /hello.*word29.*again/);
  });

  test(`${era}: a call without a token has its log messages before its result`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const logged: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
    const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    await client.callTool({ name: 'test_tool_with_logging', _meta });
    t.true(logged.length > 1);
  });

  test(`${era}: a question of the agent goes to the client, and its answer goes on`, async (t) => {
    await using connected = await connect(options, { elicitation: { form: {} } });
    const { client } = connected;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      t.is(params.message, 'sure?');
      return { action: 'accept' as const, content: { answer: 'yes' } };
    });
    const result = await client.callTool({ name: 'typing', arguments: { message: 'are you sure' } });
    t.deepEqual(result.content, [{ type: 'text', text: 'you said yes' }]);
  });

  test(`${era}: several questions, one after the other and side by side, are all answered`, async (t) => {
    await using connected = await connect(options, { elicitation: { form: {} }, sampling: {}, roots: {} });
    const { client } = connected;
    client.setRequestHandler('elicitation/create', ({ params }) => ({
      action: 'accept' as const,
      content: params.message.includes('color') ? { color: 'red' } : { name: 'Ada' },
    }));
    client.setRequestHandler('sampling/createMessage', () => ({
      ...{ role: 'assistant' as const, model: 'none' },
      content: { type: 'text' as const, text: 'Good day' },
    }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///here' }] }));
    const rounds = await client.callTool({ name: 'test_input_required_result_multi_round' });
    t.deepEqual(rounds.content, [{ type: 'text', text: 'Ada likes red' }]);
    const together = await client.callTool({ name: 'test_input_required_result_multiple_inputs' });
    t.deepEqual(together.content, [{ type: 'text', text: '["user_name","greeting","client_roots"]' }]);
  });

  test(`${era}: a tool that fails is a result, and what there is not is an error`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const failed = await client.callTool({ name: 'test_error_handling' });
    t.true(failed.isError);
    t.regex(JSON.stringify(failed.content), /This tool intentionally returns an error for testing/);
    await t.throwsAsync(client.callTool({ name: 'nothing' }), { message: /there is no tool "nothing"/ });
    await t.throwsAsync(client.readResource({ uri: 'threads://absent' }), { message: /no such resource/i });
    await t.throwsAsync(client.getPrompt({ name: 'nothing' }), { message: /there is no prompt/ });
  });

  test(`${era}: an assistant is a prompt, and a call takes it`, async (t) => {
    await using connected = await connect(options);
    const { client } = connected;
    const body = JSON.stringify({ name: 'Typist', agent: 'typing' });
    const made = await fetch(`${service.url()}/v1/assistants`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
    });
    const { data } = (await made.json()) as { readonly data: { readonly assistant_id: string } };
    const { prompts } = await client.listPrompts();
    t.like(
      prompts.find(({ name }) => name === data.assistant_id),
      { title: 'Typist' },
    );
    const { messages } = await client.getPrompt({ name: data.assistant_id, arguments: { message: 'type' } });
    t.regex(JSON.stringify(messages), /tool \\"typing\\" with the assistant_id/);
    const asked = { message: 'what time is it', assistant_id: data.assistant_id };
    const result = await client.callTool({ name: 'typing', arguments: asked });
    t.like(result.structuredContent, { text: answer });
  });
}
