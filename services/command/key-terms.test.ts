import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { readKeyTerms } from './key-terms.ts';

const good = {
  user: 'ada',
  roles: 'manager, Führung im Haus,manager',
  scopes: 'store:read,graph',
  expires: '90d',
  name: 'CI',
};
const dayMs = 24 * 3_600_000;

test('the terms of a key are read as they are written', (t) => {
  t.deepEqual(readKeyTerms(good, 1000), {
    ...{ user: 'ada', roles: ['manager', 'Führung im Haus'], scopes: ['store:read', 'graph'], name: 'CI' },
    expiresAt: 1000 + 90 * dayMs,
  });
  t.is(readKeyTerms({ ...good, expires: '12h' }, 0).expiresAt, dayMs / 2);
  t.deepEqual(readKeyTerms({ ...good, scopes: '*', roles: '' }, 0).scopes, ['*']);
});

for (const [what, given, message] of [
  ['no user', { user: undefined }, /^--user must/],
  ['an empty user', { user: '' }, /^--user must/],
  ['a user with a line break', { user: 'a\nb' }, /^--user must/],
  ['a name with an escape sequence', { name: '\u001b[2J' }, /^--name must/],
  ['a role with a line break', { roles: 'a\nb' }, /^--roles must/],
  ['a role of 129 characters', { roles: 'r'.repeat(129) }, /^--roles must/],
  ['no scope', { scopes: undefined }, /^--scopes must be given: \* for everything, or of .*store, store:delete, /],
  ['a scope that no request needs', { scopes: 'store:reed' }, /^--scopes: "store:reed" is none: /],
  ['a scope with a star', { scopes: 'store:*' }, /is none/],
  ['no end', { expires: 'never' }, /^--expires must/],
  ['an end without a unit', { expires: '90' }, /^--expires must/],
  ['an end at once', { expires: '0d' }, /^--expires must/],
  ['an end in eleven years', { expires: '4015d' }, /^--expires must/],
] as const)
  test(`a key with ${what} is not made`, (t) => {
    t.throws(() => readKeyTerms({ ...good, ...given }, 0), { instanceOf: ConfigError, message });
  });
