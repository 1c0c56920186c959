import test from 'ava';
import { withGivenRoles } from './roles.ts';

const given = new Set(['staff']);

test('of the roles in a token those are left that its issuer may give, wherever they stand', (t) => {
  const claims = { sub: 'ada', roles: ['root', 'staff', 7], role: 'root', realm: { groups: ['root'], name: 'r' } };
  t.deepEqual(withGivenRoles(claims, given, [['realm', 'groups']]), {
    ...{ sub: 'ada', roles: ['staff'], realm: { groups: [], name: 'r' } },
  });
  t.deepEqual(withGivenRoles({ role: 'staff' }, given, []), { role: 'staff' });
  t.deepEqual(withGivenRoles({ roles: { root: true }, role: ['root'] }, given, []), { role: [] });
  t.is(withGivenRoles(claims, '*', []), claims);
});

test('an issuer that may give none gives none, and other claims stay', (t) => {
  const claims = { roles: ['root'], realm: 'text', scope: 'all' };
  t.deepEqual(withGivenRoles(claims, new Set(), [['realm', 'groups'], ['absent']]), {
    ...{ roles: [], realm: 'text', scope: 'all' },
  });
});
