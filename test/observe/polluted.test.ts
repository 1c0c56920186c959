import test from 'ava';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

const measured = { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' };

type Json = Readonly<Record<string, unknown>>;

interface Service {
  readonly url: string;
  readonly lines: readonly string[];
}

/** Sends a request to each kind of endpoint. @returns what was answered, each as `POST /v1/threads 200`. */
async function driveAll({ url, lines }: Service, first: string): Promise<readonly string[]> {
  const answered: string[] = [];
  const send = async (method: string, path: string, body?: object | FormData): Promise<Json> => {
    const isForm = body instanceof FormData;
    const headers = isForm || body === undefined ? {} : { 'content-type': 'application/json' };
    const init = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
    const reply = await fetch(path.startsWith('http') ? path : `${url}${path}`, { method, headers, ...init });
    const text = await reply.text();
    answered.push(`${method} ${path.replaceAll(/[0-9a-f-]{36}|\d{4,5}/g, '…')} ${String(reply.status)}`);
    return reply.headers.get('content-type')?.startsWith('application/json') ? (JSON.parse(text) as Json) : { text };
  };
  const dataOf = ({ data }: Json): Json => (data ?? {}) as Json;
  const inputOf = (content: string): object => ({ messages: [{ role: 'user', content }], config: { thread_id: 't1' } });
  await send('POST', '/v1/graph/invoke', inputOf(first));
  const { text } = await send('POST', '/v1/graph/stream', inputOf('stream'));
  answered.push(`ended ${String(String(text).includes('on_chain_end'))}`);
  const run = dataOf(await send('POST', '/v1/runs', inputOf('later')));
  const runId = String(run['run_id']);
  for (const path of ['wait', 'stream', 'ticket'])
    await send(path === 'ticket' ? 'POST' : 'GET', `/v1/runs/${runId}/${path}`);
  for (const path of ['', '/messages', '/state', '/runs', '/checkpoints']) await send('GET', `/v1/threads/t1${path}`);
  await send('POST', '/v1/threads/t1/messages', { messages: [{ role: 'user', content: 'added', message_id: 'm9' }] });
  await send('POST', '/v1/threads/t1/fork', {});
  await send('POST', '/v1/threads/t1/state', { config: {}, state: { context_summary: 'short' } });
  for (const path of [
    '/v1/threads',
    '/v1/runs',
    `/v1/runs/${runId}`,
    '/v1/agents',
    '/v1/graph',
    '/v1/graph:StateSchema',
    '/v1/ping',
  ])
    await send('GET', path);
  await send('POST', '/v1/graph/setup', { tools: [], config: { thread_id: 't1' } });
  const memory = { content: 'likes tea', memory_type: 'semantic', category: 'facts' };
  const stored = dataOf(await send('POST', '/v1/store/memories', memory));
  await send('GET', `/v1/store/memories/${String(stored['memory_id'])}`);
  await send('GET', '/v1/store/memories');
  await send('POST', '/v1/store/search', { query: 'tea' });
  await send('POST', '/v1/store/memories/forget', { category: 'facts', options: {} });
  const form = new FormData();
  form.set('file', new File(['some text'], 'note.txt', { type: 'text/plain' }));
  const file = String(dataOf(await send('POST', '/v1/files/upload', form))['file_id']);
  for (const path of ['', '/info', '/url']) await send('GET', `/v1/files/${file}${path}`);
  await send('DELETE', `/v1/files/${file}`);
  for (const path of ['/openapi.json', '/docs', '/docs/api', '/healthz', '/readyz', '/v1/nothing'])
    await send('GET', path);
  await send('POST', '/v1/graph/invoke', { messages: 7 });
  const metrics = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(lines.join('\n'))?.[0] ?? '';
  const { text: shown } = await send('GET', metrics);
  answered.push(`metrics ${String(String(shown).includes('agent_workflow_') && !String(shown).includes('polluted'))}`);
  await send('DELETE', '/v1/threads/t1');
  return answered;
}

const statusesOf = async (
  env: Readonly<Record<string, string>>,
  first: string,
): Promise<readonly [readonly string[], readonly string[]]> => {
  await using workspace = await makeWorkspace('polluting');
  await using service = await startStandalone({ ...workspace.env, ...measured, ...env });
  const answered = await driveAll(service, first);
  return [answered, service.lines.filter((line) => line.includes('has changed'))];
};

test('what an agent adds to the prototypes of everybody, when it is loaded or later, changes no reply, and the log names who added it', async (t) => {
  const [clean, none] = await statusesOf({}, 'Hello');
  t.deepEqual(none, []);
  t.deepEqual(
    clean.filter((line) => / 5\d\d$/.test(line)),
    [],
  );
  const [later] = await statusesOf({}, 'pollute');
  t.deepEqual(later, clean);
  const [loaded, warnings] = await statusesOf({ POLLUTE: 'load' }, 'Hello');
  t.deepEqual(loaded, clean);
  t.is(warnings.length, 1);
  t.regex(
    warnings[0] ?? '',
    /polluting\.ts has changed Object\.prototype\.polluted, .*Array\.prototype\.pollutedList for all code/,
  );
});
