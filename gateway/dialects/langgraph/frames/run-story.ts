import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import { jsonText } from '../../../http/json.ts';
import type { ToFrames } from '../../common/framed.ts';
import { fromEventError } from '../out/error.ts';
import type { Output } from '../out/output.ts';
import type { Beginning } from './beginning.ts';
import { growingValues, type GrowingValues } from './growing-values.ts';
import type { Inner } from './inner-frames.ts';
import { fieldsIn, type Asked, type StepChange } from './step-frames.ts';
import type { StepPlace } from './step-place.ts';
import { tasksOfNodes, type PlacedTask } from '../out/step-tasks.ts';

/** How a run ended that did not fail. */
interface Outcome {
  readonly status: EndStatus;
  /** Empty at a breakpoint; `undefined` where it waits for no answer. */
  readonly asked: readonly Asked[] | undefined;
}

/** What stands in the record and not in the events of a run. */
export interface RunRecord {
  /** `undefined`: it is not kept any more. What stood before the input is read where places are needed. */
  readonly beginning: (needsPlaces: boolean) => Promise<Beginning | undefined>;
  /** Where a step stands; `undefined`: it is not kept. */
  readonly placeOf: (step: number) => Promise<StepPlace | undefined>;
  /** Of a run that has ended. */
  readonly outcome: () => Promise<Outcome>;
  /** The fields that its graph gives out. */
  readonly output: () => Promise<Output>;
  /** The questions that the run answers. */
  readonly answered: () => Promise<readonly string[]>;
}

/** The last of what a run has done. */
interface Ending extends Outcome {
  /** The step that was under way, which is no change of the state where it asks. */
  readonly step: StepChange;
}

/** Puts what happens in a run into frames of its own kind. */
interface FrameMaker<F> {
  /** Whether it reads what steps have changed, and what the run asks at its end. Without, `started` and `ended` are not called. */
  readonly needsSteps: boolean;
  /** Whether it reads the values of the state. */
  readonly needsValues: boolean;
  /** Whether it reads where steps stand in the record. */
  readonly needsPlaces: boolean;
  readonly first: (event: RunEvent) => F[] | Promise<F[]>;
  readonly begun: (event: RunEvent, beginning: Beginning | undefined) => F[];
  readonly started: (event: RunEvent, task: PlacedTask, values: GrowingValues | undefined) => F[];
  /** What a node reports, as JSON. */
  readonly reported: (event: RunEvent, json: string) => F[];
  readonly inner: (event: RunEvent, inner: Inner) => F[];
  readonly ended: (
    event: RunEvent,
    change: StepChange,
    place: StepPlace | undefined,
    values: GrowingValues | undefined,
  ) => F[];
  /** A chunk, or a whole message. */
  readonly message: (event: RunEvent) => F[];
  readonly finished: (event: RunEvent, ending: Ending, values: GrowingValues | undefined) => F[];
  /** `step` is the one that was under way. */
  readonly failed: (event: RunEvent, step: number) => F[];
}

interface Progress {
  readonly node: string;
  readonly step: number;
  readonly status: string;
  readonly custom?: unknown;
  readonly inner?: Inner;
}

/** A step whose last node has completed. Whether it asked instead is known with the next event. */
interface Held {
  readonly event: RunEvent;
  readonly nodes: readonly string[];
  readonly tasks: StepTasks | undefined;
}

/**
 * Makes the frames of a run, event by event and from its first. Its memory is the values of the state, where the maker needs them, and the
 * step that is under way. The frames of an event depend on those before it and on the record, and on nothing else.
 */
