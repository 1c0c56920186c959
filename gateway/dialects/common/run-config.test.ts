import { anonymousOwner, ownerOf } from '@agent-workflow/kit/ids';
import test from 'ava';
import { configOf } from './run-config.ts';

const ada = { owner: ownerOf('ada'), user: { user_id: 'ada', roles: ['editor'], locale: 'fr' } };

test('the user context is merged over what the body says, where callers sign in', (t) => {
  const given = { thread_id: 't', locale: 'en', mine: 1, user_id: 'bob' };
  t.deepEqual(configOf(given, ada, true), { thread_id: 't', mine: 1, locale: 'fr', roles: ['editor'], user_id: 'ada' });
  t.deepEqual(configOf(undefined, ada, true), { roles: ['editor'], locale: 'fr', user_id: 'ada' });
});

test('user_id is the principal by whatever claim it is named', (t) => {
  t.deepEqual(configOf({}, { owner: ownerOf('7'), user: { user_id: 7 } }, true), { user_id: '7' });
  t.deepEqual(configOf({}, { owner: ownerOf('cy'), user: { sub: 'cy' } }, true), { sub: 'cy', user_id: 'cy' });
});

test('a caller who is let in without an id can forge none', (t) => {
  t.deepEqual(configOf({ user_id: 'ada', mine: 1 }, { owner: anonymousOwner }, true), { mine: 1 });
});

const claims = { role: 'admin', roles: ['admin'], sub: 'bob', email: 'bob@example.test', scope: 'all' };

test('a caller who signs in gives themselves no claim that they do not have', (t) => {
  const given = { ...claims, Role: 'x', mine: 1 };
  t.deepEqual(configOf(given, { owner: ownerOf('ada'), user: { user_id: 'ada' } }, true), {
    Role: 'x',
    mine: 1,
    user_id: 'ada',
  });
  t.deepEqual(configOf(given, { owner: anonymousOwner }, true), { Role: 'x', mine: 1 });
  const user = { sub: 'ada', role: null, scope: 'read' };
  t.deepEqual(configOf(claims, { owner: ownerOf('ada'), user }, true), { ...user, user_id: 'ada' });
  t.deepEqual(configOf(claims, { owner: anonymousOwner }, false), claims);
});

test('without authentication the config is the one of the body', (t) => {
  const given = { user_id: 'ada', mine: 1 };
  t.is(configOf(given, { owner: anonymousOwner }, false), given);
  t.is(configOf(undefined, { owner: anonymousOwner }, false), undefined);
});

test('claims never supply what the service reads of the config', (t) => {
  const user = {
    sub: 'cy',
    thread_id: 'theirs',
    thread_name: 'x',
    metadata: { a: 1 },
    multitask_strategy: 'reject',
    on_disconnect: 'cancel',
    agent: 'other',
  };
  t.deepEqual(configOf({}, { owner: ownerOf('cy'), user }, true), { sub: 'cy', user_id: 'cy' });
  const given = { thread_id: 'mine', metadata: { b: 2 } };
  t.deepEqual(configOf(given, { owner: ownerOf('cy'), user }, true), { ...given, sub: 'cy', user_id: 'cy' });
});
