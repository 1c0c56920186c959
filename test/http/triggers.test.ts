import { createHmac } from 'node:crypto';
import test from 'ava';
import { createClient } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { agentAt } from '../servers/standalone.ts';
import { goodClaims, makeToken } from '../servers/tokens.ts';
import { codeOf, replyText, serve } from './service.ts';

const agents = { configured: agentAt('configured'), office: agentAt('clerk') };
const { send, data, refused, url } = serve(test, null, {}, { agents, default_agent: 'configured' });

interface Trigger {
  readonly trigger_id: string;
  readonly path: string;
  readonly secret: string;
}
interface Outcome {
  readonly run_id?: string;
  readonly thread_id?: string;
  readonly duplicate?: boolean;
  readonly ignored?: boolean;
  readonly challenge?: string;
  readonly error?: { readonly code: string };
}
type Headers = Readonly<Record<string, string>>;
interface Answer {
  readonly status: number;
  readonly body: Outcome;
}

const hex = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');
const seconds = (ago = 0): string => String(Math.floor(Date.now() / 1000) - ago);
const githubHeaders = (secret: string, body: string): Headers => ({
  'x-hub-signature-256': `sha256=${hex(secret, body)}`,
});
const slackHeaders = (secret: string, body: string, time = seconds()): Headers => ({
  'x-slack-signature': `v0=${hex(secret, `v0:${time}:${body}`)}`,
  'x-slack-request-timestamp': time,
});
function standardHeaders(secret: string, body: string, id = 'msg_1', time = seconds()): Headers {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
}
const signers = { github: githubHeaders, slack: slackHeaders, standard: standardHeaders };

const make = async (format: keyof typeof signers, more: object = {}): Promise<Trigger> => {
  const reply = await send('POST', '/v1/triggers', { format, ...more });
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  return reply.body.data;
};
test('changes at the same time all count', async (t) => {
  const { trigger_id: id } = await make('github');
  const changes = await Promise.all(
    Array.from({ length: 12 }, (_, index) => send('PATCH', `/v1/triggers/${id}`, { name: String(index) })),
  );
  t.deepEqual(new Set(changes.map(({ status }) => status)), new Set([200]));
});

const deliver = async (path: string, body: string | Uint8Array, headers: Headers, base = url()): Promise<Answer> => {
  const reply = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body as string,
  });
  return { status: reply.status, body: (await reply.json()) as Outcome };
};
interface Result {
  readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
}
/** What the node of a run that an event started saw. */
const seenBy = async (
  runId = '',
): Promise<{ config: object; context: { event: Readonly<Record<string, unknown>> } }> => {
  const { body } = await send('GET', `/v1/runs/${runId}/wait`);
  return JSON.parse(replyText((body.data as Result).messages.at(-1))) as never;
};
const runsOf = async (): Promise<number> =>
  ((await send('GET', '/v1/runs?limit=1000')).body.data as { runs: unknown[] }).runs.length;

for (const format of ['github', 'slack', 'standard'] as const) {
  test.serial(`${format}: a signed event starts one run, and forged, replayed and changed ones none`, async (t) => {
    const { path, secret, trigger_id } = await make(format, { context: { team: 'a' } });
    const body = JSON.stringify({ type: 'push', number: 7, text: 'ü' });
    const good = signers[format](secret, body);
    const before = await runsOf();
    const first = await deliver(path, body, good);
    t.is(first.status, 200, JSON.stringify(first));
    const seen = await seenBy(first.body.run_id);
    t.like(seen.context, { team: 'a', event: { trigger_id, body: { type: 'push', number: 7, text: 'ü' } } });

    const again = await deliver(path, body, good);
    t.deepEqual([again.status, again.body], [200, { ...first.body, duplicate: true }]);
    // A sender that sends an event again signs it with the time of then, and may give other headers that are not signed.
    const later =
      format === 'slack' ? slackHeaders(secret, body, seconds(3)) : { ...good, 'x-github-delivery': 'other' };
    t.like(await deliver(path, body, later), { status: 200, body: { duplicate: true, run_id: first.body.run_id } });

    const forged: Headers[] = [{}, signers[format](`${secret.slice(0, -4)}AAAA`, body), { authorization: 'Bearer x' }];
    for (const headers of forged) t.like(await deliver(path, body, headers), { status: 401 });
    t.like(await deliver(path, `${body} `, good), { status: 401 });
    t.like(await deliver(path, '', good), { status: 401 });
    t.like(await deliver(path.replace(trigger_id, 'nobody'), body, good), { status: 401 });
    const other = await make(format);
    t.like(await deliver(other.path, body, good), { status: 401 }, 'the signature is that of another trigger');
    if (format !== 'github') {
      const [old, ahead] = [seconds(301), seconds(-310)];
      const signed = (time: string): Headers =>
        format === 'slack' ? slackHeaders(secret, body, time) : standardHeaders(secret, body, 'msg_1', time);
      t.like(await deliver(path, body, signed(old)), { status: 401 });
      t.like(await deliver(path, body, signed(ahead)), { status: 401 });
    }
    t.is(await runsOf(), before + 1);
  });
}

