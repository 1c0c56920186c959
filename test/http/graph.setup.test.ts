import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { audience, goodClaims, issuer, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const service = serve(test);
const secret = 'a secret that is long enough for the hash of 256 bits';
const secured = serve(
  test,
  'obedient',
  { JWT_SECRET_KEY: secret, JWT_ISSUER: issuer, JWT_AUDIENCE: audience },
  { auth: 'jwt' },
);

const toolNamed = (name: string): object => ({
  node_name: 'tools',
  name,
  parameters: { type: 'object', properties: {} },
});
const asOwner = (sub: string): Client =>
  createClient(secured.url(), {
    authorization: `Bearer ${makeToken('HS256', secret, { claims: goodClaims({ user_id: sub }) })}`,
  });

/** How a run ends whose agent asks for the tool `look`. */
async function statusOf({ send }: Pick<Client, 'send'>, body: object = {}): Promise<string> {
  const reply = await send('POST', '/v1/graph/invoke', { messages: [user('call look')], ...body });
  return (reply.body.data as { meta: { status: string } }).meta.status;
}

test('tools that are set up are remote in later runs, until another list takes their place', async (t) => {
  t.is(await statusOf(service), 'completed');
  const reply = await service.data(
    t,
    'setUpTools',
    service.send('POST', '/v1/graph/setup', { tools: [toolNamed('look')] }),
  );
  t.like(reply, { success: true, tools: ['look'] });
  t.is(await statusOf(service), 'interrupted');
  t.is(await statusOf(service, { tools: [toolNamed('other')] }), 'interrupted');
  await service.send('POST', '/v1/graph/setup', { tools: [] });
  t.is(await statusOf(service), 'completed');
});

test('two owners have tools of their own, also where callers sign in', async (t) => {
  const [ada, bob] = [asOwner('ada'), asOwner('bob')];
  await ada.send('POST', '/v1/graph/setup', { tools: [toolNamed('look')] });
  t.deepEqual(await Promise.all([statusOf(ada), statusOf(bob)]), ['interrupted', 'completed']);
});

test('a list that cannot be is refused by the place of its fault, and the one before stays', async (t) => {
  const ada = asOwner('grace');
  await ada.send('POST', '/v1/graph/setup', { tools: [toolNamed('look')] });
  const twice = ada.send('POST', '/v1/graph/setup', { tools: [toolNamed('a'), toolNamed('a')] });
  t.deepEqual(await secured.refused(t, twice, 422, 'VALIDATION_ERROR'), [['body', 'tools', 1, 'name']]);
  const nowhere = ada.send('POST', '/v1/graph/setup', { tools: [{ ...toolNamed('a'), node_name: 'nowhere' }] });
  t.deepEqual(await secured.refused(t, nowhere, 422, 'VALIDATION_ERROR'), [['body', 'tools', 0, 'node_name']]);
  for (const type of ['array', 'string', ['object', 'null'], 7]) {
    const unfit = [toolNamed('a'), { ...toolNamed('b'), parameters: { type } }];
    const place = [['body', 'tools', 1, 'parameters', 'type']];
    const setUp = ada.send('POST', '/v1/graph/setup', { tools: unfit });
    t.deepEqual(await secured.refused(t, setUp, 422, 'VALIDATION_ERROR'), place);
    const invoke = ada.send('POST', '/v1/graph/invoke', { messages: [user('hello')], tools: unfit });
    t.deepEqual(await secured.refused(t, invoke, 422, 'VALIDATION_ERROR'), place);
  }
  const missing = ada.send('POST', '/v1/graph/setup', {});
  t.deepEqual(await secured.refused(t, missing, 422, 'VALIDATION_ERROR'), [['body', 'tools']]);
  t.is(await statusOf(ada), 'interrupted');
});
