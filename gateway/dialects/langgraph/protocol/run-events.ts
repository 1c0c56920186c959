import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import { jsonObject } from '../../../http/json.ts';
import type { ToFrames } from '../../common/framed.ts';
import { createRunStory, failureIn, type RunRecord } from '../frames/run-story.ts';
import { createStepFrames, deltasOf } from '../frames/step-frames.ts';
import type { StepPlace } from '../frames/step-place.ts';
import type { GrowingValues } from '../frames/growing-values.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { givenOutOf, type Output } from '../out/output.ts';
import { taskIdOf } from '../ids/task-id.ts';
import { hasCustom, wantsCustom, type Channel, type Subscription } from './channels.ts';
import { singleIdOf } from './event-id.ts';
import { createMessageEvents } from './message-events.ts';
import { createNumbering } from './numbering.ts';
import type { Part } from './parts.ts';
import type { ProtocolFrame } from './protocol-frame.ts';
import { createToolEvents } from './tool-events.ts';

interface RunEventsOptions {
  readonly subscription: Subscription;
  readonly scope: RunScope;
  /** The how manieth run of its thread it is. */
  readonly ordinal: number;
  readonly graphId: string;
  readonly record: RunRecord;
}

/** How a run that did not fail has ended, in the protocol's words. One that was cancelled is interrupted, as its thread is. */
const endings: Readonly<Record<EndStatus, 'completed' | 'interrupted' | 'failed'>> = {
  completed: 'completed',
  interrupted: 'interrupted',
  stopped: 'interrupted',
  failed: 'failed',
};

