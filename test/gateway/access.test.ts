import { anonymousOwner, ownerOf } from '@agent-workflow/kit/ids';
import test from 'ava';
import fc from 'fast-check';
import {
  checks,
  decide,
  decideBy,
  type AccessRequest,
  type Caller,
  type Checks,
} from '@agent-workflow/gateway/access/decide';
import { noRoles, shareRights, type AccessRules } from '@agent-workflow/gateway/access/rules';

const rules: AccessRules = {
  ...noRoles,
  roles: new Map([
    ['manager', { is: 'approver', agents: ['refunds'], nodes: ['approve'] }],
    ['board', { is: 'approver' }],
    ['support', { is: 'operator' }],
    ['ops', { is: 'operator', reads: 'contents' }],
    ['root', { is: 'admin' }],
    ['staff', { is: 'user' }],
  ]),
  knowledge: new Map([
    ['shared:handbook', { read: ['*'], write: ['staff', 'approver'] }],
    ['agent:refunds', { read: ['staff'], write: ['operator'] }],
  ]),
};

const caller = (owner: string, ...roles: string[]): Caller => ({ owner, roles });

const question = (more: Partial<Extract<AccessRequest, { kind: 'question' }>> = {}): AccessRequest => ({
  ...{ kind: 'question', agent: 'refunds', node: 'approve', to: ['approver'], notOwner: true, owner: 'u_carol' },
  ...more,
});
const admin = (what: 'runs' | 'threads' | 'questions' | 'audit', contents = false): AccessRequest => ({
  ...{ kind: 'admin', what, contents },
});
const knowledge = (scope: string, action: 'read' | 'write'): AccessRequest => ({ kind: 'knowledge', scope, action });

const share = (more: Partial<Extract<AccessRequest, { kind: 'share' }>> = {}): AccessRequest => ({
  ...{ kind: 'share', action: 'read', to: { user: 'bob' }, rights: ['read'], now: 5, ...more },
});
const [bob, sue, zoe] = [ownerOf('bob'), ownerOf('sue'), ownerOf('zoe')];

type Case = readonly [title: string, who: Caller, request: AccessRequest, expected: boolean];

const cases: readonly Case[] = [
  ['an approver answers a question to approvers', caller('u_max', 'manager'), question(), true],
  ['one without agents and nodes answers all', caller('u_max', 'board'), question({ agent: 'a', node: 'b' }), true],
  ['a question names a role as well', caller('u_max', 'manager'), question({ to: ['board', 'manager'] }), true],
  ['another role is not named', caller('u_max', 'manager'), question({ to: ['board'] }), false],
  ['another agent is none of theirs', caller('u_max', 'manager'), question({ agent: 'payments' }), false],
  ['another node is none of theirs', caller('u_max', 'manager'), question({ node: 'pay' }), false],
  ['one role counts, not two halves', caller('u_max', 'manager', 'staff'), question({ node: 'pay' }), false],
  ['a user answers no question to approvers', caller('u_bob'), question(), false],
  ['an operator answers none either', caller('u_bob', 'support', 'ops'), question(), false],
  ['an admin answers every question', caller('u_zoe', 'root'), question({ to: ['board'] }), true],
  ['the owner does not, who may not', caller('u_carol', 'manager', 'root'), question(), false],
  ['the owner does, who may', caller('u_carol', 'manager'), question({ notOwner: false }), true],
  ['the owner without the role does not', caller('u_carol'), question({ notOwner: false }), false],
  ['a question to everybody is to each user', caller('u_bob'), question({ to: ['*'] }), true],
  ['and so is one to users', caller('u_bob'), question({ to: ['user'] }), true],
  ['but not to who is anonymous', caller(anonymousOwner), question({ to: ['*'] }), false],
  ['nor is a role without a user one', caller(anonymousOwner, 'root'), question(), false],
  ['a question to nobody else is the owner’s', caller('u_carol'), question({ to: [], notOwner: false }), true],
  [
    'the anonymous owner has own ones',
    caller(anonymousOwner),
    question({ to: [], notOwner: false, owner: anonymousOwner }),
    true,
  ],
  ['and nobody else’s, whatever the role', caller('u_zoe', 'root'), question({ to: [], notOwner: false }), false],
  ['a role that the rules lack is none', caller('u_bob', 'approver', 'admin'), question(), false],

  ['an operator sees runs', caller('u_sue', 'support'), admin('runs'), true],
  ['without contents', caller('u_sue', 'support'), admin('runs', true), false],
  ['one who reads contents does', caller('u_pat', 'ops'), admin('runs', true), true],
  ['an admin does', caller('u_zoe', 'root'), admin('threads', true), true],
  ['an approver sees no runs', caller('u_max', 'board'), admin('runs'), false],
  ['a user sees none', caller('u_bob', 'staff'), admin('threads'), false],
  ['nobody sees none', caller(anonymousOwner, 'root'), admin('questions'), false],
  ['the audit is the admin’s', caller('u_zoe', 'root'), admin('audit'), true],
  ['and no operator’s', caller('u_pat', 'ops'), admin('audit'), false],

  ['own memories are everybody’s own', caller(anonymousOwner), knowledge('own', 'write'), true],
  ['a scope for all is read by all', caller('u_bob'), knowledge('shared:handbook', 'read'), true],
  ['signed in', caller(anonymousOwner), knowledge('shared:handbook', 'read'), false],
  ['and written by those named', caller('u_bob', 'staff'), knowledge('shared:handbook', 'write'), true],
  ['or by those of a level', caller('u_max', 'board'), knowledge('shared:handbook', 'write'), true],
  ['and by nobody else', caller('u_bob', 'ops'), knowledge('shared:handbook', 'write'), false],
  ['who writes reads', caller('u_sue', 'support'), knowledge('agent:refunds', 'read'), true],
  ['who reads does not write', caller('u_bob', 'staff'), knowledge('agent:refunds', 'write'), false],
  ['a scope without a rule is nobody’s', caller('u_bob', 'staff'), knowledge('shared:other', 'read'), false],
  ['but an admin’s', caller('u_zoe', 'root'), knowledge('shared:other', 'write'), true],

  ['who a thread is shared with reads it', caller(bob), share(), true],
  ['and nobody else, whatever the role', caller(zoe, 'root', 'ops'), share(), false],
  ['a role is a recipient', caller(sue, 'staff'), share({ to: { role: 'staff' } }), true],
  ['for all who have it alone', caller(bob, 'board'), share({ to: { role: 'staff' } }), false],
  ['and an admin does not stand for it', caller(zoe, 'root'), share({ to: { role: 'staff' } }), false],
  ['everybody is one', caller(sue), share({ to: { everybody: true } }), true],
  ['who is signed in', caller(anonymousOwner), share({ to: { everybody: true } }), false],
  ['who may read does not write', caller(bob), share({ action: 'write' }), false],
  ['who may write does', caller(bob), share({ action: 'write', rights: ['read', 'write'] }), true],
  ['and does not answer', caller(bob), share({ action: 'answer', rights: ['read', 'write'] }), false],
  ['a share lasts until its end', caller(bob), share({ until: 6 }), true],
  ['and not longer', caller(bob), share({ until: 5 }), false],
];

