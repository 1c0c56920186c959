import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openGate } from '../servers/gate.ts';
import { agentAt } from '../servers/standalone.ts';
import { goodClaims, makeToken } from '../servers/tokens.ts';
import { codeOf, replyText, serve } from './service.ts';

const agents = { configured: agentAt('configured'), office: agentAt('clerk') };
const { send, data, refused } = serve(test, null, {}, { agents, default_agent: 'configured' });

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const tokenOf = (user_id: string): string => makeToken('HS256', secret, { claims: goodClaims({ user_id }) });

interface Assistant {
  readonly assistant_id: string;
  readonly version: number;
  readonly newest_version: number;
  readonly config: object;
}
interface List {
  readonly assistants: readonly Assistant[];
  readonly has_more: boolean;
  readonly cursor?: string;
}
interface Versions {
  readonly versions: readonly { readonly version: number; readonly config: object; readonly created_at: string }[];
  readonly has_more: boolean;
  readonly cursor?: string;
}
interface Turn {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
}

const make = async (body: object = {}, headers = {}): Promise<Assistant> => {
  const reply = await send('POST', '/v1/assistants', body, headers);
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  return reply.body.data;
};
const at = ({ assistant_id: id }: Assistant, rest = ''): string => `/v1/assistants/${id}${rest}`;
const run = (config: object, more: object = {}) =>
  send('POST', '/v1/graph/invoke', { messages: [user('hello')], config, ...more });
/** What the nodes of a run see. */
const seenBy = async (config: object, more: object = {}): Promise<unknown> => {
  const { body, status } = await run(config, more);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return JSON.parse(replyText((body.data as Turn).messages.at(-1)));
};

test('a run has the config and the context of its assistant, under what the request gives', async (t) => {
  const made = await make({
    agent: 'configured',
    config: { tone: 'brief', depth: 3 },
    context: { locale: 'en', plan: { name: 'free' } },
  });
  const { assistant_id } = made;
  t.like(await seenBy({ assistant_id }), {
    config: { tone: 'brief', depth: 3, assistant_id, assistant_version: 1 },
    context: { locale: 'en', plan: { name: 'free' } },
  });
  t.like(await seenBy({ assistant_id, tone: 'warm' }, { context: { locale: 'de' } }), {
    config: { tone: 'warm', depth: 3, assistant_id, assistant_version: 1 },
    context: { locale: 'de', plan: { name: 'free' } },
  });
  t.like(await seenBy({ thread_id: 'plain' }, { context: { locale: 'fr' } }), { context: { locale: 'fr' } });
  t.like(await seenBy({ thread_id: 'plain' }), { context: {} });
});

test('the agent of an assistant runs, and the request may name no other', async (t) => {
  const { assistant_id } = await make({ agent: 'office' });
  const turn: Turn = await data(t, 'invokeGraph', run({ assistant_id }));
  t.is(replyText(turn.messages.at(-1)), 'the clerk wrote hello');
  t.is((await run({ assistant_id, agent: 'office' })).status, 200);
  t.deepEqual(await refused(t, run({ assistant_id, agent: 'configured' }), 422, codeOf(422)), [
    ['body', 'config', 'agent'],
  ]);
  await refused(t, run({ assistant_id: 'nobody' }), 404, codeOf(404));
  const unled = await make({ agent: 'nobody' });
  await refused(t, run({ assistant_id: unled.assistant_id }), 404, codeOf(404));
});

test('an edit makes a version, which later runs have, and a version can be set again', async (t) => {
  const made = await make({ name: 'One', config: { a: 1 }, context: { b: 1 } });
  const { assistant_id } = made;
  const edited: Assistant = await data(t, 'updateAssistant', send('PATCH', at(made), { config: { a: 2 } }));
  t.like(edited, { version: 2, newest_version: 2, name: 'One', config: { a: 2 }, context: { b: 1 } });
  t.like(await seenBy({ assistant_id }), { config: { a: 2, assistant_version: 2 }, context: { b: 1 } });

  const back: Assistant = await data(t, 'setAssistantVersion', send('PUT', at(made, '/version'), { version: 1 }));
  t.like(back, { version: 1, newest_version: 2, config: { a: 1 } });
  t.like(await seenBy({ assistant_id }), { config: { a: 1, assistant_version: 1 } });
  t.like(await data(t, 'updateAssistant', send('PATCH', at(made), { name: 'Three' })), { version: 3, name: 'Three' });

  const list: Versions = await data(t, 'listAssistantVersions', send('GET', at(made, '/versions')));
  t.deepEqual(
    list.versions.map(({ version, config }) => [version, config]),
    [
      [3, { a: 1 }],
      [2, { a: 2 }],
      [1, { a: 1 }],
    ],
  );
  t.like(await data(t, 'getAssistantVersion', send('GET', at(made, '/versions/2'))), { version: 2, config: { a: 2 } });
  await refused(t, send('GET', at(made, '/versions/4')), 404, codeOf(404));
  await refused(t, send('PUT', at(made, '/version'), { version: 4 }), 404, codeOf(404));
});

