import { cursorsByTime, type Cursors } from '@agent-workflow/kit/cursors';
import { eachOf } from '@agent-workflow/kit/each';
import { notFound } from '@agent-workflow/kit/errors';
import { pageBytes } from '@agent-workflow/kit/pages';
import type { ListQuestionsRequest, Question, QuestionCalls } from '@agent-workflow/protos/threads';
import type { ThreadReads } from '../ports/reads.ts';
import type { AddressedQuestion, Head, RunRecord, ThreadKey } from '../ports/record.ts';
import type { ResourceKey, ResourceRecords } from '../ports/resources.ts';
import { isAnswerable, questionIdOf } from '../record/addressed.ts';
import { agentOf } from '../record/head.ts';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { fromQuestions, toJson } from '../record/json.ts';
import {
  entriesOf,
  fromEntry,
  isAt,
  keysOf,
  ofDays,
  ofPlace,
  ofRole,
  readPlace,
  sweptAfterMs,
  type QuestionEntry,
  type QuestionPlace,
} from '../record/question-entries.ts';
import { senderOf } from '../record/sender.ts';

interface QuestionCallsOptions {
  readonly store: ThreadReads & ResourceRecords;
  readonly now: () => number;
}

/** The most questions that one list orders, of those the most of one owner, the most entries that it reads for them, and the most days of one role. */
const mostListed = 10_000;
const mostOfOwner = 500;
const mostRead = 30_000;
const mostDays = 400;
/** Days that are read together. */
const daysAtOnce = 8;
/** An entry that is younger may stand before its question is on record, in milliseconds. */
const youngMs = 10 * 60_000;
/** Questions that are read together. */
const atOnce = 16;
/** So many stale entries, for each that it may show, are passed by one page. */
const stalePerShown = 4;
/** A day that has passed by so much has no new entries, in milliseconds: clocks differ. */
const settledMs = 2 * 24 * 3_600_000;

/** The calls that find questions which others than the owner of their thread answer. Each entry is checked against its thread. */
export function createQuestionCalls({ store, now }: QuestionCallsOptions): QuestionCalls {
  const entriesOfDay = async (role: string, day: string, limit: number): Promise<readonly Found[]> => {
    const of = ofRole(role, day);
    const marks = await store.listResourceMarks(of, { limit });
    if (marks.length === 0 && now() - Date.parse(day) > settledMs)
      await store.deleteResource({ ...ofDays(role), id: day }, 1);
    return marks.map(({ id }) => ({ ...fromEntry(id), keys: [{ ...of, id }] }));
  };

  /** The entries of the roles, the newest days first, each question once, and whether there are more. */
  const listed = async (
    roles: readonly string[],
    isMeant: (entry: QuestionEntry) => boolean,
  ): Promise<{ readonly entries: readonly Found[]; readonly atLeast: boolean }> => {
    const found = new Map<string, Found>();
    const ofOwners = new Map<string, number>();
    let left = mostRead;
    let atLeast = false;
    const add = (one: Found): void => {
      const known = found.get(one.questionId);
      const ofOwner = ofOwners.get(one.ownerHash) ?? 0;
      if (known) found.set(one.questionId, { ...known, keys: [...known.keys, ...one.keys] });
      else if (found.size >= mostListed || ofOwner >= mostOfOwner) atLeast = true;
      else {
        found.set(one.questionId, one);
        ofOwners.set(one.ownerHash, ofOwner + 1);
      }
    };
    for (const role of new Set(roles)) {
      const days = (await store.listResourceMarks(ofDays(role), { limit: mostDays })).map(({ id }) => id);
      for (let from = 0; from < days.length; from += daysAtOnce) {
        if (left === 0) return { entries: [...found.values()], atLeast: true };
        const limit = Math.min(left, mostListed);
        const some = days.slice(from, from + daysAtOnce);
        const all = (await Promise.all(some.map((day) => entriesOfDay(role, day, limit)))).flat();
        if (all.length > left) atLeast = true;
        left = Math.max(0, left - all.length);
        all.filter(isMeant).forEach(add);
      }
    }
    return { entries: [...found.values()], atLeast };
  };

  const read = async (questionId: string): Promise<Question | undefined> => {
    const row = await store.getResource(ofPlace(questionId));
    const place = row && readPlace(row.json);
    return place && readQuestion(store, place);
  };

  /** The question of an entry. An entry of none is removed, unless it is so young that its question may be about to come. */
  const checked = async ({ questionId, keys, askedAt }: Found): Promise<Question | undefined> => {
    const question = await read(questionId);
    if (question === undefined && now() - askedAt > youngMs) for (const key of keys) await store.deleteResource(key, 1);
    return question?.isHeld ? undefined : question;
  };

  return {
    getQuestion: async ({ questionId }) => {
      const row = await store.getResource(ofPlace(questionId));
      const place = row && readPlace(row.json);
      if (!place) throw notFound(`question "${questionId}" does not exist`);
      const question = await readQuestion(store, place);
      return question ?? closedAt(questionId, place);
    },

    listQuestions: async (request) => {
      const { roles, agent, limit, cursor } = request;
      const { toCursor, fromCursor } = questionsCursors(request);
      const after = cursor === undefined ? undefined : fromCursor(cursor);
      const markOf = (entry: QuestionEntry): Mark => ({ time: timeOf(request, entry), text: entry.questionId });
      const known = await listed(roles, (entry) => agent === undefined || entry.agent === agent);
      const whole = known.atLeast ? { atLeast: true } : {};
      const entries = known.entries
        .filter((entry) => after === undefined || compare(markOf(entry), after) > 0)
        .toSorted((a, b) => compare(markOf(a), markOf(b)));
      const questions: Question[] = [];
      let left = pageBytes;
      let last: Found | undefined;
      for (let from = 0; from < entries.length; from += atOnce) {
        const some = entries.slice(from, from + atOnce);
        const found = new Map<Found, Question | undefined>();
        await eachOf(some, atOnce, async (entry) => {
          found.set(entry, await checked(entry));
        });
        for (const entry of some) {
          const question = found.get(entry);
          left -= question ? bytesOf(question) : 0;
          const isFull = question && (questions.length === limit || (questions.length > 0 && left < 0));
          if (isFull || from >= limit * stalePerShown + atOnce)
            return { questions, ...whole, ...(last && { cursor: toCursor(markOf(last)) }) };
          if (question) questions.push(question);
          last = entry;
        }
      }
      return { questions, ...whole };
    },
  };
}

