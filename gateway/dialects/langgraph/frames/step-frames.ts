import { addressedOf } from '@agent-workflow/protos/addressed';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import { jsonObject, jsonText } from '../../../http/json.ts';
import { withInterrupts, type Interrupt } from '../out/interrupts.ts';
import { shownTime } from '../out/shown-time.ts';
import type { TextFrame } from './frame.ts';
import type { Beginning } from './beginning.ts';
import { textsOf } from '../messages/message-texts.ts';
import type { GrowingValues } from './growing-values.ts';
import type { Modes } from './modes.ts';
import type { StepPlace } from './step-place.ts';
import { givenOutOf, type Output } from '../out/output.ts';
import { hasQuestion, isBranch, tasksOfNodes, writesText, type PlacedTask } from '../out/step-tasks.ts';

/** What a step has changed, as its events have it. */
export interface StepChange {
  readonly step: number;
  /** Of the last event of the step, in milliseconds since 1970. */
  readonly at: number;
  readonly nodes: readonly string[];
  /** Messages by the node that made them, where that is known. */
  readonly messages: readonly (readonly [message: Message, node: string | undefined])[];
  readonly fields: Readonly<Record<string, string>>;
  /** What its tasks gave, of a graph that says so. */
  readonly tasks: StepTasks | undefined;
}

interface StepFramesOptions {
  readonly modes: Modes;
  /** Of the run, its thread, its graph and its assistant, under the names of their API. */
  readonly ids: Readonly<Record<'run_id' | 'thread_id' | 'graph_id' | 'assistant_id', string>>;
  /** The id of a task of a node in a step. */
  readonly taskId: (step: number, node: string, index?: number) => string;
  /** JSON of what tasks and checkpoints say about their run. */
  readonly metadata: string;
}

/** What one task of a step gave. */
interface TaskDelta {
  readonly node: string;
  /** The place of the task among those of its node; `undefined` for what is not known of any of its tasks. */
  readonly index: number | undefined;
  readonly json: string;
  /** Whether it had returned before, in a step that has gone on since. */
  readonly earlier?: true;
}

/** What each task of a step gave. */
export const deltasOf = (change: StepChange): readonly TaskDelta[] =>
  change.tasks && change.tasks.ran.length > 0 ? deltasOfTasks(change, change.tasks) : deltasOfNodes(change);

function deltasOfTasks({ messages, fields }: StepChange, { ran, left }: StepTasks): readonly TaskDelta[] {
  const byId = new Map(messages.map(([message]) => [message.message_id, message]));
  const given = new Set(ran.flatMap((task) => task.messages ?? []));
  const rest = messages.flatMap(([message]) => (given.has(message.message_id) ? [] : [message]));
  const changed = { fields, messageOf: (id: string) => byId.get(id) };
  const last = ran.length - 1;
  const deltas = ran.map(({ node, index, earlier, ...writes }, at) => {
    // What no task is known to have made stands with the last, where all else is known.
    const json = writesText(writes, changed, at === last && !left ? rest : []);
    return { node, index, json: left && json === 'null' ? '{}' : json, ...(earlier && { earlier }) };
  });
  if (!left) return deltas;
  const byNode = Map.groupBy(Object.keys(left), (name) => left[name] ?? '');
  const lastNode = ran[last]?.node ?? '';
  const others = [...new Set([...byNode.keys(), lastNode])].map((node) => ({
    ...{ node, index: undefined },
    json: writesText({ same: byNode.get(node) ?? [] }, changed, node === lastNode ? rest : []),
  }));
  return [...deltas, ...others].filter(({ index, json }) => index !== undefined || json !== 'null');
}

/** Fields that nodes of one step changed stand with the last of them: the log does not say which node changed which. */
function deltasOfNodes({ nodes, messages, fields }: StepChange): readonly TaskDelta[] {
  return nodes.map((node, index) => {
    const isLast = index === nodes.length - 1;
    const own = messages.filter(([, maker]) => maker === node || (isLast && !nodes.includes(maker ?? '')));
    const texts = own.map(([message]) => textsOf(message)).filter(Boolean);
    const parts = { ...(texts.length > 0 && { messages: `[${texts.join(',')}]` }), ...(isLast && fields) };
    return { node, index: 0, json: Object.keys(parts).length === 0 ? 'null' : jsonObject(parts) };
  });
}

