import type { PassDeadlineReply, PassDeadlineRequest } from '@agent-workflow/protos/threads';
import type { RoutingsByAgent } from '../agents/routings.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { Head, RunRecord } from '../ports/record.ts';
import { fromQuestions } from '../record/json.ts';
import type { Undone } from '../history/overlay.ts';
import { decideAccept } from './accept.ts';
import { acceptanceAsAsked } from './as-asked.ts';
import { runOfDeadline, type PassedOptions } from './late-answer.ts';

/** A question with a deadline, as the end of the run shows it that asked. */
interface DueQuestion {
  readonly id: string;
  readonly deadline: string;
  readonly default?: unknown;
}

/** The questions with deadlines that the run ended with, the earliest first. Empty where they cannot be read. */
export const questionsWithDeadline = ({ end }: Pick<RunRecord, 'end'>): readonly DueQuestion[] =>
  fromQuestions(end?.interruptsJson)
    .filter((one): one is DueQuestion => typeof one.deadline === 'string' && Number.isFinite(Date.parse(one.deadline)))
    .toSorted((a, b) => Date.parse(a.deadline) - Date.parse(b.deadline) || (a.id < b.id ? -1 : 1));

interface Passing {
  readonly now: number;
  readonly routings: RoutingsByAgent;
  readonly undone: Undone;
}

/**
 * Accepts the run that goes on with the defaults, if the first deadline of the questions of the interrupted run has passed and the thread
 * still waits for their answers. Where something else has come instead, the deadline is taken from the run.
 */
export function decidePassDeadline(
  request: PassDeadlineRequest,
  snapshot: Snapshot,
  { now, ...deciding }: Passing,
): Decision<PassDeadlineReply> {
  const { head, runs } = snapshot;
  const asking = runs.get(request.runId);
  if (!head || head.deleting || asking?.wakeAt === undefined || asking.status !== 'interrupted')
    return { reply: startedBy(head, runs, asking) };
  if (head.interruptedRun !== asking.runId) return over(head, asking);
  if (asking.wakeAt > now) return { reply: { isEarly: true } };
  // The run that holds the thread may leave it as it was: then the questions are open again.
  if (head.activeRun !== undefined) return { reply: { isEarly: false } };
  const open = questionsWithDeadline(asking).filter(({ id }) => head.openInterrupts.includes(id));
  const [first] = open;
  if (!first) return over(head, asking);
  // The clock of the worker that asked may have been ahead: the first is due.
  const until = Math.max(now, Date.parse(first.deadline));
  const due = open.filter(({ deadline }) => Date.parse(deadline) <= until);
  const { change, reply } = decideAccept(
    acceptanceAsAsked(request, {
      ...{ head, asking, runId: runOfDeadline(first.id) },
      ...{ requestId: asking.requestId, keys: due.map(({ id }) => id), given: passedOf(due) },
    }),
    { ...snapshot, ...deciding, resumed: undefined, held: undefined, settled: due.map(({ id }) => id) },
    now,
  );
  if (!change) return { reply: { runId: reply.runId, isEarly: false } };
  const { answered, ...rest } = change;
  return {
    change: { ...rest, runs: [...(rest.runs ?? []), withoutDeadline(answered ?? asking)] },
    reply: startedReply(reply.runId, change.head),
  };
}

const startedReply = (runId: string, { agent, revision }: Head): PassDeadlineReply => ({
  ...{ runId, isEarly: false },
  ...(agent === undefined ? {} : { agent }),
  ...(revision === undefined ? {} : { revision }),
});

/** The run that an earlier attempt at the same request has accepted, while it waits for a worker. */
function startedBy(head: Head | undefined, runs: Snapshot['runs'], asking: RunRecord | undefined): PassDeadlineReply {
  const [first] = asking ? questionsWithDeadline(asking) : [];
  const run = first && runs.get(runOfDeadline(first.id));
  return run && head && !head.deleting && head.activeRun === run.runId
    ? startedReply(run.runId, head)
    : { isEarly: false };
}

const withoutDeadline = ({ wakeAt: _, ...run }: RunRecord): RunRecord => run;

const over = (head: Head, asking: RunRecord): Decision<PassDeadlineReply> => ({
  change: { head, runs: [withoutDeadline(asking)] },
  reply: { isEarly: false },
});

const passedOf = (due: readonly DueQuestion[]): PassedOptions => ({
  resume: Object.fromEntries(due.flatMap((one) => ('default' in one ? [[one.id, one.default]] : []))),
  passed: due.map(({ id, deadline }) => ({ id, deadline })),
});