/** What is known of a question that is not open any more. */
const closedAt = (questionId: string, { owner, threadId, id, to }: QuestionPlace): Question => ({
  ...{ questionId, owner, threadId, interruptId: id, to, isClosed: true },
  ...{ runId: '', agent: '', node: '', notOwner: true, quorum: 1, answeredBy: [], askedAt: 0, valueJson: toJson(null) },
});

interface Found extends QuestionEntry {
  /** Its entries, one of each role. */
  readonly keys: readonly ResourceKey[];
}

/** The place of a question in the order of a list. */
interface Mark {
  readonly time: number;
  readonly text: string;
}

/** Those without a deadline come last. */
const timeOf = ({ byDeadline }: ListQuestionsRequest, { askedAt, deadline }: QuestionEntry): number =>
  byDeadline === true ? (deadline ?? Number.MAX_SAFE_INTEGER) : askedAt;

const compare = (a: Mark, b: Mark): number => a.time - b.time || (a.text < b.text ? -1 : a.text === b.text ? 0 : 1);

const questionsCursors = ({ roles, agent, byDeadline = false }: ListQuestionsRequest): Cursors<Mark> =>
  cursorsByTime(['questions', [...new Set(roles)].toSorted(), agent ?? null, byDeadline], {
    toParts: ({ time, text }) => [time, text],
    fromParts: (time, text) => ({ time, text }),
  });

const bytesOf = ({ valueJson, defaultJson }: Question): number =>
  valueJson.byteLength + (defaultJson?.byteLength ?? 0) + otherBytes;
const otherBytes = 1024;

/** The question at a place; `undefined` when its thread does not ask it any more. */
async function readQuestion(store: ThreadReads, place: QuestionPlace): Promise<Question | undefined> {
  const head = await store.getHead(place);
  const addressed = head?.deleting === false ? head.addressed?.find(isAt(place)) : undefined;
  if (!head || !addressed) return undefined;
  const isHeld = head.activeRun !== undefined;
  if (!isHeld && !isAnswerable(head, place.id)) return undefined;
  // A run that has begun with an answer stands in the place of the one that asked, whose id begins that of the question.
  const asking = await store.getRun(place.owner, head.interruptedRun ?? place.id.slice(0, place.id.indexOf('/')));
  const shown = fromQuestions(asking?.end?.interruptsJson).find(({ id }) => id === place.id);
  const question = asking && shown && toQuestion(place, { head, addressed, asking, shown });
  if (!isHeld) return question;
  return { ...(question ?? closedAt(questionIdOf(place, addressed), place)), isHeld };
}

interface Asked {
  readonly head: Head;
  readonly addressed: AddressedQuestion;
  readonly asking: RunRecord;
  readonly shown: ReturnType<typeof fromQuestions>[number];
}

function toQuestion(key: ThreadKey, { head, addressed, asking, shown }: Asked): Question {
  // A fork asks what a run of another thread has asked.
  const runId = asking.threadId === key.threadId ? asking.runId : '';
  const sender = senderOf(asking);
  // While its deadline counts.
  const counts = asking.wakeAt !== undefined;
  const { id, to, notOwner = false, quorum = 1, askedAt, deadline, given } = addressed;
  const { node } = shown as { readonly node?: unknown };
  return {
    ...{ questionId: questionIdOf(key, addressed), owner: key.owner, threadId: key.threadId, runId, interruptId: id },
    ...{ agent: agentOf(head) ?? defaultAgent, node: typeof node === 'string' ? node : '' },
    ...{ to, notOwner, quorum, answeredBy: given?.by.map(({ by }) => by) ?? [], askedAt },
    ...(sender !== undefined && { sender }),
    valueJson: toJson(shown.value ?? null),
    ...(deadline !== undefined && counts && { deadline }),
    ...(counts && 'default' in shown && { defaultJson: toJson(shown.default) }),
  };
}

/** Removes the places of questions that are not open any more, with their entries; of the others makes those that lack, and looks at them again in a day. */
export async function sweepQuestions(
  store: ThreadReads & ResourceRecords,
  now: number,
  limit: number,
): Promise<number> {
  const due = await store.listDueResources('question', { until: now, limit });
  for (const { owner, id, version } of due) {
    const key = { kind: 'question', owner, id } as const;
    const row = await store.getResource(key);
    if (row?.version !== version) continue;
    const place = readPlace(row.json);
    const head = place && (await store.getHead(place));
    const question = place && head?.deleting === false ? head.addressed?.find(isAt(place)) : undefined;
    if (!place || !head || !question) {
      for (const entry of place ? keysOf(place) : []) await store.deleteResource(entry, 1);
      await store.deleteResource(key, version);
      continue;
    }
    for (const write of entriesOf(place, head, question)) if (write.id !== id) await store.putResource(write);
    const attempt = questionIdOf(place, { id: `${place.id}/${String(version)}` });
    await store.putResource({
      ...key,
      version: version + 1,
      at: now,
      json: row.json,
      attempt,
      dueAt: now + sweptAfterMs,
    });
  }
  return due.length;
}