test('an edit or a deletion changes no run that was accepted before it, whether that is under way or waits', async (t) => {
  await using gate = await openGate();
  const made = await make({ config: { tone: 'old', gate: gate.url }, context: { locale: 'en' } });
  const { assistant_id } = made;
  const begin = () =>
    send('POST', '/v1/runs', { messages: [user('hello')], config: { assistant_id, thread_id: 'edited' } });
  const begun = [await begin(), await begin()].map(({ body }) => body.data as { readonly run_id: string });
  await gate.visited(1);
  await data(t, 'updateAssistant', send('PATCH', at(made), { config: { tone: 'new' }, context: {} }));
  await data(t, 'deleteAssistant', send('DELETE', at(made)));
  gate.open();
  for (const { run_id } of begun) {
    const { body } = await send('GET', `/v1/runs/${run_id}/wait`);
    t.like(JSON.parse(replyText((body.data as Turn).messages.at(-1))), {
      config: { tone: 'old', assistant_id, assistant_version: 1 },
      context: { locale: 'en' },
    });
  }
  t.is((await begin()).status, 404);
});

test('versions are listed in pages, and of many the newest hundred are kept', async (t) => {
  const made = await make({ config: { n: 1 } });
  for (let n = 2; n <= 103; n++) await send('PATCH', at(made), { config: { n } });
  const seen: number[] = [];
  for (let cursor: string | undefined, hasMore = true; hasMore;) {
    const query: string = cursor === undefined ? '' : `&cursor=${cursor}`;
    const page: Versions = await data(t, 'listAssistantVersions', send('GET', at(made, `/versions?limit=40${query}`)));
    for (const { version, config } of page.versions) t.deepEqual(config, { n: version });
    seen.push(...page.versions.map(({ version }) => version));
    ({ cursor, has_more: hasMore } = page);
  }
  t.deepEqual(
    seen,
    Array.from({ length: 100 }, (_, index) => 103 - index),
  );
  await refused(t, send('GET', at(made, '/versions/3')), 404, codeOf(404));
  t.deepEqual(await refused(t, send('GET', at(made, '/versions?cursor=x')), 422, codeOf(422)), [['query', 'cursor']]);
});

test('of two edits of one version that was read, one is refused; without it, both count', async (t) => {
  const made = await make();
  const [first, second] = await Promise.all([
    send('PATCH', at(made), { version: 1, name: 'a' }),
    send('PATCH', at(made), { version: 1, name: 'b' }),
  ]);
  t.deepEqual([first.status, second.status].toSorted(), [200, 409]);
  const many = await Promise.all(
    ['config', 'context', 'metadata'].map((field) => send('PATCH', at(made), { [field]: { field } })),
  );
  t.deepEqual(
    many.map(({ status }) => status),
    [200, 200, 200],
  );
  t.like(await data(t, 'getAssistant', send('GET', at(made))), {
    ...{ version: 5, newest_version: 5 },
    ...{ config: { field: 'config' }, context: { field: 'context' }, metadata: { field: 'metadata' } },
  });
  const more = await Promise.all(
    Array.from({ length: 12 }, (_, index) => send('PATCH', at(made), { name: String(index) })),
  );
  t.deepEqual(new Set(more.map(({ status }) => status)), new Set([200]));
  t.like(await data(t, 'getAssistant', send('GET', at(made))), { version: 17, newest_version: 17 });
});

test('a repeated request with its key makes one assistant and one version, also after other changes', async (t) => {
  const key = (name: string) => ({ 'idempotency-key': name });
  const [one, two] = await Promise.all([make({ name: 'k' }, key('make')), make({ name: 'k' }, key('make'))]);
  t.deepEqual(one, two);
  const edit = () => send('PATCH', at(one), { name: 'l' }, key('edit'));
  t.like((await edit()).body.data, { version: 2 });
  t.like((await edit()).body.data, { version: 2 });
  t.is((await send('DELETE', at(one), undefined, key('delete'))).status, 200);
  t.is((await send('DELETE', at(one), undefined, key('delete'))).status, 200);
  await refused(t, send('DELETE', at(one)), 404, codeOf(404));
});

test('an assistant may have an id of the caller’s, which is free again after its deletion', async (t) => {
  const own = await make({ assistant_id: 'mine', name: 'first', config: { a: 1 } });
  await refused(t, send('POST', '/v1/assistants', { assistant_id: 'mine' }), 409, codeOf(409));
  await send('PATCH', at(own), { name: 'second' });
  await data(t, 'deleteAssistant', send('DELETE', at(own)));
  await refused(t, send('GET', at(own)), 404, codeOf(404));
  await refused(t, run({ assistant_id: 'mine' }), 404, codeOf(404));
  const again = await make({ assistant_id: 'mine' });
  t.like(again, { version: 1, newest_version: 1, config: {} });
  t.is((await send('GET', at(again, '/versions/2'))).status, 404);
  const long = { assistant_id: 'é'.repeat(121) };
  t.deepEqual(await refused(t, send('POST', '/v1/assistants', long), 422, codeOf(422)), [['body', 'assistant_id']]);
});

