import { defaultAgent } from '@agent-workflow/kit/agents';
import { idFrom } from '@agent-workflow/kit/ids';
import type { Snapshot } from '../ports/changes.ts';
import type { AddressedQuestion, Head, ThreadKey } from '../ports/record.ts';
import type { ResourceKey, ResourceWrite } from '../ports/resources.ts';
import { isAnswerable, openAddressed, questionIdOf } from './addressed.ts';
import { fromJson, toJson } from './json.ts';

// How questions of all owners are found by role: objects of kind `question`, whose owner is no owner of threads. They are derived
// from the head and written with the change that opens the question; one that is stale is removed when it is read, or by the sweep.
//
// - owner `id:QUESTION`: where the question is. It is swept after a day, and stays while the question is open.
// - owner `role:DAY:ROLE`: the questions of one role that were asked on one day. A day bounds the deleted rows that a list passes in Cassandra.
// - owner `days:ROLE`: the days of a role.
// - owner `of:HASH`: the questions of one owner and agent, which are bounded.
//
// All but the first never change: a store writes them without a condition, and nobody waits for another at a row of everybody's.
//
// The role `:all` stands for every question: roles that nobody has are found there, too. No role has this name.

/** Where a question is. */
export interface QuestionPlace extends ThreadKey {
  /** Its id in its run. */
  readonly id: string;
  /** Its entry among those of its roles. */
  readonly entry: string;
  readonly day: string;
  readonly to: readonly string[];
}

/** What the id of an entry says of its question. */
export interface QuestionEntry {
  readonly questionId: string;
  readonly askedAt: number;
  readonly deadline?: number;
  /** Stands for the owner of its thread: of many questions of one owner a list shows a part. */
  readonly ownerHash: string;
  readonly agent: string;
}

/** In place of a role: every question. */
const allRoles = ':all';

/** How long it takes until a place is swept, in milliseconds. */
export const sweptAfterMs = 24 * 3_600_000;

const kind = 'question';

export const ofPlace = (questionId: string): ResourceKey => ({ kind, owner: `id:${questionId}`, id: questionId });
export const ofRole = (role: string, day: string): Pick<ResourceKey, 'kind' | 'owner'> => ({
  kind,
  owner: `role:${day}:${role}`,
});
export const daysPrefix = 'days:';
export const ofDays = (role: string): Pick<ResourceKey, 'kind' | 'owner'> => ({ kind, owner: `${daysPrefix}${role}` });
export const ofOwner = (owner: string, agent: string): Pick<ResourceKey, 'kind' | 'owner'> => ({
  kind,
  owner: `of:${idFrom(JSON.stringify([owner, agent]), 'owner and agent of questions')}`,
});

/** The day of a time, as `2026-11-30`. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

const digits = 13;
const never = 'never';

const toEntry = ({ questionId, askedAt, deadline, ownerHash, agent }: QuestionEntry): string =>
  [
    String(askedAt).padStart(digits, '0'),
    deadline === undefined ? never : String(deadline).padStart(digits, '0'),
    questionId,
    ownerHash,
    agent,
  ].join('/');

export function fromEntry(entry: string): QuestionEntry {
  const [askedAt, deadline = never, questionId = '', ownerHash = '', ...agent] = entry.split('/');
  return {
    ...{ questionId, askedAt: Number(askedAt), ownerHash, agent: agent.join('/') },
    ...(deadline !== never && { deadline: Number(deadline) }),
  };
}

/** Where the question of a thread is. */
const placeOf = (key: ThreadKey, { agent = defaultAgent }: Head, question: AddressedQuestion): QuestionPlace => {
  const { id, to, askedAt, deadline } = question;
  const { owner, threadId } = key;
  const questionId = questionIdOf(key, question);
  const ownerHash = idFrom(owner, 'owner of questions').slice(-12);
  const entry = toEntry({ questionId, askedAt, ownerHash, agent, ...(deadline !== undefined && { deadline }) });
  return { owner, threadId, id, to: [...to, allRoles], entry, day: dayOf(askedAt) };
};

/** A place; `undefined` for what is none. */
export function readPlace(json: Uint8Array): QuestionPlace | undefined {
  try {
    const place = fromJson(json) as Partial<QuestionPlace> | null;
    const texts = [place?.owner, place?.threadId, place?.id, place?.entry, place?.day];
    return Array.isArray(place?.to) && texts.every((text) => typeof text === 'string')
      ? (place as QuestionPlace)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a question of a thread is the one whose place this is. */
export const isAt =
  (place: QuestionPlace) =>
  (question: AddressedQuestion): boolean =>
    question.id === place.id && questionIdOf(place, question) === fromEntry(place.entry).questionId;

/** The entries of the question at a place. */
export const keysOf = ({ owner, entry: id, day, to }: QuestionPlace): readonly ResourceKey[] => [
  { ...ofOwner(owner, fromEntry(id).agent), id },
  ...to.map((role) => ({ ...ofRole(role, day), id })),
];

/** The writes by which a question is found. Made again they change nothing. */
export function entriesOf(key: ThreadKey, head: Head, question: AddressedQuestion): readonly ResourceWrite[] {
  const place = placeOf(key, head, question);
  const at = question.askedAt;
  const write = (of: ResourceKey, value: object): ResourceWrite => ({
    ...{ ...of, version: 1, at, json: toJson(value) },
    attempt: idFrom(JSON.stringify([of.owner, of.id]), 'question entry'),
  });
  const days = place.to.map((role) => ({ ...ofDays(role), id: place.day }));
  return [
    { ...write(ofPlace(fromEntry(place.entry).questionId), place), dueAt: at + sweptAfterMs },
    ...[...days, ...keysOf(place)].map((of) => ({ ...write(of, {}), isFinal: true as const })),
  ];
}

/** The writes for the questions that a change opens. */
export function opened(key: ThreadKey, head: Head, before: Snapshot['head']): readonly ResourceWrite[] {
  return openAddressed(head)
    .filter(({ id }) => isAnswerable(head, id) && !(before && isAnswerable(before, id)))
    .flatMap((question) => entriesOf(key, head, question));
}
