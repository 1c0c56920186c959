import type { EndpointRequest } from '../../../http/endpoint.ts';
import { fieldDefaults, graphFacts } from '../../common/graph-facts.ts';
import { endOfRun, type AwaitedRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { leftBy } from '../frames/run-story.ts';
import { toError } from '../out/error.ts';
import { questionsIn, toInterrupt, withInterrupts } from '../out/interrupts.ts';
import type { Output } from '../out/output.ts';
import { valuesText } from '../out/values.ts';
import { readValues } from './thread-values.ts';

/** Checkpoints that are read at a time, at first: that of a run that has just ended is among these. */
const newest = 20;
const atOnce = 200;
/** Checkpoints that one request looks at, at most. */
const most = 10_000;

type Waited = Pick<AwaitedRun, 'runId' | 'threadId' | 'justStarted' | 'end'> & {
  /** Its graph. */
  readonly agent: string;
};

/**
 * Waits for the end of a run, and gives the values that it left, as far as its graph gives them out; with the questions that it asks as `__interrupt__`, and of one that failed why, as
 * `__error__`. A run that never began shows its thread as it is.
 */
export async function valuesOfRun(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  run: Waited,
  services: Services,
): Promise<string> {
  const { threads, execution } = services;
  const { runId, agent } = run;
  const event = await endOfRun({ owner, call, ...run }, services);
  const { output } = await graphFacts(execution, { agent }, call());
  // What a run gave that has just ended stands in its last event.
  const left = run.justStarted === true ? leftBy(event) : undefined;
  if (left) return withQuestions(left.values.text(output), left.interruptsJson);
  const { end, createdAt, startedAt } = await threads.getRun({ owner, runId }, call());
  if (end?.error) return JSON.stringify({ __error__: toError(end.error) });
  const kept = await valuesAfter({ owner, call }, { ...run, createdAt, output }, services);
  const ended = kept === undefined && startedAt !== undefined ? leftBy(event)?.values.text(output) : undefined;
  const values = kept ?? ended ?? (await readValues({ owner, call }, run.threadId, services, output));
  return withQuestions(values, end?.interruptsJson);
}

function withQuestions(values: string, json: string | undefined): string {
  const questions = questionsIn(json).map(toInterrupt);
  if (questions.length === 0) return values;
  return withInterrupts(values, JSON.stringify(questions));
}

/** The values at the last checkpoint of a run: a later run may have changed them since. `undefined` where it has none that is kept. */
async function valuesAfter(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  { runId, threadId, createdAt, output }: Waited & { readonly createdAt: number; readonly output: Output },
  { threads, execution }: Services,
): Promise<string | undefined> {
  const call = begin();
  let cursor: string | undefined;
  let count = 0;
  do {
    const limit = cursor === undefined ? newest : atOnce;
    const page = await threads.listCheckpoints(
      { owner, threadId, limit, offset: 0, ...(cursor !== undefined && { cursor }) },
      call,
    );
    const last = page.checkpoints.find((checkpoint) => checkpoint.runId === runId);
    if (last) {
      const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId: last.checkpointId }, call);
      return valuesText(state, await fieldDefaults(execution, state, call), output);
    }
    count += page.checkpoints.length;
    const isBefore = (page.checkpoints.at(-1)?.createdAt ?? 0) < createdAt;
    cursor = isBefore || count >= most ? undefined : page.cursor;
  } while (cursor !== undefined);
  return undefined;
}
