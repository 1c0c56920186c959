import { idFrom } from '@agent-workflow/kit/ids';
import { invalid, ServiceError } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { heldMessages } from '@agent-workflow/protos/progress';
import { questionOfOthers } from '@agent-workflow/protos/refusals';
import type { RunEnd } from '@agent-workflow/protos/threads';
import type { AddressedQuestion, Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { fromJson, fromQuestions, toJson } from './json.ts';
import { matchesInterrupts, startsAnew, type Continuing } from './continuing.ts';

// Questions that others than the owner of their thread answer. The head says which of its open questions are such; `question-entries.ts` says how
// they are found by role.

const none: readonly never[] = [];

/**
 * The id by which callers know such a question: every replica derives the same, and it names neither thread nor owner. One that is open again has
 * another, so that an answer to what was answered is none to it.
 */
export const questionIdOf = (
  { owner, threadId }: ThreadKey,
  { id, reopened }: Pick<AddressedQuestion, 'id' | 'reopened'>,
): string =>
  idFrom(JSON.stringify([owner, threadId, id, ...(reopened === undefined ? [] : [reopened])]), 'addressed question');

/** The open questions of a thread that others answer. */
export const openAddressed = ({ addressed = none, openInterrupts }: Head): readonly AddressedQuestion[] =>
  addressed.length === 0 ? none : addressed.filter(({ id }) => openInterrupts.includes(id));

/** Whether the question can be answered now: no run holds its thread. */
export const isAnswerable = (head: Head, id: string): boolean =>
  !head.deleting && head.activeRun === undefined && openAddressed(head).some((question) => question.id === id);

const mostRoles = 16;
const longestRole = 64;
const mostCallers = 20;

/**
 * What a head notes of the questions of a run that ends: those that name roles. Answers that a question has had stay with it where it is asked
 * again. @throws Invalid for one whose roles are none: a worker of a pool can leave anything.
 */
export function addressedBy(
  { status, interruptsJson }: RunEnd,
  { addressed = none }: Head,
  askedAt: number,
): Pick<Head, 'addressed'> {
  if (status !== 'interrupted' || interruptsJson?.includes('"to":') !== true) return {};
  const before = new Map(addressed.map((question) => [question.id, question]));
  const found = fromQuestions(interruptsJson).flatMap((question): AddressedQuestion[] => {
    const { id, to, not_owner: notOwner, quorum, deadline } = question as typeof question & Shown;
    if (to === undefined) return [];
    if (!isRoles(to)) throw invalid(['interrupts'], `has a question whose "to" is no list of roles`);
    const known = before.get(id);
    if (known) return [known];
    const due = typeof deadline === 'string' ? Date.parse(deadline) : NaN;
    return [
      {
        ...{ id, to, askedAt },
        ...(notOwner === true && { notOwner }),
        ...(isQuorum(quorum) && { quorum }),
        ...(Number.isFinite(due) && { deadline: due }),
      },
    ];
  });
  if (found.length === 0) return {};
  refuseOver(toJson(found).byteLength, sizes.waiting, ['interrupts']);
  return { addressed: found };
}

/** The ids of the questions to others that a run ends with. */
export const idsOfAddressed = ({ interruptsJson }: RunEnd): readonly string[] =>
  interruptsJson?.includes('"to":') === true
    ? fromQuestions(interruptsJson).flatMap((question) => ((question as Shown).to === undefined ? [] : [question.id]))
    : none;

/** The roles to which a run that ends has addressed questions, and which nobody can have by the rules with which it was started. */
export function unheardOf({ interruptsJson }: RunEnd, { options }: Pick<RunRecord, 'options'>): readonly string[] {
  const { addressees } = fromJson(options) as { readonly addressees?: readonly string[] };
  if (!addressees) return none;
  const to = fromQuestions(interruptsJson).flatMap((question) => (question as Shown).to ?? []);
  return [...new Set(to)].filter((role): role is string => typeof role === 'string' && !addressees.includes(role));
}

/** What the end of a run shows of such a question. */
interface Shown {
  readonly to?: unknown;
  readonly not_owner?: unknown;
  readonly quorum?: unknown;
}

const isRoles = (to: unknown): to is readonly string[] =>
  Array.isArray(to) &&
  to.length > 0 &&
  to.length <= mostRoles &&
  to.every((role) => typeof role === 'string' && role !== '' && role.length <= longestRole);

const isQuorum = (quorum: unknown): quorum is number =>
  Number.isInteger(quorum) && (quorum as number) > 1 && (quorum as number) <= mostCallers;

/** The questions as they are in a thread that comes to stand at them again with this version: nobody has answered them there, and they wait. */
export const askedAnew = (
  addressed: readonly AddressedQuestion[],
  { version: reopened, updatedAt: askedAt }: Pick<Head, 'version' | 'updatedAt'>,
): readonly AddressedQuestion[] =>
  addressed.map(({ given: _, deadline: _due, ...question }) => ({ ...question, askedAt, reopened }));

/** What of a run decides which questions it answers or drops. */
type Concerning = Continuing & Partial<Pick<RunRecord, 'options'>>;

/** The questions of others that a run answers, drops because it begins anew, or is asked about with other messages. */
function concernedBy(head: Head, run: Concerning): readonly AddressedQuestion[] {
  const open = openAddressed(head);
  if (open.length === 0) return none;
  const { resume } = run;
  if (changesMessages(run)) return open;
  if (resume === undefined) return startsAnew(head, run) ? open : none;
  if (!matchesInterrupts(resume, head)) return none;
  const isNamed = resume.length > 0 && resume.every((key) => head.openInterrupts.includes(key));
  return isNamed ? open.filter(({ id }) => resume.includes(id)) : open;
}

/** Whether a run brings messages or results of tools, or takes messages away. A question may be asked by a call that stands in one. */
const changesMessages = ({ answers, hasNewInput, options }: Concerning): boolean =>
  hasNewInput || answers.length > 0 || (options !== undefined && removesOf(options));

function removesOf(options: Uint8Array): boolean {
  if (!holds(options, '"removes":')) return false;
  return ((fromJson(options) as { readonly removes?: readonly string[] }).removes ?? none).length > 0;
}

const holds = ({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(text);

/** Why a run may not answer or drop a question of others; `undefined` when it may. `settled`: those that it may. */
export function refusalOfRun(
  key: ThreadKey,
  head: Head,
  run: Concerning,
  settled: readonly string[],
): ServiceError | undefined {
  const refused = concernedBy(head, run).find(({ id }) => !settled.includes(id));
  if (!refused) return undefined;
  return run.resume === undefined ? dropped(key, refused) : answered(key, refused);
}

/** @throws Conflict where a thread would drop a question of others that it waits for. */
export function refuseDropping(key: ThreadKey, head: Head, settled: readonly string[] = none): void {
  const refused = openAddressed(head).find(({ id }) => !settled.includes(id));
  if (refused) throw dropped(key, refused);
}

/** @throws Conflict where messages are written that a question of others may be about: what they approve is what they were asked. */
export function refuseRewriting(key: ThreadKey, head: Head): void {
  const [question] = openAddressed(head);
  if (question) throw refusal('Conflict', key, question, 'until then no message of it is written, replaced or removed');
}

const dropped = (key: ThreadKey, question: AddressedQuestion): ServiceError =>
  refusal('Conflict', key, question, 'this would drop it');

const answered = (key: ThreadKey, question: AddressedQuestion): ServiceError =>
  refusal('PermissionDenied', key, question, 'this caller does not answer it here: who may answers it by its id');

function refusal(
  code: 'Conflict' | 'PermissionDenied',
  key: ThreadKey,
  question: AddressedQuestion,
  why: string,
): ServiceError {
  const questionId = questionIdOf(key, question);
  const message = `thread "${key.threadId}" waits for an answer of ${question.to.join(' or ')} to question "${questionId}": ${why}`;
  return new ServiceError(code, message, {
    details: [{ field: ['questions', questionId], msg: message, type: questionOfOthers }],
  });
}

/** @throws Conflict for one answer to a question that takes several: it has a call of its own. */
export function refuseQuorum(key: ThreadKey, head: Head, mayAnswer: readonly string[], run: Continuing): void {
  if (run.resume === undefined) return;
  const several = concernedBy(head, run).find(({ id, quorum = 1 }) => quorum > 1 && mayAnswer.includes(id));
  if (!several) return;
  throw new ServiceError(
    'Conflict',
    `question "${questionIdOf(key, several)}" takes the answers of ${String(several.quorum)} callers: each answers it by its id`,
  );
}

interface Options {
  readonly mayAnswer?: readonly string[];
}

/** The questions of others that the run was accepted to answer or to drop. */
export function settledIn({ options }: Pick<RunRecord, 'options'>): readonly string[] {
  if (!holds(options, '"mayAnswer":')) return none;
  return (fromJson(options) as Options).mayAnswer ?? none;
}

/** The run with the questions of others that it may answer or drop, for the claim that comes later. */
export function settling(run: RunRecord, head: Head, settled: readonly string[]): RunRecord {
  if (settled.length === 0 || openAddressed(head).length === 0) return run;
  return { ...run, options: toJson({ ...(fromJson(run.options) as Options), mayAnswer: settled }) };
}

/** The head of a thread whose owner stops the run that asked: the node never runs on, and the next message begins anew. */
export function withoutQuestions({ interruptedRun: _, addressed: _questions, progress, ...head }: Head): Head {
  return { ...head, openInterrupts: [], next: [], ...(heldMessages(progress) && progress && { progress }) };
}
