import { isServiceError } from '@agent-workflow/kit/errors';
import { userIdOf } from '@agent-workflow/kit/ids';
import type { Addressed } from '@agent-workflow/protos/addressed';
import type { Answering } from '@agent-workflow/protos/execution';
import { questionOfOthers } from '@agent-workflow/protos/refusals';
import type { Question, Run } from '@agent-workflow/protos/threads';
import { decide } from '../../access/decide.ts';
import type { AccessRules } from '../../access/rules.ts';
import { ofKey } from '../../api-keys/scopes.ts';
import type { EndpointRequest } from '../../http/endpoint.ts';
import type { Services } from './services.ts';

/** Who answers: what the record notes of them. */
export const answererOf = ({
  owner,
  sender = owner,
  dialect,
  user,
}: Pick<EndpointRequest, 'owner' | 'sender' | 'dialect' | 'user'>): Answering => {
  const { keyId } = ofKey(user);
  return { by: principalOf(sender), client: dialect, ...(keyId !== undefined && { key: keyId }) };
};

/** The id of a principal, as people know it; of callers who do not sign in, that of their owner. */
export const principalOf = (owner: string): string => userIdOf(owner) ?? owner;

type Caller = Pick<EndpointRequest, 'owner' | 'sender' | 'roles'>;

/**
 * Whether the caller may answer a question that is not to the owner alone. Who has sent the request of the run that asks counts as its owner.
 */
export const mayAnswer = (
  access: AccessRules,
  { owner, sender = owner, roles }: Caller,
  { agent, node, to, notOwner, owner: askedFor, sender: askedBy, isClosed = false }: Question,
): boolean =>
  !isClosed &&
  !(notOwner && askedBy === sender) &&
  decide(
    access,
    { owner: sender, ...(roles && { roles }) },
    { kind: 'question', agent, node, to, notOwner, owner: askedFor },
  );

/** Whether the caller, whose run asks this, may answer it here; one that takes several answers has an address of its own. */
export const answersHere = (
  access: AccessRules,
  caller: Pick<Caller, 'owner' | 'roles'>,
  { agent, node, to, not_owner: notOwner = false, quorum = 1 }: Addressed & Pick<Question, 'agent' | 'node'>,
): boolean =>
  to === undefined ||
  (quorum === 1 && decide(access, caller, { kind: 'question', agent, node, to, notOwner, owner: caller.owner }));

/** The run that was the first to ask: the id of a question begins with it. */
export const askingRunId = (questionId: string): string => questionId.slice(0, 36);

const question = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\/\d{1,10}\//;

/** Whether an id is that of a question: it begins with a run and a step. */
export const isQuestionId = (id: string): boolean => question.test(id);

/** A question of a run that has ended with questions. */
type Asked = Addressed & { readonly id: string };

/** What an interrupted run asks. */
export const askedBy = ({ end }: Pick<Run, 'end'>): readonly Asked[] =>
  end?.interruptsJson === undefined ? [] : (JSON.parse(end.interruptsJson) as readonly Asked[]);

/** Whether an interrupted run asks others than the owner of its thread. */
export const waitsForOthers = (run: Pick<Run, 'end'>): boolean => askedBy(run).some(({ to }) => to !== undefined);

/** So many answers, one behind the other, are followed at most. */
const mostAnswers = 100;

/** The run to which the answers have led that others gave to what a run asked: the run itself where they gave none. */
export async function behindAnswers(
  run: Run,
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { threads }: Pick<Services, 'threads'>,
): Promise<Run> {
  let last = run;
  for (let read = 0; read < mostAnswers && last.resumedBy !== undefined && waitsForOthers(last); read++)
    last = await threads.getRun({ owner, runId: last.resumedBy }, call());
  return last;
}

/** The names under which a question may be addressed to the caller: of their roles, the levels of these, and everybody's. */
export const addressesOf = ({ roles: known }: AccessRules, roles: readonly string[] = []): readonly string[] => [
  ...new Set(['*', 'user', ...roles, ...roles.flatMap((name) => known.get(name)?.is ?? [])]),
];

/** Every name under which a question may be addressed to anybody who signs in. */
export const addresseesIn = ({ roles: known }: AccessRules): readonly string[] => [
  ...new Set(['*', 'user', ...[...known].flatMap(([name, { is }]) => [name, is])]),
];

/** In place of a role: every question. */
export const everyQuestion = ':all';

/** Whether the caller finds every question: an admin, and everybody where nobody signs in. */
export const findsAll = ({ roles: known, signsIn }: AccessRules, roles: readonly string[] = []): boolean =>
  !signsIn || roles.some((name) => known.get(name)?.is === 'admin');

/** The id of the question of others because of which the record has refused a run; `undefined` for any other error. */
export function refusedQuestion(error: unknown): string | undefined {
  if (!isServiceError(error, 'PermissionDenied') && !isServiceError(error, 'Conflict')) return undefined;
  const detail = error.details.find(({ type }) => type === questionOfOthers);
  const id = detail?.field.at(-1);
  return typeof id === 'string' ? id : undefined;
}