const wrong = (decision: typeof decide): readonly string[] =>
  cases.filter(([, who, request, expected]) => decision(rules, who, request) !== expected).map(([title]) => title);

test('who may do what', (t) => {
  t.deepEqual(wrong(decide), []);
});

/** The checks with one that always holds. */
const without = (kind: keyof Checks, of: 'caller' | 'role', name: string): Checks => ({
  ...checks,
  [kind]: { ...checks[kind], [of]: { ...checks[kind][of], [name]: () => true } },
});

for (const kind of Object.keys(checks) as (keyof Checks)[])
  for (const side of ['caller', 'role'] as const)
    for (const name of Object.keys(checks[kind][side])) {
      test(`without ${name} of ${kind} somebody may do what they may not`, (t) => {
        t.not(wrong(decideBy(without(kind, side, name))).length, 0);
      });
    }

const anyRequest: fc.Arbitrary<AccessRequest> = fc.oneof(
  fc.record({
    kind: fc.constant('question' as const),
    agent: fc.constantFrom('refunds', 'payments'),
    node: fc.constantFrom('approve', 'pay'),
    to: fc.subarray(['manager', 'board', 'approver', 'operator', 'user', '*']),
    notOwner: fc.boolean(),
    owner: fc.constantFrom('u_carol', 'u_bob'),
  }),
  fc.record({
    kind: fc.constant('admin' as const),
    what: fc.constantFrom('runs' as const, 'threads' as const, 'questions' as const, 'audit' as const),
    contents: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('knowledge' as const),
    scope: fc.constantFrom('own', 'shared:handbook', 'agent:refunds', 'shared:other'),
    action: fc.constantFrom('read' as const, 'write' as const),
  }),
  fc.record({
    kind: fc.constant('share' as const),
    action: fc.constantFrom(...shareRights),
    to: fc.constantFrom({ user: 'bob' }, { role: 'staff' }, { everybody: true as const }),
    rights: fc.subarray([...shareRights]),
    until: fc.constantFrom(undefined, 5, 6),
    now: fc.constant(5),
  }),
);
const anyRoles = fc.subarray([...rules.roles.keys(), 'unknown']);

test('a role more takes nothing away, and one that is unknown gives nothing', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(anyRequest, anyRoles, anyRoles, (request, some, more) => {
        const few = decide(rules, caller('u_bob', ...some), request);
        return (
          (!few || decide(rules, caller('u_bob', ...some, ...more), request)) &&
          decide(rules, caller('u_bob', ...some, 'unknown'), request) === few
        );
      }),
    ),
  );
});

test('no role lets an owner answer a question that the owner may not answer', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        anyRequest,
        anyRoles,
        (request, roles) =>
          request.kind !== 'question' ||
          !decide(rules, caller(request.owner, ...roles), { ...request, notOwner: true }),
      ),
    ),
  );
});

test('without rules nobody is let at anything foreign', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(anyRequest, anyRoles, (request, roles) => {
        const isOwn = request.kind === 'knowledge' && request.scope === 'own';
        const isToAll = request.kind === 'question' && request.to.some((name) => name === '*' || name === 'user');
        const isShared = request.kind === 'share' && 'everybody' in request.to;
        return isOwn || isToAll || isShared || !decide(noRoles, caller('u_dan', ...roles), request);
      }),
    ),
  );
});

test('where nobody signs in questions and knowledge are those of the one owner', (t) => {
  const open = { ...rules, signsIn: false };
  const one = { owner: anonymousOwner };
  t.true(decide(open, one, question({ owner: anonymousOwner })));
  t.false(decide(open, one, question()));
  t.true(decide(open, one, knowledge('shared:handbook', 'write')));
  t.false(decide(open, one, admin('runs')));
});
