import { notFound } from '@agent-workflow/kit/errors';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import type { RunStep } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText, timeText } from '../../../http/json.ts';
import { fieldDefaults } from '../../common/graph-facts.ts';
import * as examples from '../examples/steps.ts';
import { RunParams } from '../schemas/runs.ts';
import { OneStep, StepList, StepParams, StepsQuery } from '../schemas/steps.ts';
import { endpoint } from './common/endpoint.ts';
import { messagesText } from './common/messages-text.ts';
import { workTexts } from './common/shown-items.ts';
import { stateText, truncationOf } from './state.ts';

/** The steps of a run that are on record, the oldest first. */
export const listRunSteps = endpoint({
  name: 'listRunSteps',
  tag: 'runs',
  summary: 'List the steps of a run, the oldest first',
  description:
    'What each step of a run changed, as it was committed, from the record: whatever the granularity of the run, and also when its events are gone. The steps of a run that goes on are all kept; those of one that has ended, as long as their checkpoints.',
  example: examples.listRunSteps,
  method: 'GET',
  path: '/v1/runs/{run_id}/steps',
  access: { resource: 'checkpointer', action: 'read' },
  params: RunParams,
  input: StepsQuery,
  reply: StepList,
  handle: async ({ owner, params, input, call: begin }, { threads }) => {
    const runId = params.run_id;
    const call = begin();
    const { threadId } = await threads.getRun({ owner, runId }, call);
    const fromStep = input.after === undefined ? 0 : input.after + 1;
    const { steps } = await threads.listRunSteps({ owner, runId, fromStep, limit: input.limit }, call);
    const last = steps.at(-1);
    return jsonObject({
      run_id: JSON.stringify(runId),
      thread_id: JSON.stringify(threadId),
      steps: `[${steps.map(stepText).join(',')}]`,
      // The graph has ended with a step after which no node runs.
      has_more: JSON.stringify(last !== undefined && last.next.length > 0),
    });
  },
});

/** A step and the whole state after it. */
export const getRunStep = endpoint({
  name: 'getRunStep',
  tag: 'runs',
  summary: 'Get a step of a run, and the state after it',
  description:
    'What the step changed, and every field of the state as it was after it. 404 for a step that is not on record, or no longer kept.',
  example: examples.getRunStep,
  method: 'GET',
  path: '/v1/runs/{run_id}/steps/{step}',
  access: { resource: 'checkpointer', action: 'read' },
  params: StepParams,
  reply: OneStep,
  handle: async ({ owner, params, call: begin }, { threads, execution }) => {
    const { run_id: runId, step: name } = params;
    const call = begin();
    const { threadId } = await threads.getRun({ owner, runId }, call);
    const fromStep = /^\d{1,9}$/.test(name) ? Number(name) : undefined;
    const [step] =
      fromStep === undefined ? [] : (await threads.listRunSteps({ owner, runId, fromStep, limit: 1 }, call)).steps;
    if (step?.step !== fromStep || step === undefined)
      throw notFound(`step "${name}" of run "${runId}" does not exist`);
    const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId: step.checkpointId }, call);
    return jsonObject({
      step: stepText(step),
      state: stateText(state, await fieldDefaults(execution, state, call)),
      ...truncationOf(state),
    });
  },
});

const stepText = (step: RunStep): string => jsonObject(stepMembers(step));

/** A step as replies show it, each member as JSON. */
export const stepMembers = ({
  step,
  checkpointId,
  nodes,
  next,
  at,
  fields,
  messagesJson,
  removedFromContext,
  work,
}: RunStep): Readonly<Record<string, string>> => ({
  step: JSON.stringify(step),
  checkpoint_id: JSON.stringify(checkpointId),
  nodes: JSON.stringify(nodes),
  next: JSON.stringify(next),
  changed: jsonObject(
    Object.fromEntries(Object.entries(shownFields(fields)).map(([name, json]) => [name, jsonText(json)])),
  ),
  messages: messagesText(messagesJson),
  removed: JSON.stringify(removedFromContext),
  ended_at: timeText(at),
  ...workTexts(work),
});