/** Frames of the beginning and the end of steps. */
export function createStepFrames({ modes, ids, taskId, metadata }: StepFramesOptions) {
  const debug = (type: string, step: number, at: number, payload: string): TextFrame => ({
    name: 'debug',
    data: `{"step":${String(step)},"timestamp":"${shownTime(at)}","type":"${type}","payload":${payload}}`,
  });

  const ofTask = (type: 'task' | 'task_result', { step, at }: StepAt, payload: string): TextFrame[] => [
    ...(modes.has('tasks') ? [{ name: 'tasks', data: payload }] : []),
    ...(modes.has('debug') ? [debug(type, step, at, payload)] : []),
  ];
  const showsTasks = modes.has('tasks') || modes.has('debug');

  const configOf = (checkpointId: string): string =>
    JSON.stringify({ configurable: { checkpoint_ns: '', ...ids, checkpoint_id: checkpointId } });

  const placeOf = (checkpointId: string): string =>
    JSON.stringify({ thread_id: ids.thread_id, checkpoint_ns: '', checkpoint_id: checkpointId });

  const checkpoint = ({ step: ran, at }: StepAt, place: StepPlace, values: string): TextFrame[] => {
    const { checkpointId, before, step, source } = place;
    const next = tasksOfNodes(place.next, place.tasks);
    const payload = {
      config: configOf(checkpointId),
      parent_config: before === undefined ? 'null' : configOf(before),
      values,
      metadata: JSON.stringify({ source, step, parents: {} }),
      next: JSON.stringify(next.map(({ node }) => node)),
      tasks: JSON.stringify(
        next.map(({ node, index }) => ({
          ...{ id: taskId(ran + 1, node, index), name: node, interrupts: [], state: null },
        })),
      ),
    };
    const places = {
      checkpoint: placeOf(checkpointId),
      parent_checkpoint: before === undefined ? 'null' : placeOf(before),
    };
    return [
      ...(modes.has('checkpoints') ? [{ name: 'checkpoints', data: jsonObject(payload) }] : []),
      ...(modes.has('debug') ? [debug('checkpoint', step, at, jsonObject({ ...payload, ...places }))] : []),
    ];
  };

  let output: Output;
  let lastValues = '{}';
  /** The values where the step has changed what the graph gives out of them. */
  const valuesOf = (values: GrowingValues): TextFrame[] => {
    if (!modes.has('values')) return [];
    const data = values.text(output);
    if (output && data === lastValues) return [];
    lastValues = output ? data : '';
    return [{ name: 'values', data }];
  };

  /** What the tasks of a step gave. */
  const returned = (change: StepChange): TextFrame[] =>
    (showsTasks || modes.has('updates') ? deltasOf(change) : []).flatMap(({ node, index, json, earlier }) => [
      ...(modes.has('updates') && json !== '{}'
        ? [
            {
              name: 'updates',
              data: jsonObject({
                [node]: givenOutOf(json, output),
                ...(earlier && { __metadata__: '{"cached":true}' }),
              }),
            },
          ]
        : []),
      ...(earlier || index === undefined || !showsTasks
        ? []
        : ofTask('task_result', change, result(taskId(change.step, node, index), node, json))),
    ]);

  return {
    /** Names the fields that the graph gives out, before any frame. */
    giveOut: (given: Output): void => {
      output = given;
    },

    started: ({ step = 0, at }: RunEvent, task: PlacedTask, values: GrowingValues | undefined): TextFrame[] => {
      if (!showsTasks) return [];
      const { node, index, input } = task;
      const parts = {
        id: JSON.stringify(taskId(step, node, index)),
        name: JSON.stringify(node),
        triggers: JSON.stringify([isBranch(task) ? '__pregel_push' : `branch:to:${node}`]),
        input: isBranch(task) || input !== undefined ? JSON.stringify(input ?? null) : (values?.text() ?? 'null'),
      };
      return ofTask('task', { step, at }, jsonObject({ ...parts, metadata }));
    },

    ended: (change: StepChange, place: StepPlace | undefined, values: GrowingValues | undefined): TextFrame[] => [
      ...returned(change),
      ...(values ? valuesOf(values) : []),
      ...(place && values ? checkpoint(change, { ...place, tasks: change.tasks }, values.text()) : []),
    ],

    /** The state with which a run begins. */
    begun: (at: number, { values, place, input }: Beginning): TextFrame[] => [
      ...(input?.place ? checkpoint({ step: -2, at }, input.place, input.values.text()) : []),
      ...valuesOf(values),
      ...(place ? checkpoint({ step: -1, at }, place, values.text()) : []),
    ],

    /** A node that failed, in the step that was under way. */
    failed: (node: string, { step, at }: StepAt, error: object): TextFrame[] =>
      ofTask('task_result', { step, at }, result(taskId(step, node), node, '{}', { error: JSON.stringify(error) })),

    /** The end of a run that asks, or that stops before or after a node: that has no questions, and its values have been sent. */
    asked: (interrupts: readonly Asked[], change: StepChange, values: GrowingValues | undefined): TextFrame[] => {
      const shown = interrupts.map(({ id, value, ...asked }) => ({
        ...{ id, value, response_schema: schemaOf(value) },
        ...addressedOf(asked),
      }));
      const json = JSON.stringify(shown);
      const nodes = [...new Set(interrupts.map(({ node }) => node))];
      return [
        ...(change.tasks && change.tasks.ran.length > 0 ? returned(change) : []),
        ...(modes.has('updates') ? [{ name: 'updates', data: `{"__interrupt__":${json}}` }] : []),
        ...tasksOfNodes(nodes, change.tasks).flatMap((task) => {
          const { node, index, result: given } = task;
          if (given) return [];
          const own = shown.filter((_, at) => interrupts[at] && hasQuestion(task, interrupts[at]));
          const interrupted = { interrupts: JSON.stringify(own) };
          return ofTask('task_result', change, result(taskId(change.step, node, index), node, '{}', interrupted));
        }),
        ...(modes.has('values') && values && shown.length > 0
          ? [{ name: 'values', data: withInterrupts(values.text(output), json) }]
          : []),
      ];
    },
  };
}

interface StepAt {
  readonly step: number;
  readonly at: number;
}

export interface Asked extends Interrupt {
  readonly node: string;
}

const result = (
  id: string,
  node: string,
  json: string,
  { error = 'null', interrupts = '[]' }: { readonly error?: string; readonly interrupts?: string } = {},
): string => jsonObject({ id: JSON.stringify(id), name: JSON.stringify(node), error, result: json, interrupts });

/** The schema of the answer, where the question has one. */
const schemaOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'schema' in value ? value.schema : null;

/** The fields of a `state_chunk`, each with its JSON. */
export const fieldsIn = (event: RunEvent): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(JSON.parse(jsonText(event.data)) as Record<string, unknown>).map(([name, value]) => [
      name,
      JSON.stringify(value),
    ]),
  );