/** Makes the events of a run that a subscription asks for, event by event and from the first of the run. */
export function createRunEvents(options: RunEventsOptions): ToFrames<ProtocolFrame> {
  const { subscription, scope, ordinal, graphId, record } = options;
  const { channels: asked, hasRoot } = subscription;
  const { runId, threadId } = scope;
  const wants = (channel: Channel): boolean => hasRoot && asked.has(channel);
  const number = createNumbering(ordinal);
  const messages = wants('messages') ? createMessageEvents() : undefined;
  const tools = wants('tools') ? createToolEvents() : undefined;
  const reports = hasRoot && hasCustom(asked);
  const tasks = createStepFrames({
    modes: new Set(wants('tasks') ? ['tasks'] : []),
    ids: { run_id: runId, thread_id: threadId, graph_id: graphId, assistant_id: assistantIdOf(graphId) },
    taskId: (step, node, index) => taskIdOf({ of: runId, at: step }, node, index),
    metadata: JSON.stringify({ graph_id: graphId, thread_id: threadId, run_id: runId }),
  });

  const frame = (part: Part, event: RunEvent, data: string, id?: string): ProtocolFrame =>
    number.frame({ part, at: event.at, node: event.node, data, id });
  /** What is of the run as a whole, and comes but a single time. */
  const lifecycle = (part: 'begun' | 'ended', event: RunEvent, status: string, more: object = {}): ProtocolFrame[] => {
    if (!wants('lifecycle')) return [];
    const data = JSON.stringify({ event: status, graph_name: graphId, ...more });
    return [frame(part, ofRun(event), data, singleIdOf(runId, `lc||${status}`))];
  };
  const input = (part: 'answered' | 'requested', event: RunEvent, data: object, id: string): ProtocolFrame =>
    number.frame({
      ...{ part, method: `input.${part}`, at: event.at, node: undefined, data: JSON.stringify(data) },
      id: singleIdOf(runId, id),
    });
  let hasState = false;
  let output: Output;
  const checkpoint = (event: RunEvent, place: StepPlace | undefined): ProtocolFrame[] =>
    place && wants('checkpoints') ? [frame('checkpoints', ofRun(event), envelope(place))] : [];
  const shown = (part: 'values' | 'left', event: RunEvent, values: GrowingValues | undefined): ProtocolFrame[] => {
    hasState ||= values !== undefined;
    return values && wants('values') ? [frame(part, ofRun(event), values.text(output))] : [];
  };
  const state = (event: RunEvent, place: StepPlace | undefined, values: GrowingValues | undefined): ProtocolFrame[] => [
    ...checkpoint(event, place),
    ...shown('values', event, values),
  ];
  const ofTasks = (
    part: 'returned' | 'tasks',
    event: RunEvent,
    frames: readonly { readonly data: string }[],
  ): ProtocolFrame[] => frames.map(({ data }) => frame(part, ofRun(event), data));

  const story = createRunStory<ProtocolFrame>(
    {
      needsSteps: true,
      needsPlaces: wants('checkpoints'),
      needsValues: wants('checkpoints') || wants('values') || wants('tasks'),
      first: async (event) => {
        output = await record.output();
        const answered = wants('input') ? await record.answered() : [];
        // Of several questions one may be answered and the others not: which, the record does not say.
        return [
          ...lifecycle('begun', event, 'running'),
          ...(answered.length === 1 ? [input('answered', event, { interrupt_ids: answered }, 'answered||')] : []),
        ];
      },
      begun: (event, beginning) => [
        ...checkpoint(event, beginning?.input?.place),
        ...state(event, beginning?.place, beginning?.values),
      ],
      started: (event, task, values) => ofTasks('tasks', event, tasks.started(event, task, values)),
      reported: (event, json) => (reports ? reported(event, json, asked, frame) : []),
      ended: (event, change, place, values) => [
        ...(wants('updates')
          ? deltasOf(change).map(({ node, json }) =>
              frame(
                'updates',
                { ...event, node },
                jsonObject({ node: JSON.stringify(node), values: updateIn(givenOutOf(json, output)) }),
              ),
            )
          : []),
        ...(wants('tasks') ? ofTasks('returned', event, tasks.ended(change, undefined, undefined)) : []),
        ...state(event, place, values),
      ],
      inner: () => [],
      message: (event) => [
        ...(messages?.(event).map((data) => frame('messages', event, data)) ?? []),
        ...(tools?.(event).map((data) => frame('tools', event, data)) ?? []),
      ],
      finished: (event, { asked: questions = [], status, step }, values) => [
        ...(wants('tasks') && questions.length > 0
          ? ofTasks('tasks', event, tasks.asked(questions, { ...step, at: event.at }, undefined))
          : []),
        // Where its beginning is not kept, the end alone says what the state is.
        ...(hasState ? [] : shown('left', event, values)),
        ...(wants('input')
          ? questions.map(({ id, value }) =>
              input('requested', event, { interrupt_id: id, payload: value }, `input||${id}`),
            )
          : []),
        ...lifecycle('ended', event, endings[status]),
      ],
      failed: (event, step) => {
        const error = failureIn(event);
        const { node, at } = event;
        return [
          ...(wants('tasks') && node !== undefined
            ? ofTasks('tasks', event, tasks.failed(node, { step, at }, error))
            : []),
          ...lifecycle('ended', event, 'failed', { error: error.message }),
        ];
      },
    },
    record,
  );

  return (event) => {
    number.enter(event.seq);
    return story(event);
  };
}

const updateIn = (json: string): string => (json === 'null' ? '{}' : json);

/** A checkpoint without its state. */
const envelope = ({ checkpointId, before, step, source }: StepPlace): string =>
  JSON.stringify({ id: checkpointId, ...(before !== undefined && { parent_id: before }), step, source });

/** Of no node. */
const ofRun = ({ node: _, ...event }: RunEvent): RunEvent => event;

/** What a node reports: under its name where it is an object of `name` and `payload`, and else as it stands. */
function reported(
  event: RunEvent,
  json: string,
  asked: ReadonlySet<string>,
  frame: (part: Part, event: RunEvent, data: string) => ProtocolFrame,
): ProtocolFrame[] {
  const value: unknown = JSON.parse(json);
  const name = nameIn(value);
  if (!wantsCustom(asked, name)) return [];
  return [{ ...frame('custom', event, name === undefined ? `{"payload":${json}}` : json), name }];
}

function nameIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('payload' in value)) return undefined;
  return typeof value.name === 'string' ? value.name : undefined;
}
