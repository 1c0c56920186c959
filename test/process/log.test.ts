import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';

const secret = 'not-to-be-logged-signing-secret-0123456789';
const texts = {
  message: 'the-message-nobody-may-log',
  memory: 'the-memory-nobody-may-log',
  query: 'the-query-nobody-may-log',
};

test('the log, at its most talkative, holds no token, no secret, and nothing of messages and memories', async (t) => {
  await using workspace = await makeWorkspace('obedient', { auth: 'jwt' });
  await using service = await startStandalone({
    ...workspace.env,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'trace',
    JWT_SECRET_KEY: secret,
    RUN_BACKLOG: '5',
  });
  const printed: string[] = [];
  service.child.stderr?.on('data', (text: Buffer) => printed.push(text.toString()));
  const claims = { exp: inSeconds(300), user_id: 'ada', email: 'ada-nobody-may-log@example.com' };
  const token = makeToken('HS256', secret, { claims });
  const forged = makeToken('HS256', 'another-secret-'.repeat(4), { claims });
  const expired = makeToken('HS256', secret, { claims: { ...claims, exp: inSeconds(-300) } });
  const { send, stream } = createClient(service.url, { authorization: `Bearer ${token}` });

  const config = { thread_id: 'logged', api_key: 'the-key-nobody-may-log' };
  t.is((await send('POST', '/v1/graph/invoke', { messages: [user(texts.message)], config })).status, 200);
  for await (const { event } of stream({ messages: [user(texts.message)], config })) t.truthy(event);
  const failing = { messages: [user(texts.message), user('fail')], config };
  t.is((await send('POST', '/v1/graph/invoke', failing)).status, 500);
  t.is((await send('POST', '/v1/threads/logged/messages', { messages: [user(texts.message)] })).status, 200);
  t.is((await send('GET', `/v1/threads/logged/messages?search=${texts.query}`)).status, 200);
  const memory = { content: texts.memory, memory_type: 'semantic', category: 'x', metadata: { note: texts.memory } };
  t.is((await send('POST', '/v1/store/memories', memory)).status, 200);
  t.is((await send('POST', '/v1/store/search', { query: texts.query, filters: { note: texts.memory } })).status, 200);

  t.is(
    (await send('POST', '/v1/graph/invoke', { messages: [{ role: texts.message, content: texts.message }] })).status,
    422,
  );
  t.is(
    (await send('POST', '/v1/graph/invoke', { messages: [user('throw')], initial_state: { x: texts.message } })).status,
    422,
  );
  t.is((await send('POST', '/v1/store/search', { query: texts.query, limit: texts.query })).status, 422);
  t.is((await send('GET', `/v1/threads?cursor=${texts.query}`)).status, 422);
  for (const bad of [forged, expired, `${token}x`, 'nonsense-nobody-may-log'])
    t.is((await send('GET', '/v1/ping', undefined, { authorization: `Bearer ${bad}` })).status, 401);
  t.is(
    (await send('GET', '/v1/ping', undefined, { authorization: `Basic ${btoa('ada:pass-nobody-may-log')}` })).status,
    401,
  );
  t.is(await service.stop('SIGTERM'), 0);

  const reasons = service.lines
    .filter((line) => line.includes('"msg":"request"'))
    .flatMap((line) => /"reason":"([^"]*)"/.exec(line)?.[1] ?? []);
  t.deepEqual(reasons, ['invalid signature', 'jwt expired', 'invalid signature', 'not a plain signed token']);
  const all = [...service.lines, ...printed].join('\n');
  t.true(service.lines.filter((line) => line.includes('"msg":"request"')).length >= 15, 'every request is logged');
  t.notRegex(all, /nobody-may-log/);
  for (const [name, text] of Object.entries({ token, forged, expired, secret })) {
    t.false(all.includes(text), name);
    for (const part of text.split('.'))
      if (part.length > 20 && part !== token.split('.')[0]) t.false(all.includes(part), `${name}, in part`);
  }
  t.false(all.includes(btoa('ada:pass-nobody-may-log')));
});

test('with LOG_FORMAT=text the start says in a few lines what people want to know, and nothing secret', async (t) => {
  await using workspace = await makeWorkspace('obedient', { auth: 'jwt' });
  await using service = await startStandalone({
    ...workspace.env,
    HOST: '127.0.0.1',
    LOG_FORMAT: 'text',
    JWT_SECRET_KEY: secret,
  });
  const { lines } = service;
  t.true(lines.length <= 5, lines.join('\n'));
  t.regex(lines[0] ?? '', /^\d\d:\d\d:\d\d info configured .*JWT_SECRET_KEY=\*\*\*/);
  t.true(
    lines.some((line) => /^agent: .*obedient\.ts:graph; data: \//.test(line)),
    lines.join('\n'),
  );
  t.regex(lines.at(-1) ?? '', /^Agent Workflow Service listens on http:/);
  t.false(lines.some((line) => line.startsWith('{') || line.includes(secret)));
});
