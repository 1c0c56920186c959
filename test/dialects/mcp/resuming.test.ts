import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test from 'ava';
import { until } from '../../until.ts';
import { agentAt, makeWorkspace, startStandalone } from '../../servers/standalone.ts';
import { modern, readReply, tasks } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

const answer = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

const openService = async () => {
  const agents = { conforming: agentAt('conforming'), typing: agentAt('typing') };
  const workspace = await makeWorkspace(null, { agents, default_agent: 'conforming' });
  return { workspace, env: { ...workspace.env, HOST: '127.0.0.1', DIALECTS: 'mcp' } };
};

test('a call goes on when the service is killed within it and comes back: its client sends nothing again', async (t) => {
  const { workspace, env } = await openService();
  await using _ = workspace;
  await using first = await startStandalone(env);
  const { url } = first;
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    reconnectionOptions: {
      ...{ maxRetries: 60, initialReconnectionDelay: 200, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1 },
    },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const steps: unknown[] = [];
  const onprogress = (step: unknown): void => void steps.push(step);
  const begun = Promise.withResolvers<undefined>();
  const onresumptiontoken = (): void => begun.resolve(undefined);
  const call = { name: 'typing', arguments: { message: 'hello' } };
  const running = client.callTool(call, { onprogress, onresumptiontoken });
  await begun.promise;
  await first.stop('SIGKILL');
  await using second = await startStandalone({ ...env, PORT: new URL(url).port });
  t.is(second.url, url);
  const result = await running;
  t.deepEqual(result.content, [{ type: 'text', text: answer }]);
  t.like(result.structuredContent, { state: { turns: 1 } });
  t.deepEqual(steps, [
    { progress: 1, message: 'write' },
    { progress: 2, message: 'confirm' },
  ]);
  await client.close();
});

test('a task is there when the service was killed within it and came back', async (t) => {
  const { workspace, env } = await openService();
  await using _ = workspace;
  await using first = await startStandalone(env);
  const { url } = first;
  const call = async (method: string, params: Fields): Promise<Fields> => {
    const { message, headers } = modern(method, params, tasks);
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
    const { messages } = await readReply(await fetch(`${url}/mcp`, { ...init, body: JSON.stringify(message) }));
    return (messages.at(-1)?.['result'] ?? {}) as Fields;
  };
  const { taskId } = await call('tools/call', { name: 'typing', arguments: { message: 'hello' } });
  await first.stop('SIGKILL');
  await using _second = await startStandalone({ ...env, PORT: new URL(url).port });
  await until(async () => (await call('tasks/get', { taskId }))['status'] === 'completed');
  t.like((await call('tasks/get', { taskId }))['result'], { content: [{ type: 'text', text: answer }] });
});
