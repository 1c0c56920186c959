import { ConfigError } from '@agent-workflow/kit/env';
import test from 'ava';
import { readRules } from './read-rules.ts';
import { noRoles } from './rules.ts';
import { summaryOf } from './summary.ts';

const location = './refunds.ts:graph';
const file = { auth: 'jwt', agent: undefined, agents: [{ name: 'refunds', location }] } as const;
const read = (access: unknown) => readRules({ ...file, access });

const whole = {
  claim: 'groups',
  roles: {
    manager: { is: 'approver', agents: ['refunds'], nodes: ['approve'] },
    support: { is: 'operator' },
    ops: { is: 'operator', reads: 'contents' },
    root: { is: 'admin' },
    staff: { is: 'user' },
  },
  knowledge: {
    handbook: { read: ['*'], write: ['root', 'approver'] },
    'agent:refunds': { write: ['staff', 'agent:loader'] },
  },
};

test('without access nobody has a role', (t) => {
  t.deepEqual(read(undefined), noRoles);
  t.deepEqual(readRules({ ...file, auth: null, access: undefined }), { ...noRoles, signsIn: false });
  t.deepEqual(summaryOf(read(undefined)), []);
});

test('roles, their claim and the scopes of knowledge are read as they are written', (t) => {
  const rules = read(whole);
  t.deepEqual(rules.claims, [['groups']]);
  t.deepEqual(Object.fromEntries(rules.roles), whole.roles);
  t.deepEqual(
    [...rules.knowledge],
    [
      ['shared:handbook', whole.knowledge.handbook],
      ['agent:refunds', { read: [], write: ['staff', 'agent:loader'] }],
    ],
  );
  t.deepEqual(read({}).claims, [['roles'], ['role']]);
  t.deepEqual(read({ claim: ['realm_access', 'roles'] }).claims, [['realm_access', 'roles']]);
});

test('the start says who may do what', (t) => {
  t.deepEqual(summaryOf(read(whole)), [
    'access: manager (approver of refunds at approve), support (operator, contents masked), ops (operator, contents read), root (admin), staff (user), by claim groups; knowledge: shared:handbook, agent:refunds',
  ]);
  t.deepEqual(summaryOf(read({ knowledge: { handbook: { read: ['*'] } } })), [
    'access: no role; knowledge: shared:handbook',
  ]);
  t.deepEqual(summaryOf(readRules({ ...file, auth: null, access: whole })), [
    'access: counts for nobody, as nobody signs in',
  ]);
});

test('an agent of a role must be one of the file, where it has any', (t) => {
  const access = { roles: { manager: { is: 'approver', agents: ['other'] } } };
  t.throws(() => read(access), { message: /access\.roles\.manager\.agents must name agents \(refunds\), not "other"/ });
  t.throws(() => readRules({ ...file, agents: undefined, agent: location, access }), { message: /\(default\)/ });
  t.notThrows(() => readRules({ ...file, agents: undefined, access }));
});

const faults: readonly (readonly [access: unknown, message: RegExp])[] = [
  [[], /access must be an object/],
  [{ role: {} }, /access has the unknown key "role"; the known keys are claim, roles, knowledge/],
  [{ claim: '' }, /access\.claim must be/],
  [{ claim: [] }, /access\.claim must be/],
  [{ roles: [] }, /access\.roles must be an object/],
  [{ roles: { a: 'admin' } }, /access\.roles\.a must be an object/],
  [{ roles: { a: {} } }, /access\.roles\.a\.is must be one of user, approver, operator, admin, not absent/],
  [{ roles: { a: { is: 'boss' } } }, /access\.roles\.a\.is must be one of .*, not "boss"/],
  [{ roles: { admin: { is: 'user' } } }, /access\.roles\.admin\.is must be "admin"/],
  [{ roles: { '*': { is: 'user' } } }, /must have a name/],
  [{ roles: { 'agent:refunds': { is: 'user' } } }, /must have a name/],
  [{ roles: { 'a\u200b': { is: 'user' } } }, /must have a name/],
  [{ roles: { a: { is: 'admin', reads: 'contents' } } }, /access\.roles\.a has the unknown key "reads"/],
  [
    { roles: { a: { is: 'approver', reads: 'contents' } } },
    /unknown key "reads"; the known keys are is, agents, nodes/,
  ],
  [{ roles: { a: { is: 'approver', agents: 'refunds' } } }, /access\.roles\.a\.agents must be a list/],
  [{ roles: { a: { is: 'approver', nodes: [1] } } }, /access\.roles\.a\.nodes must be a list/],
  [
    { roles: { a: { is: 'operator', reads: 'all' } } },
    /access\.roles\.a\.reads must be "contents" or absent, not "all"/,
  ],
  [{ roles: { a: { is: 'operator', agents: [] } } }, /unknown key "agents"/],
  [{ knowledge: { 'a b': {} } }, /access\.knowledge\.a b must have a name/],
  [{ knowledge: { a: { reads: [] } } }, /access\.knowledge\.a has the unknown key "reads"/],
  [{ knowledge: { a: { read: ['nobody'] } } }, /access\.knowledge\.a\.read must list names of access\.roles/],
  [{ knowledge: { a: { write: '*' } } }, /access\.knowledge\.a\.write must be a list/],
  [{ knowledge: { a: { read: ['agent:A b'] } } }, /access\.knowledge\.a\.read must list names/],
  [
    { knowledge: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`s${String(at)}`, {}])) },
    /access\.knowledge must have at most 64 members, not 65/,
  ],
];

for (const [access, message] of faults) {
  test(`${JSON.stringify(access)} is refused at the start, with the field named`, (t) => {
    t.throws(() => read(access), { instanceOf: ConfigError, message });
  });
}