test.serial('of the same event sent many times at once one run comes', async (t) => {
  const { path, secret } = await make('github');
  const before = await runsOf();
  const body = '{"at":"once"}';
  const all = await Promise.all(Array.from({ length: 10 }, () => deliver(path, body, githubHeaders(secret, body))));
  t.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
  t.is(new Set(all.map(({ body: { run_id } }) => run_id)).size, 1);
  t.is(await runsOf(), before + 1);
  t.is(all.filter(({ body: { duplicate } }) => duplicate !== true).length, 1);
});

test.serial('an event that is too large, packed or no text is refused, and starts nothing', async (t) => {
  const { path, secret } = await make('github');
  const before = await runsOf();
  const large = JSON.stringify({ text: 'x'.repeat(256 * 1024) });
  t.like(await deliver(path, large, githubHeaders(secret, large)), { status: 413 });
  t.like(await deliver(path, '{}', { ...githubHeaders(secret, '{}'), 'content-encoding': 'gzip' }), { status: 400 });
  const bytes = Buffer.from([0xff, 0xfe]);
  const signature = createHmac('sha256', secret).update(bytes).digest('hex');
  t.like(await deliver(path, bytes, { 'x-hub-signature-256': `sha256=${signature}` }), { status: 400 });
  const deep = '['.repeat(200) + ']'.repeat(200);
  t.like(await deliver(path, deep, githubHeaders(secret, deep)), { status: 400 });
  t.is(await runsOf(), before);
  const text = 'no JSON';
  const { body } = await deliver(path, text, githubHeaders(secret, text));
  t.is((await seenBy(body.run_id)).context.event['body'], text);
});

test.serial('a secret is shown once and can be replaced: the one before counts for the overlap', async (t) => {
  const made = await make('github');
  const at = `/v1/triggers/${made.trigger_id}`;
  for (const path of [at, '/v1/triggers']) {
    const { body } = await send('GET', path);
    t.false(JSON.stringify(body).includes(made.secret), path);
  }
  const rotate = async (overlap: number): Promise<Trigger> =>
    (await send('POST', `${at}/secret`, { overlap_seconds: overlap })).body.data;
  const second = await rotate(60);
  t.not(second.secret, made.secret);
  const works = async ({ secret }: Trigger, body: string): Promise<boolean> =>
    (await deliver(made.path, body, githubHeaders(secret, body))).status === 200;
  t.deepEqual([await works(made, '{"n":1}'), await works(second, '{"n":2}')], [true, true]);
  const third = await rotate(0);
  t.deepEqual(
    [await works(made, '{"n":3}'), await works(second, '{"n":4}'), await works(third, '{"n":5}')],
    [false, false, true],
  );
  const own = 'a signing secret of the sender';
  const given = await send('POST', `${at}/secret`, { secret: own });
  t.is((given.body.data as Trigger).secret, own);
  t.deepEqual(await refused(t, send('POST', `${at}/secret`, { secret: 'short' }), 422, codeOf(422)), [
    ['body', 'secret'],
  ]);
});

test.serial('an event goes to the agent, assistant and thread of its trigger', async (t) => {
  const assistant = await send('POST', '/v1/assistants', { config: { tone: 'brief' }, context: { locale: 'en' } });
  const { assistant_id } = assistant.body.data as { assistant_id: string };
  const { path, secret } = await make('standard', {
    config: { assistant_id, thread_id: 'events' },
    message: 'Read it',
  });
  const body = '{"type":"paid"}';
  const first = await deliver(path, body, standardHeaders(secret, body, 'msg_1'));
  const second = await deliver(path, body, standardHeaders(secret, body, 'msg_2'));
  t.deepEqual([first.body.thread_id, second.body.thread_id], ['events', 'events']);
  t.not(first.body.run_id, second.body.run_id);
  t.like(await seenBy(second.body.run_id), {
    config: { assistant_id, tone: 'brief' },
    context: { locale: 'en', event: { type: 'paid' } },
  });
  const { messages } = (await send('GET', '/v1/threads/events/messages')).body.data as Result;
  t.is(replyText(messages[0]), 'Read it');
});

