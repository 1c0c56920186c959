import test, { type ExecutionContext } from 'ava';
import { createClient, type ClientOptions } from './client.ts';

/** What cannot be sent is refused by its name: nothing is sent, and no part of the error has the value. */
async function refuses(
  t: ExecutionContext,
  given: Partial<ClientOptions>,
  expected: string,
  send: (client: ReturnType<typeof createClient>) => Promise<unknown> = ({ ping }) => ping(),
): Promise<void> {
  let requests = 0;
  const fetch = (): Promise<Response> => {
    requests += 1;
    return Promise.resolve(new Response());
  };
  const client = createClient({ url: 'http://service.test', fetch, ...given });
  const error = await t.throwsAsync(send(client), { instanceOf: TypeError });
  t.is(error.message, expected);
  t.is(error.cause, undefined);
  t.is(requests, 0);
}

const unfit = 'must hold only characters that a header of HTTP can hold';

test('a token that no header can hold is refused without its value', async (t) => {
  for (const token of ['secret\u200b', 'secret\ntoken', 'secret\0', 'schlüssel€'])
    for (const given of [token, () => token, () => Promise.resolve(token)])
      await refuses(t, { token: given }, `token ${unfit}`);
});

test('headers that cannot be sent are refused, also the position of a stream', async (t) => {
  await refuses(t, { headers: { 'x-tenant': 'secret\nx' } }, `the header "x-tenant" ${unfit}`);
  await refuses(t, { headers: { 'x tenant': '1' } }, 'headers must have names that a header of HTTP can have');
  await refuses(t, {}, `after ${unfit}`, ({ runs }) => runs.follow('r', { after: 'r\u200b:1' }).next());
});

test('headers that belong to the connection are refused by their names', async (t) => {
  for (const name of ['Expect', 'keep-alive', 'Transfer-Encoding'])
    await refuses(t, { headers: { [name]: 'secret' } }, `headers must not have "${name}": \`fetch\` sets it itself`);
});

test('what a header can hold is sent', async (t) => {
  const sent: (string | null)[] = [];
  const client = createClient({
    url: 'http://service.test',
    token: 'token\n',
    headers: { 'x-name': 'Zoë', 'x-empty': '' },
    fetch: (_address, init) => {
      const headers = new Headers(init?.headers);
      sent.push(headers.get('authorization'), headers.get('x-name'));
      return Promise.resolve(new Response('{"data":"pong"}'));
    },
  });
  await client.ping();
  t.deepEqual(sent, ['Bearer token', 'Zoë']);
});

test('an idempotency key that the service would refuse is refused before anything is sent', async (t) => {
  const message = 'idempotencyKey must be a text of 1 to 255 visible ASCII characters';
  for (const idempotencyKey of ['', 'заказ-7', 'a b', 'a\nb', 'é', 'k'.repeat(256), 7 as unknown as string]) {
    await refuses(t, {}, message, ({ invoke }) => invoke({ messages: [] }, { idempotencyKey }));
    await refuses(t, {}, message, ({ stream }) => stream({ messages: [] }, { idempotencyKey }).next());
    await refuses(t, {}, message, ({ runs }) => runs.start({ messages: [] }, { idempotencyKey }));
  }
});

test('an address with a user or a password is refused without them', (t) => {
  for (const url of ['http://user:secret@service.test', 'http://secret@service.test', 'http://user:secret@'])
    t.notRegex(t.throws(() => createClient({ url }), { instanceOf: TypeError }).message, /secret/);
});
