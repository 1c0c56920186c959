import { defaultAgent } from '@agent-workflow/kit/agents';
import { ServiceError } from '@agent-workflow/kit/errors';
import { revisionFor } from '@agent-workflow/protos/routing';
import { iterationsIn } from '@agent-workflow/protos/progress';
import { isRetired } from '../agents/routing.ts';
import type { RoutingsByAgent } from '../agents/routings.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { agentOf, without } from '../record/head.ts';

/** What decides which revision serves a run. */
export interface Serving {
  readonly thread: ThreadKey;
  readonly routings: RoutingsByAgent;
}

/** The head with this revision for the run that holds the thread. */
const withRevision = (head: Head, revision: string | undefined): Head =>
  revision === undefined ? without(head, 'revision') : { ...head, revision };

/** Thrown by a decision: another replica may have given the thread its last revision by a newer routing. It is made again by one that is read anew. */
export class OldRoutings extends ServiceError {
  constructor() {
    super('Unavailable', 'the routing of the agent changes just now');
  }
}

/** How far the clocks of two replicas may be apart, in milliseconds. */
const clocksApartMs = 1000;

/** Replicas learn of a routing one after the other. Without this, runs of one thread would go back and forth meanwhile. */
function refuseOld({ lastRevision, updatedAt }: Head, routings: RoutingsByAgent, revision: string | undefined): void {
  const { readAt = Infinity } = routings;
  if (lastRevision !== undefined && revision !== lastRevision && readAt <= updatedAt + clocksApartMs)
    throw new OldRoutings();
}

/**
 * Fixes the revision of the run that is about to hold the thread. A run that answers goes to the revision that asked, as long as that is
 * not retired; any other goes where its agent is routed.
 * @throws OldRoutings
 */
export function fixRevision(
  head: Head,
  { thread, routings }: Serving,
  { answers }: { readonly answers: boolean },
): Head {
  const agent = agentOf(head) ?? defaultAgent;
  const routing = routings.get(agent);
  const { lastRevision } = head;
  const goesBack = answers && lastRevision !== undefined && !isRetired(routing, lastRevision);
  const revision = goesBack ? lastRevision : revisionFor(routing, thread, agent);
  refuseOld(head, routings, revision);
  return withRevision(head, revision);
}

/**
 * Fixes the revision of the run that got the thread at the end of the run before it. Its input is not read here: while the thread waits for
 * answers, that run is taken for one that answers, so that the node that asked is there.
 */
export function fixNextRevision(head: Head, serving: Serving): Head {
  if (head.activeRun === undefined) return head;
  return fixRevision(head, serving, { answers: head.interruptedRun !== undefined || head.openCalls.length > 0 });
}

/** The head with the revision of a run that begins noted for the answers to what that run may ask. */
export const noteRevision = (head: Head): Head =>
  head.revision === undefined ? without(head, 'lastRevision') : { ...head, lastRevision: head.revision };

/** The run with the revision that the head of its thread has for it. */
export const servedRun = (run: RunRecord, { revision }: Pick<Head, 'revision'>): RunRecord =>
  revision === undefined ? without(run, 'revision') : { ...run, revision };

/** Whether a worker may claim the run that holds the thread: its own revision, and every run without one. */
export const mayServe = (worker: string | undefined, { revision }: Pick<Head, 'revision'>): boolean =>
  revision === undefined || revision === worker;

/** Whether the run that holds the thread is of a revision that was taken out of use. */
export const isOfRetired = (head: Head, routings: RoutingsByAgent): boolean =>
  head.revision !== undefined && isRetired(routings.get(agentOf(head) ?? defaultAgent), head.revision);

/** What becomes of a run that holds its thread, as to its revision. */
interface Settled {
  /** The head with the revision that the run has now. */
  readonly head: Head;
  readonly isMoved: boolean;
  /** The revision is retired, and the run has steps of it: no other can continue them. */
  readonly isLost: boolean;
}

/** Whether the run that holds the thread has committed a step. */
const hasCommits = (head: Head, run: RunRecord): boolean =>
  head.foundVersion !== undefined && run.input === undefined && head.step > 0;

/** The iterations that the run has committed. Before its first commit the head has the progress of the run before it. */
export const committedIterations = (head: Head, run: RunRecord): number =>
  head.activeRun === run.runId && hasCommits(head, run) ? iterationsIn(head.progress) : 0;

/** A run of a retired revision moves to where its agent is routed, unless it has committed a step. */
export function settleRevision(head: Head, run: RunRecord, serving: Serving): Settled {
  if (!isOfRetired(head, serving.routings)) return { head, isMoved: false, isLost: false };
  if (hasCommits(head, run)) return { head, isMoved: false, isLost: true };
  return { head: fixRevision(head, serving, { answers: false }), isMoved: true, isLost: false };
}
