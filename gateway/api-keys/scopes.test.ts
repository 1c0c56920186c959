import type { Authorize } from '../http/access.ts';
import test from 'ava';
import { ofKey, withinScopes } from './scopes.ts';

const may = (
  user: Readonly<Record<string, unknown>> | undefined,
  pair: string,
  authorize?: Authorize,
): Promise<boolean> => {
  const [resource = '', action = ''] = pair.split(':');
  return withinScopes({ authorize, isLive: (id) => Promise.resolve(id === 'live') })(
    { owner: 'u:ada', ...(user && { user }) },
    resource,
    action,
  );
};

test('a key may do what one of its scopes says, and a caller without a key whatever there is', async (t) => {
  const user = { api_key_scopes: ['store:read', 'graph'] };
  for (const pair of ['store:read', 'graph:invoke', 'graph:read']) t.true(await may(user, pair), pair);
  for (const pair of ['store:write', 'graphs:read', 'files:read', 'store:', ':read', 'gra:ph'])
    t.false(await may(user, pair), pair);
  t.true(await may({ api_key_scopes: ['*'] }, 'agents:deploy'));
  for (const none of [[], null, 'store:read', { 0: 'store:read' }, [null], ['store:*']])
    t.false(await may({ api_key_scopes: none }, 'store:read'), JSON.stringify(none));
  t.true(await may({}, 'store:write'));
  t.true(await may(undefined, 'store:write'));
  t.true(await may(Object.create({ api_key_scopes: [] }) as Record<string, unknown>, 'store:write'));
});

test('the authorization backend decides within the scopes, and is asked about nothing beyond them', async (t) => {
  const decided: string[] = [];
  const authorize = Object.assign(
    (_: unknown, resource: string, action: string) => {
      decided.push(`${resource}:${action}`);
      return Promise.resolve(action === 'read');
    },
    { needsAgent: true },
  );
  const user = { api_key_scopes: ['store'] };
  t.true(await may(user, 'store:read', authorize));
  t.false(await may(user, 'store:write', authorize));
  t.false(await may(user, 'files:read', authorize));
  t.deepEqual(decided, ['store:read', 'store:write']);
  const isLive = () => Promise.resolve(true);
  t.true(withinScopes({ authorize, isLive }).needsAgent);
  t.false(withinScopes({ authorize: undefined, isLive }).needsAgent);
});

test('what comes by a key that is revoked or has expired is refused, also long after the request that it let in', async (t) => {
  const user = { api_key_scopes: ['*'], api_key_id: 'live' };
  t.true(await may(user, 'graph:invoke'));
  t.false(await may({ ...user, api_key_id: 'revoked' }, 'graph:invoke'));
  t.false(await may({ api_key_id: 'revoked' }, 'graph:invoke'));
});

test('a ticket holds the id of the key by which its maker had come, and of no other text', (t) => {
  t.deepEqual(ofKey({ api_key_id: 'a' }), { keyId: 'a' });
  for (const user of [undefined, {}, { api_key_id: 7 }, Object.create({ api_key_id: 'a' }) as Record<string, unknown>])
    t.deepEqual(ofKey(user), {});
});
