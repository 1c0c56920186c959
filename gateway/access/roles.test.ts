import test from 'ava';
import type { Context } from '../http/context.ts';
import { withRoles } from './roles.ts';
import { noRoles, type AccessRules } from './rules.ts';

const rules: AccessRules = {
  ...noRoles,
  claims: [['roles'], ['realm', 'roles']],
  roles: new Map([
    ['root', { is: 'admin' }],
    ['support', { is: 'operator' }],
  ]),
};

const rolesOf = async (user: Readonly<Record<string, unknown>> | undefined, by = rules) =>
  (await withRoles(() => ({ owner: 'u_ada', ...(user && { user }) }), by)({} as Context)).roles ?? [];

test('roles come from the members that the rules name, as a text or a list of texts', async (t) => {
  t.deepEqual(await rolesOf({ roles: 'support' }), ['support']);
  t.deepEqual(await rolesOf({ roles: ['support', 'root', 'support'] }), ['root', 'support']);
  t.deepEqual(await rolesOf({ realm: { roles: ['support'] } }), ['support']);
});

test('names that the rules do not have, and values that are no texts, count for nothing', async (t) => {
  for (const roles of ['admin', 'root support', ['ROOT'], [['root']], { root: true }, 1, true, null, undefined])
    t.deepEqual(await rolesOf({ roles }), [], JSON.stringify(roles));
  t.deepEqual(await rolesOf({ role: 'root' }), []);
  t.deepEqual(await rolesOf(Object.create({ roles: 'root' }) as Record<string, unknown>), []);
  t.deepEqual(await rolesOf(undefined), []);
});

test('a principal has its roles, and none where the rules give none', async (t) => {
  const ctx = {} as Context;
  const ada = { owner: 'u_ada', user: { roles: ['root'] } };
  t.deepEqual(await withRoles(() => ada, rules)(ctx), { ...ada, roles: ['root'] });
  t.deepEqual(await withRoles(() => Promise.resolve(ada), rules)(ctx), { ...ada, roles: ['root'] });
  const bob = { owner: 'u_bob', user: { roles: ['other'] } };
  t.is(await withRoles(() => bob, rules)(ctx), bob);
});

test('without roles, and where nobody signs in, authentication is what it was', (t) => {
  const authenticate = () => ({ owner: 'u_ada' });
  t.is(withRoles(authenticate, noRoles), authenticate);
  t.is(withRoles(authenticate, { ...rules, signsIn: false }), authenticate);
});