test('assistants are listed by agent, name and metadata, in pages', async (t) => {
  const team = { team: 'lists' };
  for (let n = 0; n < 5; n++) await make({ name: `List ${n}`, agent: n < 3 ? 'configured' : 'office', metadata: team });
  const query = (given: object, more = ''): string =>
    `/v1/assistants?metadata=${encodeURIComponent(JSON.stringify(given))}${more}`;
  const names = async (path: string): Promise<unknown> =>
    ((await data(t, 'listAssistants', send('GET', path))) as unknown as List).assistants.map(
      (each) => (each as { name?: string }).name,
    );
  t.deepEqual(await names(query(team)), ['List 4', 'List 3', 'List 2', 'List 1', 'List 0']);
  t.deepEqual(await names(query(team, '&agent=office')), ['List 4', 'List 3']);
  t.deepEqual(await names(query(team, '&name=LIST%202')), ['List 2']);
  t.deepEqual(await names(query({ team: 'others' })), []);
  const all: string[] = [];
  for (let cursor: string | undefined, hasMore = true; hasMore;) {
    const page: List = await data(
      t,
      'listAssistants',
      send('GET', `/v1/assistants?limit=2${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`),
    );
    all.push(...page.assistants.map(({ assistant_id: id }) => id));
    ({ cursor, has_more: hasMore } = page);
  }
  t.is(new Set(all).size, all.length);
  t.true(all.length >= 5);
});

test('what a run alone may say, and what is too large, is refused with its name', async (t) => {
  for (const field of ['thread_id', 'agent', 'assistant_id', 'multitask_strategy']) {
    const body = { config: { [field]: 'x' } };
    t.deepEqual(await refused(t, send('POST', '/v1/assistants', body), 422, codeOf(422)), [['body', 'config', field]]);
  }
  const large = { context: { text: 'x'.repeat(61 * 1024) }, config: { a: 1 } };
  t.deepEqual(await refused(t, send('POST', '/v1/assistants', large), 422, codeOf(422)), [['body', 'context']]);
  const made = await make({ context: { text: 'x'.repeat(40 * 1024) } });
  const more = { metadata: { text: 'x'.repeat(30 * 1024) } };
  t.deepEqual(await refused(t, send('PATCH', at(made), more), 422, codeOf(422)), [['body', 'context']]);
  const wide = { context: { text: 'x'.repeat(512 * 1024) } };
  t.deepEqual(await refused(t, run({}, wide), 422, codeOf(422)), [['body', 'context']]);
});

test('no assistant gives a role: where callers sign in, the claims decide', async (t) => {
  await using service = await openEmbedded(
    null,
    { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret },
    { agents, default_agent: 'configured', auth: 'jwt' },
  );
  const ada = createClient(service.url, { authorization: `Bearer ${tokenOf('ada')}` });
  const { body } = await ada.send('POST', '/v1/assistants', { config: { role: 'admin', user_id: 'eve', tone: 'b' } });
  const { assistant_id } = body.data as Assistant;
  const reply = await ada.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { assistant_id } });
  const { config } = JSON.parse(replyText((reply.body.data as Turn).messages.at(-1))) as { config: object };
  t.like(config, { user_id: 'ada', tone: 'b', assistant_id });
  t.false('role' in config);
  const eve = createClient(service.url, { authorization: `Bearer ${tokenOf('eve')}` });
  const foreign = await eve.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { assistant_id } });
  t.is(foreign.status, 404);
});

test('a caller who may not use the agent of an assistant starts no run of it, alone or in a batch', async (t) => {
  const module = fileURLToPath(new URL('../backends/authorization.ts', import.meta.url));
  const signedIn = { auth: 'jwt', authorization: `${module}:byAgent` };
  const env = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret };
  await using service = await openEmbedded(null, env, { agents, default_agent: 'configured', ...signedIn });
  const as = (...allowed: string[]) => {
    const token = makeToken('HS256', secret, { claims: goodClaims({ user_id: 'ada', agents: allowed }) });
    return createClient(service.url, { authorization: `Bearer ${token}` });
  };
  t.is((await as('configured').send('POST', '/v1/assistants', { agent: 'office' })).status, 403);
  const kept = await as('configured', 'office').send('POST', '/v1/assistants', { agent: 'office' });
  const { assistant_id } = kept.body.data as Assistant;
  const one = { messages: [user('hello')], config: { assistant_id } };
  t.is((await as('configured').send('POST', '/v1/graph/invoke', one)).status, 403);
  t.is((await as('office').send('POST', '/v1/graph/invoke', one)).status, 200);
  const batch = await as('configured').send('POST', '/v1/runs/batch', { runs: [one] });
  const { runs } = batch.body.data as { runs: { error: { details: { loc: unknown[] }[] } }[] };
  t.deepEqual(runs[0]?.error.details[0]?.loc, ['body', 'runs', 0, 'config', 'assistant_id']);
});
