import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import type { RunOrder } from '../../common/run-order.ts';
import type { RunInput } from '../schemas/runs.ts';
import { refuseNamespace } from './checkpoint.ts';
import { fromConfig } from './config.ts';
import { fromUpdate, isObject, type Update } from './values.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What a run is of that its body does not say. */
interface Place {
  /** Absent: a thread of its own. */
  readonly threadId?: string;
  /** What the config names the assistant by, and what nodes get of it. */
  readonly assistant: {
    readonly agent?: string;
    readonly assistant_id?: string;
    readonly graph_id: string;
    readonly langgraph_assistant_id: string;
  };
  /** The context of a stored assistant. */
  readonly assistantContext?: JsonObject | undefined;
  /** The rounds of an assistant's config, where that of the run has none. */
  readonly recursionLimit: number | undefined;
  /** The fields that the graph takes as input; absent: all. */
  readonly takes?: ReadonlySet<string> | undefined;
  /** Of a thread that the run makes. */
  readonly threadMetadata: JsonObject;
  readonly loc: Loc;
}

export interface Meant {
  readonly order: RunOrder;
  readonly terms: RunTerms;
}

/** A body whose metadata are also those that its config has. */
export function withMetadata(body: RunInput): RunInput {
  const metadata = body.config?.['metadata'];
  return isObject(metadata) ? { ...body, metadata: { ...metadata, ...body.metadata } } : body;
}

/** A run that a body asks for. @throws Invalid naming what the service cannot do */
export function toRunOrder(body: RunInput, place: Place): Meant {
  const { loc } = place;
  refuseUnable(body, loc);
  const { recursion_limit: own, ...config } = fromConfig(body.config ?? {}, [...loc, 'config']);
  const { goesOn, removes, ...given } = inputOf(body, place);
  const checkpointId = checkpointOf(body, loc);
  const { multitask_strategy: strategy = 'enqueue' } = body;
  const { on_completion: completion = place.threadId === undefined ? 'delete' : 'keep' } = body;
  const order: RunOrder = {
    ...given,
    config: {
      ...config,
      ...place.assistant,
      ...(place.threadId !== undefined && { thread_id: place.threadId }),
      ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
      ...(Object.keys(place.threadMetadata).length > 0 && { metadata: place.threadMetadata }),
      // What a run is anyway is not kept with it.
      ...(strategy !== 'enqueue' && { multitask_strategy: strategy }),
      ...(completion !== 'keep' && { on_completion: completion }),
      ...(body.on_disconnect === 'cancel' && { on_disconnect: body.on_disconnect }),
    },
    ...contextOf(body, config, place),
    recursion_limit: typeof own === 'number' ? own : (place.recursionLimit ?? usualLimit),
    response_granularity: 'full',
    ...(body.interrupt_before !== undefined && { interrupt_before: body.interrupt_before }),
    ...(body.interrupt_after !== undefined && { interrupt_after: body.interrupt_after }),
    ...(body.webhook !== undefined && { webhook: { url: body.webhook } }),
  };
  const streamsSubgraphs = body.stream_subgraphs === true;
  return {
    order,
    terms: {
      failsAtLimit: true,
      recordsInput: true,
      ...(removes && { removes }),
      ...(streamsSubgraphs && { streamsSubgraphs }),
      ...(goesOn && { goesOn }),
    },
  };
}

const usualLimit = 25;

/** What is configurable is the context, too: it stands above that of the assistant. */
function contextOf(
  { context }: RunInput,
  config: JsonObject,
  { assistantContext = {} }: Place,
): Pick<RunOrder, 'context'> {
  const above = Object.entries(config).filter(([name]) => Object.hasOwn(assistantContext, name));
  return above.length > 0 ? { context: { ...Object.fromEntries(above), ...context } } : context ? { context } : {};
}

/** Known fields that have no counterpart here. */
function refuseUnable(body: RunInput, loc: Loc): void {
  const unable = {
    feedback_keys: body.feedback_keys !== undefined && body.feedback_keys.length > 0,
    langsmith_tracer: body.langsmith_tracer !== undefined,
  };
  for (const [name, isGiven] of Object.entries(unable))
    if (isGiven) throw invalidAt([...loc, name], 'is not supported: there is no LangSmith here');
}

/** The checkpoint that a run starts from, wherever the body names it. */
function checkpointOf({ checkpoint, checkpoint_id: id, config }: RunInput, loc: Loc): string | undefined {
  const { configurable } = config ?? {};
  const inConfig = isObject(configurable) ? configurable['checkpoint_id'] : undefined;
  refuseNamespace(checkpoint, loc);
  const named = checkpoint?.['checkpoint_id'] ?? id ?? inConfig ?? undefined;
  if (named === undefined || typeof named === 'string') return named;
  throw invalidAt([...loc, 'checkpoint_id'], 'must be string', 'string_type');
}

type Given = Pick<RunOrder, 'messages' | 'initial_state' | 'resume'> & Pick<RunTerms, 'goesOn' | 'removes'>;

/** Without input a run goes on where its thread stands. */
function inputOf({ input, command }: RunInput, { loc, takes }: Place): Given {
  if (command) {
    if (input !== undefined && input !== null)
      throw invalidAt([...loc, 'command'], 'must be absent where input is given');
    return byCommand(command, [...loc, 'command']);
  }
  if (input === undefined || input === null) return { goesOn: true };
  const taken =
    takes && isObject(input) ? Object.fromEntries(Object.entries(input).filter(([name]) => takes.has(name))) : input;
  return toGiven(fromUpdate(taken, [...loc, 'input']));
}

/** Fields alone start a run, as a message does. */
const toGiven = ({ messages, fields, removed }: Update): Given => ({
  ...(removed.length > 0 && { removes: removed }),
  ...(messages.length > 0 && { messages }),
  ...((messages.length === 0 || Object.keys(fields).length > 0) && { initial_state: fields }),
});

function byCommand({ resume, update, goto: target, graph }: JsonObject, loc: Loc): Given {
  const isGiven = (value: unknown): boolean =>
    value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
  if (isGiven(target)) throw invalidAt([...loc, 'goto'], 'is not supported: a run goes on where its thread stands');
  if (isGiven(graph)) throw invalidAt([...loc, 'graph'], 'is not supported: a run is of one graph');
  const pairs = Array.isArray(update) ? Object.fromEntries(update as [string, unknown][]) : update;
  const values = isGiven(pairs) ? fromUpdate(pairs, [...loc, 'update']) : undefined;
  const changed = values && toGiven(values);
  if (resume === undefined) return { ...changed, goesOn: true };
  return { ...changed, resume };
}
