import { defaultAgent } from '@agent-workflow/kit/agents';
import { eachOf } from '@agent-workflow/kit/each';
import { conflict } from '@agent-workflow/kit/errors';
import { userIdOf } from '@agent-workflow/kit/ids';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head } from '../ports/record.ts';
import type { ResourceKey, ResourceRecords } from '../ports/resources.ts';
import { openAddressed } from '../record/addressed.ts';
import { agentOf } from '../record/head.ts';
import { fromEntry, isAt, ofOwner, ofPlace, readPlace } from '../record/question-entries.ts';

interface QuestionBoundOptions {
  readonly store: Pick<ThreadReads, 'getHead'> &
    Pick<ResourceRecords, 'getResource' | 'deleteResource' | 'countResources' | 'listResourceMarks'>;
  readonly now: () => number;
  /** So many questions to others one owner may have of one agent. */
  readonly most: number;
}

/**
 * Bounds how many questions to others one owner may have, so that the questions of no other are hidden among them: those that are open, and those
 * that were asked in the last ten minutes. Where callers do not sign in there is no bound: all of them are one owner.
 */
export interface QuestionBound {
  /** Why so many more may not be opened; `undefined` when they may. Of several at the same moment some may pass the bound. */
  readonly refusal: (owner: string, agent: string, more: number) => Promise<string | undefined>;
  /** @throws Conflict when the questions of a head may not be opened. */
  readonly refuseOpening: (owner: string, head: Head | undefined) => Promise<void>;
}

/** An entry that is younger counts whatever has become of its question, in milliseconds: nobody opens and drops them in a loop. */
const youngMs = 10 * 60_000;
const atOnce = 16;

export function createQuestionBound({ store, now, most }: QuestionBoundOptions): QuestionBound {
  const isOpen = async (questionId: string): Promise<boolean> => {
    const row = await store.getResource(ofPlace(questionId));
    const place = row && readPlace(row.json);
    const head = place && (await store.getHead(place));
    return place !== undefined && head?.deleting === false && head.addressed?.some(isAt(place)) === true;
  };

  const removeStale = async (of: Pick<ResourceKey, 'kind' | 'owner'>): Promise<void> =>
    eachOf(await store.listResourceMarks(of, { limit: most }), atOnce, async ({ id }) => {
      const { askedAt, questionId } = fromEntry(id);
      if (now() - askedAt > youngMs && !(await isOpen(questionId))) await store.deleteResource({ ...of, id }, 1);
    });

  const refusal: QuestionBound['refusal'] = async (owner, agent, more) => {
    if (more === 0 || userIdOf(owner) === undefined) return undefined;
    const of = ofOwner(owner, agent);
    const isOver = async (): Promise<boolean> => (await store.countResources(of, most)) + more > most;
    if (!(await isOver())) return undefined;
    await removeStale(of);
    return (await isOver())
      ? `one owner may have ${String(most)} questions to others of agent "${agent}" that are open or were asked in the last ten minutes (OPEN_QUESTIONS)`
      : undefined;
  };

  return {
    refusal,
    refuseOpening: async (owner, head) => {
      const more = head ? openAddressed(head).length : 0;
      const why = head && (await refusal(owner, agentOf(head) ?? defaultAgent, more));
      if (why !== undefined) throw conflict(why);
    },
  };
}
