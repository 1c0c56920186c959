import { sizes } from '@agent-workflow/kit/sizes';
import type { State } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { boundedBytes } from '../../common/bounded.ts';
import type { Services } from '../../common/services.ts';
import { fromValues, isObject } from '../in/values.ts';
import type { UpdateInput } from '../schemas/threads.ts';

interface Params {
  readonly thread_id: string;
}

type Updating = Pick<EndpointRequest<Params>, 'owner' | 'params' | 'idempotency' | 'call'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

interface Superstep {
  readonly updates: readonly UpdateInput[];
}

/** An update as the service makes it. */
interface ReadUpdate {
  readonly stateJson: Uint8Array;
  readonly node: string | undefined;
  readonly loc: Loc;
}

/** Reads the updates of each step. @throws Invalid at the first that the service cannot make */
export const readSupersteps = (steps: readonly Superstep[]): readonly ReadUpdate[] =>
  steps.flatMap(({ updates }, step) =>
    updates.map((update, index) => {
      const loc = ['body', 'supersteps', step, 'updates', index];
      return { stateJson: readUpdate(update, loc), node: update.as_node, loc };
    }),
  );

/** Writes updates in turn. What comes next is that of the last one. */
export async function applyUpdates(request: Updating, updates: readonly ReadUpdate[], services: Calls): Promise<void> {
  for (const [index, { stateJson, node, loc }] of updates.entries()) {
    if (index === updates.length - 1) await refuseNode(request, node, services, loc);
    const { onceKey } = request.idempotency;
    const own = onceKey === undefined ? {} : { onceKey: `${onceKey}/${String(index)}` };
    await applyUpdate({ ...request, idempotency: own }, { stateJson }, services);
  }
}

/** The values of an update as they are written. @throws Invalid for one that the service cannot make: it is read before anything is changed */
export function readUpdate({ values, command }: UpdateInput, loc: Loc): Uint8Array {
  const given = command === undefined ? values : updateIn(command, [...loc, 'command']);
  const { messages, fields } = fromValues(given, [...loc, 'values']);
  const state = { ...fields, ...(messages.length > 0 && { context: messages }) };
  return boundedBytes(state, [...loc, 'values'], sizes.state);
}

/** Passes values through the reducers of their fields. @throws Conflict where the thread has another version than is expected */
export const applyUpdate = (
  { owner, params, idempotency, call }: Updating,
  update: { readonly stateJson: Uint8Array; readonly expectedVersion?: number },
  { execution }: Calls,
): Promise<State> => execution.updateState({ owner, threadId: params.thread_id, ...update, ...idempotency }, call());

function updateIn(command: Readonly<Record<string, unknown>>, loc: Loc): unknown {
  const other = Object.entries(command).find(([name, value]) => name !== 'update' && value !== null);
  if (other) throw invalidAt([...loc, other[0]], 'is not supported in an update of a state');
  return isObject(command['update']) ? command['update'] : {};
}

interface Drawing {
  readonly nodes: readonly { readonly id: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string }[];
}

const start = '__start__';
const end = '__end__';

/**
 * An update takes the place of a node here only where nothing comes after that: the next run begins at the start of the graph.
 * @throws Invalid for any other node
 */
export async function refuseNode(
  { owner, params, call: begin }: Pick<Updating, 'owner' | 'params' | 'call'>,
  node: string | undefined,
  { threads, execution }: Calls,
  loc: Loc = ['body'],
): Promise<void> {
  if (node === undefined || node === start || node === end) return;
  const call = begin();
  const { agent } = await threads.getThread({ owner, threadId: params.thread_id }, call);
  const { graphJson } = await execution.getGraph(agent === undefined ? {} : { agent }, call);
  const { nodes, edges } = JSON.parse(jsonText(graphJson)) as Drawing;
  const at = [...loc, 'as_node'];
  if (!nodes.some(({ id }) => id === node)) throw invalidAt(at, `the graph has no node "${node}"`.slice(0, 300));
  if (edges.some(({ source, target }) => source === node && target !== end))
    throw invalidAt(at, 'must be a node after which the graph ends, or __start__: no node runs by an update');
}
