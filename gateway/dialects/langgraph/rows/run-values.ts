import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonObject } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/field-defaults.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { questionsIn, toInterrupt } from '../out/interrupts.ts';
import { toError } from '../out/thread.ts';
import { valuesText } from '../out/values.ts';

/** Checkpoints in which that of a run that has just ended is found. */
const newest = 20;

interface Waited {
  readonly runId: string;
  readonly threadId: string;
  readonly justStarted?: boolean;
}

/**
 * Waits for the end of a run, and gives the values that it left; with the questions that it asks as `__interrupt__`, and of one that failed why, as
 * `__error__`.
 */
export async function valuesOfRun(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  run: Waited,
  services: Services,
): Promise<string> {
  const { threads } = services;
  const { runId } = run;
  await endOfRun({ owner, call, ...run }, services);
  const { end } = await threads.getRun({ owner, runId }, call());
  if (end?.error) return JSON.stringify({ __error__: toError(end.error) });
  const values = await valuesAfter({ owner, call }, run, services);
  const questions = questionsIn(end?.interruptsJson).map(toInterrupt);
  if (questions.length === 0) return values;
  return `${values.slice(0, -1)},${jsonObject({ __interrupt__: JSON.stringify(questions) }).slice(1)}`;
}

/** The values at the last checkpoint of a run: a later run may have changed them since. A run that never began leaves them as they are. */
async function valuesAfter(
  { owner, call: begin }: Pick<EndpointRequest, 'owner' | 'call'>,
  { runId, threadId }: Waited,
  { threads, execution }: Services,
): Promise<string> {
  const call = begin();
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId, limit: newest, offset: 0 }, call);
  const last = checkpoints.find((checkpoint) => checkpoint.runId === runId);
  const state = last
    ? (await threads.getCheckpoint({ owner, threadId, checkpointId: last.checkpointId }, call)).state
    : await threads.getState({ owner, threadId }, call);
  return valuesText(state, await fieldDefaults(execution, state, call));
}