export function createRunStory<F>(maker: FrameMaker<F>, record: RunRecord): ToFrames<F> {
  let values: GrowingValues | undefined;
  let open = new Set<string>();
  let nodes: string[] = [];
  let changed = emptyChange();
  const makers = new Map<string, string>();
  let held: Held | undefined;
  let underWay = 0;
  /** The tasks of the next step, and those of the one that is under way. */
  let tasks: StepTasks | undefined;
  let ended: StepTasks | undefined;

  const note = (event: RunEvent): void => {
    if (event.node !== undefined && event.messageId !== undefined) makers.set(event.messageId, event.node);
    if (event.kind === 'state_chunk') changed.fields = { ...changed.fields, ...fieldsIn(event) };
    if (event.kind === 'summary_chunk') changed.fields = { ...changed.fields, context_summary: jsonText(event.data) };
    if (event.kind !== 'context_chunk') return;
    const { messages: added = [], removed = [] } = JSON.parse(jsonText(event.data)) as Partial<ContextChange>;
    changed.messages.push(...added);
    changed.removed.push(...removed);
  };

  /** What has changed since it was asked before. */
  const takeChange = ({ event: { step = 0, at }, nodes: ended, tasks }: Held): StepChange => {
    const change = {
      ...{ step, at, nodes: ended, fields: changed.fields, tasks },
      messages: changed.messages.map((message) => [message, makers.get(message.message_id)] as const),
    };
    changed = emptyChange();
    makers.clear();
    return change;
  };

  const flush = async (): Promise<readonly F[]> => {
    if (!held || !maker.needsSteps) return [];
    const { event } = held;
    const { step = 0 } = event;
    values?.changeMessages(changed);
    values?.changeFields(changed.fields);
    const change = takeChange(held);
    held = undefined;
    return maker.ended(event, change, maker.needsPlaces ? await record.placeOf(step) : undefined, values);
  };

  const begin = async (event: RunEvent): Promise<F[]> => {
    const beginning = maker.needsValues ? await record.beginning(maker.needsPlaces) : undefined;
    values = beginning?.values;
    tasks = beginning?.tasks;
    return maker.begun(event, beginning);
  };

  const advance = (event: RunEvent): F[] => {
    const { node, step, status, custom, inner } = JSON.parse(jsonText(event.data)) as Progress;
    switch (status) {
      case 'started':
        underWay = step;
        if (!maker.needsSteps) return [];
        open.add(node);
        nodes.push(node);
        return tasksOfNodes([node], tasks)
          .filter((task) => task.node === node)
          .flatMap((task) => maker.started(event, task, values));
      case 'progress':
        return maker.reported(event, JSON.stringify(custom ?? null));
      case 'subgraph':
        return inner ? maker.inner(event, inner) : [];
      case 'completed':
        if (!maker.needsSteps) return [];
        open.delete(node);
        ended ??= event.tasks === undefined ? undefined : (JSON.parse(event.tasks) as StepTasks);
        if (open.size > 0) return [];
        held = { event: { ...event, step }, nodes, tasks: ended };
        tasks = ended;
        ended = undefined;
        open = new Set();
        nodes = [];
        return [];
      default:
        return [];
    }
  };

  const end = async (event: RunEvent): Promise<F[]> => {
    if (!maker.needsSteps) return [];
    const { asked, status } = await record.outcome();
    const isStepOfIt = held?.nodes.some((node) => asked?.some((question) => question.node === node)) === true;
    const { step: number = 0 } = held?.event ?? {};
    const step = isStepOfIt && held ? takeChange(held) : { ...noChange, step: number, at: event.at };
    if (isStepOfIt) held = undefined;
    const before = await flush();
    if (!values && maker.needsValues) values = leftBy(event)?.values;
    return [...before, ...maker.finished(event, { asked, status, step }, values)];
  };

  const within = (event: RunEvent): readonly F[] => {
    if (maker.needsSteps) note(event);
    if (event.kind === 'on_chain_stream') return advance(event);
    return event.kind === 'messages_chunk' ? maker.message(event) : [];
  };

  const fail = async (event: RunEvent): Promise<F[]> => [...(await flush()), ...maker.failed(event, underWay)];

  const behindStep = async (event: RunEvent): Promise<F[]> => [...(await flush()), ...within(event)];

  return (event) => {
    switch (event.kind) {
      case 'metadata':
        return maker.first(event);
      case 'on_chain_start':
        return begin(event);
      case 'on_chain_end':
        return end(event);
      case 'error':
        return fail(event);
      default:
        return held ? behindStep(event) : within(event);
    }
  };
}

const noChange = { nodes: [], fields: {}, messages: [], tasks: undefined };

interface ContextChange {
  readonly messages: readonly Message[];
  readonly removed: readonly string[];
}

const emptyChange = (): { messages: Message[]; removed: string[]; fields: Readonly<Record<string, string>> } => ({
  messages: [],
  removed: [],
  fields: {},
});

/** What a run has left, as its last event holds it. */
interface Left {
  readonly values: GrowingValues;
  /** JSON; absent where it asks for nothing. */
  readonly interruptsJson?: string;
}

/** What a run has left; `undefined` for an event that does not hold it. */
export function leftBy(event: RunEvent): Left | undefined {
  // What is not stored twice stands in the state, and the bytes are JSON without its repetition.
  const { state, meta } = JSON.parse(jsonText(event.data)) as LastData;
  if (!state) return undefined;
  const { context = [], context_summary: summary, ...fields } = state;
  const shown = { ...fields, ...(typeof summary === 'string' && summary !== '' && { context_summary: summary }) };
  const values = growingValues(
    Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, JSON.stringify(value)])),
    context,
  );
  return { values, ...(meta?.interrupts && { interruptsJson: JSON.stringify(meta.interrupts) }) };
}

interface LastData {
  readonly state?: Readonly<Record<string, unknown>> & { readonly context?: readonly Message[] };
  readonly meta?: { readonly interrupts?: readonly unknown[] };
}

/** Why a run failed. */
export const failureIn = ({ data }: RunEvent): ReturnType<typeof fromEventError> =>
  fromEventError(JSON.parse(jsonText(data)) as Parameters<typeof fromEventError>[0]);