test.serial(
  'events of other types are ignored, a disabled or deleted trigger takes none, and Slack gets its challenge',
  async (t) => {
    const { path, secret, trigger_id } = await make('github', { events: ['push'] });
    const before = await runsOf();
    const signed = (body: string, event: string): Headers => ({
      ...githubHeaders(secret, body),
      'x-github-event': event,
    });
    t.like(await deliver(path, '{"zen":1}', signed('{"zen":1}', 'ping')), { status: 200, body: { ignored: true } });
    t.is(await runsOf(), before);
    t.is((await deliver(path, '{"a":1}', signed('{"a":1}', 'push'))).body.ignored, undefined);
    await data(t, 'updateTrigger', send('PATCH', `/v1/triggers/${trigger_id}`, { enabled: false }));
    t.like(await deliver(path, '{"a":2}', signed('{"a":2}', 'push')), { status: 409 });
    await data(t, 'deleteTrigger', send('DELETE', `/v1/triggers/${trigger_id}`));
    t.like(await deliver(path, '{"a":3}', signed('{"a":3}', 'push')), { status: 401 });
    await refused(t, send('GET', `/v1/triggers/${trigger_id}`), 404, codeOf(404));

    const slack = await make('slack', { secret: '8f742231b10e8888abcd99yyyzzz85a5' });
    const body = '{"type":"url_verification","challenge":"3eZbrw1a"}';
    t.deepEqual(await deliver(slack.path, body, slackHeaders(slack.secret, body)), {
      status: 200,
      body: { challenge: '3eZbrw1a' },
    });
    t.like(await deliver(slack.path, body, slackHeaders('8f742231b10e8888abcd99yyyzzz85a6', body)), { status: 401 });
    t.is(await runsOf(), before + 1);
  },
);

test.serial(
  'where callers sign in, an event acts as the owner of its trigger, and other owners find neither',
  async (t) => {
    const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
    const auth = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret };
    await using service = await openEmbedded(null, auth, { agents, default_agent: 'configured', auth: 'jwt' });
    const as = (user_id: string) =>
      createClient(service.url, {
        authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id, role: 'reader' }) })}`,
      });
    const made = (await as('ada').send('POST', '/v1/triggers', { format: 'github' })).body.data as Trigger;
    const answer = await deliver(made.path, '{}', githubHeaders(made.secret, '{}'), service.url);
    t.is(answer.status, 200, JSON.stringify(answer));
    const run = await as('ada').send('GET', `/v1/runs/${answer.body.run_id ?? ''}/wait`);
    const { config } = JSON.parse(replyText((run.body.data as Result).messages.at(-1))) as { config: object };
    t.like(config, { user_id: 'ada', role: 'reader' });
    t.is((await as('eve').send('GET', `/v1/runs/${answer.body.run_id ?? ''}`)).status, 404);
    t.is((await as('eve').send('GET', `/v1/triggers/${made.trigger_id}`)).status, 404);
    t.is((await as('eve').send('POST', `/v1/triggers/${made.trigger_id}/secret`, {})).status, 404);
    t.is((await deliver(made.path, '{"n":1}', {}, service.url)).status, 401);
  },
);

test.serial('wrong signatures at one trigger hold up no other, and a signed event counts for its owner', async (t) => {
  const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
  const limits = { RATE_LIMIT_AUTH_FAILURES: '3', RATE_LIMIT_REQUESTS: '12' };
  const auth = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret, ...limits };
  await using service = await openEmbedded(null, auth, { agents, default_agent: 'configured', auth: 'jwt' });
  const token = makeToken('HS256', secret, { claims: goodClaims({ user_id: 'ada' }) });
  const ada = createClient(service.url, { authorization: `Bearer ${token}` });
  const make = async () => (await ada.send('POST', '/v1/triggers', { format: 'github' })).body.data as Trigger;
  const [own, other] = [await make(), await make()];
  const wrong = githubHeaders('not the secret of any', '{}');
  const refusals: number[] = [];
  for (let n = 0; n < 4; n++) refusals.push((await deliver(other.path, '{}', wrong, service.url)).status);
  t.deepEqual(refusals, [401, 401, 401, 429]);
  const event = (n: number) => {
    const body = JSON.stringify({ n });
    return { method: 'POST', headers: githubHeaders(own.secret, body), body };
  };
  const first = await fetch(`${service.url}${own.path}`, event(0));
  t.deepEqual(
    [first.status, first.headers.get('ratelimit-remaining')],
    [200, '9'],
    'two requests and one event of ada',
  );
});

test.serial('the address takes POST alone', async (t) => {
  const { path } = await make('github');
  t.is((await send('GET', path)).status, 405);
});
